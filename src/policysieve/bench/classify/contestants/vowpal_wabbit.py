"""Vowpal Wabbit's contextual bandits of a fixed number of actions."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["VowpalWabbit"]

Labels = npt.NDArray[np.intp]


class VowpalWabbit:
    """One of its explorers, with lines of named features; costs are minus rewards.

    Parameters
    ----------
    n_classes : int
    seed : int
    options : str
        Explorer, reduction and learning rate, as on its command line.
    """

    def __init__(
        self,
        n_classes: int,
        seed: int,
        *,
        options: str = "--epsilon 0.1 --cb_type dm",
    ) -> None:
        try:
            import vowpalwabbit
        except ImportError as error:
            raise MissingExtraError("VowpalWabbit", "vowpalwabbit", "peers") from error
        self._machine = vowpalwabbit.Workspace(
            f"--cb_explore {n_classes} {options} --bit_precision 24 --random_seed {seed} --quiet"
        )
        self._rng = np.random.default_rng(seed)
        self._lines: list[str] = []
        self._shares: list[float] = []

    def decide(self, X: Any) -> Labels:
        """Labels drawn from its probabilities."""
        self._lines, self._shares = _lines(X), []
        labels = np.empty(X.shape[0], dtype=np.intp)
        for i, line in enumerate(self._lines):
            chances = np.asarray(self._machine.predict(line))
            labels[i] = self._rng.choice(len(chances), p=chances / chances.sum())
            self._shares.append(chances[labels[i]])
        return labels

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Learn from the rows that were decided last."""
        columns = (self._lines, self._shares, labels, rewards)
        for line, share, label, reward in zip(*columns, strict=True):
            self._machine.learn(f"{label + 1}:{-reward}:{share} {line}")

    def predict(self, X: Any) -> Labels:
        """The labels it finds most probable."""
        best = [np.argmax(self._machine.predict(line)) for line in _lines(X)]
        return np.array(best, dtype=np.intp)


def _lines(X: Any) -> list[str]:
    from scipy import sparse

    rows = sparse.csr_matrix(X)
    words = [f"f{i}:{value:.6g}" for i, value in zip(rows.indices, rows.data, strict=True)]
    ends = rows.indptr
    return ["| " + " ".join(words[a:b]) for a, b in pairwise(ends)]
