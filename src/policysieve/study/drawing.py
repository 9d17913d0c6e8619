"""Random numbers that belong to a place in the order of decisions, whoever draws them."""

import numpy as np
import numpy.typing as npt

__all__ = ["Draws"]

_STREAM = 4  # of random numbers: others than those of worlds, learners and explorations


class Draws:
    """Uniform random numbers as a function of the seed and the place of a batch.

    A counter-based generator (Philox) starts anew at each batch, so a study that was reopened draws
    what it would have drawn, and no state has to be kept.
    """

    def __init__(self, seed: int) -> None:
        entropy = np.random.SeedSequence(seed, spawn_key=(_STREAM,))
        self._key = entropy.generate_state(2, np.uint64)

    def at(self, place: int, n: int, per_round: int) -> npt.NDArray[np.float64]:
        """Those of n rounds from a place on, shape (n, per_round)."""
        counter = np.array([0, place, 0, 0], np.uint64)
        return np.random.Generator(np.random.Philox(key=self._key, counter=counter)).random(
            (n, per_round)
        )
