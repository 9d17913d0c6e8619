"""Tests of a log's propensities from sums over its rounds."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.weights import MeanWeights, mean_weights
from policysieve.health.sums import LogSums

__all__ = ["WeightTests", "exact_weights"]

Array = npt.NDArray[np.float64]

_FAMILIES = 6  # of tests, each with an equal share of delta; those of actions are of two kinds


class WeightTests:
    """Tests of the propensities, of which all hold at once with probability 1 - delta.

    docs/maths.md, "Health of a log". Every mean should be one.

    Attributes
    ----------
    whole, over_time, by_action, by_context : MeanWeights
        Of the log, of its stretches, of each action, and of each action in each group of contexts.
    """

    def __init__(self, sums: LogSums, n_actions: int, delta: float) -> None:
        self.sums, self.n_actions = sums, n_actions
        self.level = delta / _FAMILIES
        rounds, largest = sums.rounds, sums.mass.largest_weight
        self.whole = sums.mass.mean(n_actions, self.level)
        n, total, square = sums.stretches[:, : -(-rounds // sums.width)]
        self.over_time = mean_weights(
            n,
            total / n_actions,
            square / n_actions**2,
            largest=largest * sums.mass.slate_size / n_actions,
            delta=self.level,
        )
        never = ((0, 0), (0, n_actions - sums.n_actions))
        weights, squares = np.pad(sums.weights, never), np.pad(sums.squares, never)
        self.shown = np.pad(sums.shown, never[1])
        self.by_action = mean_weights(
            rounds, weights.sum(axis=0), squares.sum(axis=0), largest=largest, delta=self.level
        )
        if self.fixed:
            self.by_action = exact_weights(rounds, self.shown, sums.lowest, delta=self.level)
        self.by_context = mean_weights(
            sums.groups[:, None], weights, squares, largest=largest, delta=self.level
        )

    @property
    def fixed(self) -> bool:
        """Whether every action has one propensity, and these leave no room for others.

        They are then the same in every round: others would add up to less than nothing.
        """
        sums = self.sums
        return (
            self.n_actions == sums.n_actions
            and bool((sums.lowest == sums.highest).all())
            and float(sums.lowest.sum()) >= sums.mass.slate_size - 1e-6
        )

    def crowded(self) -> int | None:
        """The largest k for which more rounds show an item of propensity <= 2^-k than can be.

        Their number is at most binomial with the probability K 2^-k. None if there is no such k.
        """
        from scipy.special import betainc

        sizes, n = self.sums.sizes, self.sums.rounds
        count = sizes[::-1].cumsum()[::-1]
        chance = np.minimum(1.0, self.n_actions * 0.5 ** np.arange(len(sizes)))
        tail = betainc(np.maximum(count, 1), n - count + 1, chance)
        found = np.flatnonzero((count > 0) & (tail <= self.level / len(sizes)))
        return int(found[-1]) if len(found) else None


def exact_weights(
    rounds: int, shown: npt.NDArray[Any], propensities: Array, *, delta: float
) -> MeanWeights:
    """Limits for actions that have had the same propensity in every round: Clopper-Pearson.

    They all hold with probability 1 - delta at a number of rounds fixed in advance.
    """
    from scipy.special import betaincinv

    tail = delta / (2 * len(shown))
    missed = rounds - shown
    lower = np.where(shown > 0, betaincinv(np.maximum(shown, 1), missed + 1, tail), 0.0)
    upper = np.where(missed > 0, betaincinv(shown + 1, np.maximum(missed, 1), 1 - tail), 1.0)
    return MeanWeights(shown / rounds / propensities, lower / propensities, upper / propensities)
