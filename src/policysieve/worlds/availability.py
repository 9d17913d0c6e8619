"""A world in which not everything can be shown in every round."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, shown
from policysieve.availability import Available
from policysieve.checks import as_rng, integer, number
from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.worlds.base import Draw, World
from policysieve.worlds.finite import FiniteWorld

if TYPE_CHECKING:
    from policysieve.policies import Policies

__all__ = ["Availability"]

_STREAM = 4  # of random numbers: patterns are others than the contexts of a world


class Availability(World):
    """Another world, in each round of which one of some sets of actions is available.

    The set is drawn independently of context and rewards, each as often as the others. The value of
    a policy is that of what it shows among what is available, on average over both.

    Parameters
    ----------
    world : World
        Where contexts and rewards come from; everything is available there.
    share : float
        Each action is in a set with this probability.
    sets : int or bool array of shape (n_sets, n_actions)
        How many sets are drawn in advance, or the sets themselves. Each holds at least slate_size
        actions: where fewer come up, random ones join them.
    rng : seed or numpy Generator
        For the sets.

    Examples
    --------
    >>> from policysieve.worlds import SparseSynthetic
    >>> inner = SparseSynthetic(n_contexts=5, n_actions=8, n_policies=3, profile="close", rng=0)
    >>> Availability(inner, 0.7).draw(4, 0).available.counts.tolist()
    [4, 7, 4, 7]
    """

    def __init__(self, world: World, share: float = 0.7, *, sets: Any = 20, rng: Any = 0) -> None:
        if not isinstance(world, World) or isinstance(world, Availability):
            raise InvalidArgumentError(
                f"world must be one of policysieve.worlds where everything is available, got "
                f"{shown(world)}"
            )
        self.reward_range = world.reward_range
        super().__init__(
            n_actions=world.n_actions,
            slate_size=world.slate_size,
            sparsity=world.sparsity,
            actions=world.actions,
        )
        self.world = world
        self.share = number("share", share, above=0, below=1, closed=True)
        self.sets = self._drawn_sets(sets, rng) if np.ndim(sets) == 0 else self._checked(sets)
        self.sets.flags.writeable = False

    def _drawn_sets(self, n_sets: Any, rng: Any) -> npt.NDArray[np.bool_]:
        size = (integer("sets", n_sets, low=1), self.n_actions)
        numbers = as_rng(rng, stream=_STREAM).random(size)
        least = np.sort(numbers, axis=1)[:, self.slate_size - 1 : self.slate_size]
        return np.asarray(numbers <= np.maximum(least, self.share))

    def _checked(self, sets: Any) -> npt.NDArray[np.bool_]:
        mask = plain_array("sets", sets, "a number, or booleans of shape (n_sets, n_actions)")
        if mask.ndim != 2 or mask.dtype.kind != "b" or not len(mask):
            raise InvalidArgumentError(
                f"sets must be a number, or booleans of shape (n_sets, {self.n_actions}), got "
                f"shape {mask.shape} of {mask.dtype}"
            )
        given = Available.of(mask, len(mask), self.n_actions, slate_size=self.slate_size)
        return given.dense()

    def __repr__(self) -> str:
        return f"Availability({self.world!r}, {len(self.sets)} sets, n_actions={self.n_actions})"

    def _draw(self, n: int, rng: np.random.Generator) -> Draw:
        inner = self.world.draw(n, rng)
        drawn = rng.integers(len(self.sets), size=len(inner))
        return Draw(
            inner.contexts,
            inner._rewards_of,
            n_actions=self.n_actions,
            slate_size=self.slate_size,
            actions=self.actions,
            available=Available.packed(self.sets[drawn]),
        )

    def _values(self, policies: "Policies") -> npt.NDArray[np.float64]:
        """The mean over the sets of exact values where each of them is available."""
        if not isinstance(self.world, FiniteWorld):
            raise UnknownValueError(
                f"{type(self.world).__name__} does not list its contexts, so values where not "
                "everything is available are not known; estimate it from a log"
            )
        values = [self.world.values_among(policies, one) for one in self.sets]
        return np.asarray(np.mean(values, axis=0))
