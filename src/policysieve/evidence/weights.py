"""Limits on mean importance weights: whether propensities can be probabilities of being shown."""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available

__all__ = ["Mass", "MeanWeights", "inverse", "mean_weights"]

Array = npt.NDArray[np.float64]

_STAKES = 0.5 ** np.arange(1, 21)  # bets of which the best counts
_LARGEST = 1e100  # weights above are as good as infinite, and their squares are still numbers
_MISSED = 2.0  # the smallest propensity possible may be this much below the smallest that was met
_LEAST_SCALE = 0.01  # of weights that cannot exceed one


@dataclass(frozen=True, eq=False)
class MeanWeights:
    """Means of importance weights that should be one, and limits on what they estimate."""

    mean: Array
    lower: Array
    upper: Array

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which of them cannot estimate one."""
        return (self.lower > 1) | (self.upper < 1)

    @property
    def suspects(self) -> npt.NDArray[np.intp]:
        """All of them, the one that is furthest beyond its limits first, in widths of these."""
        beyond = np.maximum(self.lower - 1, 1 - self.upper) / (self.upper - self.lower)
        return np.argsort(-np.nan_to_num(beyond, nan=-np.inf), axis=None, kind="stable")

    @property
    def worst(self) -> int:
        """The first of the suspects, counted along rows if there are several axes."""
        return int(self.suspects[0])


def inverse(propensities: npt.ArrayLike) -> Array:
    """Importance weights 1/W."""
    return np.minimum(1 / np.maximum(propensities, 1 / _LARGEST), _LARGEST)


def mean_weights(
    rounds: npt.ArrayLike, total: Array, square: Array, *, largest: float, delta: float
) -> MeanWeights:
    """Means of weights Y >= 0 with limits that all hold with probability 1 - delta, at any time.

    From sums over rounds of Y and Y^2 (docs/maths.md, "Health of a log"): with
    V = mean (Y - 1)^2, psi(l) = -ln(1-l) - l and d the share of delta for one limit and one bet l,

        from  mean - min over l of (psi(l)/l V + ln(1/d)/(n l))
        to    mean + min over l of (psi(l)/(l c) V + c ln(1/d)/(n l)),

    where c is largest - 1, or 0.01 if that is more. Only the upper one counts on Y being at most
    `largest`. Without rounds all are NaN.
    """
    n = np.where(np.asarray(rounds) > 0, rounds, np.nan)
    mean = total / n
    variance = np.maximum(square / n - 2 * mean + 1, 0.0)
    log_term = log(2 * np.size(total) * len(_STAKES) / delta)
    cost = (-np.log1p(-_STAKES) - _STAKES) / _STAKES
    scale = max(largest - 1, _LEAST_SCALE)
    below, above = np.full((2, *np.shape(mean)), np.inf)
    for stake, price in zip(_STAKES, cost, strict=True):
        chance = log_term / (n * stake)
        below = np.minimum(below, price * variance + chance)
        above = np.minimum(above, price * variance / scale + scale * chance)
    return MeanWeights(mean, mean - below, mean + above)


@dataclass
class Mass:
    """Sums over rounds of M, the sum of 1/W over the shown items: what a single pass needs.

    Over rounds M/K has a mean of one, because each of the K items that can be shown adds 1/K in
    expectation. Items that are not available count as if they had added that: `excess` is then the
    sum of M - |A| over rounds, A what was available.
    """

    slate_size: int
    rounds: int = 0
    total: float = 0.0
    square: float = 0.0
    smallest: float = 1.0
    limited: bool = False
    excess: float = 0.0
    excess_square: float = 0.0

    def add(self, propensities: Array, available: Available | None = None) -> Array:
        """Take in rounds by the propensities (n, m) of what they showed.

        Returns their M, or M - |A| if it is said what was available: in all rounds, or in none.
        """
        mass: Array = inverse(propensities).sum(axis=1)
        self.rounds += len(mass)
        self.total += float(mass.sum())
        self.square += float((mass**2).sum())
        self.smallest = min(self.smallest, float(propensities.min(initial=1.0)))
        if available is not None:
            self.limited, mass = True, mass - available.counts
            self.excess += float(mass.sum())
            self.excess_square += float((mass**2).sum())
        return mass

    def merge(self, other: "Mass") -> None:
        """Take in the sums of rounds that came next."""
        self.rounds += other.rounds
        self.total += other.total
        self.square += other.square
        self.smallest = min(self.smallest, other.smallest)
        self.limited |= other.limited
        self.excess += other.excess
        self.excess_square += other.excess_square

    def of_all(
        self, rounds: npt.ArrayLike, total: Any, square: Any, n_actions: int
    ) -> tuple[Array, Array]:
        """Sums of M and M^2 over rounds, of those of what `add` has returned."""
        if not self.limited:
            return np.asarray(total), np.asarray(square)
        everything = np.asarray(rounds) * n_actions
        return total + everything, square + 2 * n_actions * total + everything * n_actions

    @property
    def largest_weight(self) -> float:
        """Bound on one item's weight, if no propensity could be below half the smallest met."""
        return _MISSED * float(inverse(self.smallest))

    @property
    def effective_rounds(self) -> float:
        """(sum M)^2 / sum M^2: the rounds of equal weight that would be worth as much."""
        return self.total / self.square * self.total if self.rounds else 0.0

    def mean(self, n_actions: int, delta: float, *, floor: float | None = None) -> MeanWeights:
        """The mean of M/K over all rounds, with limits, if no propensity is below `floor`."""
        largest = self.largest_weight if floor is None else float(inverse(floor))
        most = largest * self.slate_size / n_actions
        total, square = self.total, self.square
        if self.limited:
            sums = self.excess, self.excess_square
            total, square = map(float, self.of_all(self.rounds, *sums, n_actions))
            most += 1
        return mean_weights(
            [self.rounds],
            np.array([total / n_actions]),
            np.array([square / n_actions**2]),
            largest=most,
            delta=delta,
        )
