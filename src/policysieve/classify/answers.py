"""The rounds of a classifier: what was asked, shown and answered, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Accuracy, Comparison, accuracy_from, accuracy_gain
from policysieve.log import Log

__all__ = ["AnsweredRounds", "Rows", "Say", "stacked"]

Say = Callable[[Any], npt.NDArray[np.intp]]
"""From feature rows to the labels that a model names there, as numbers of shape (n, m)."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What is kept with rounds that wait for their answers.

    Attributes
    ----------
    features : matrix of shape (n, d)
        Dense or sparse.
    best : integer array of shape (n, m)
        What `predict` would have said when the rounds were decided.
    """

    features: Any
    best: npt.NDArray[np.intp]

    def take(self, which: Any) -> "Rows":
        """Some of the rounds."""
        return Rows(self.features[which], self.best[which])

    def plus(self, later: "Rows") -> "Rows":
        """These, and the others behind them."""
        both = (self, later)
        return Rows(stacked([r.features for r in both]), np.concatenate([r.best for r in both]))


@dataclass(frozen=True, eq=False)
class AnsweredRounds:
    """Feature rows with the labels shown there and the answers. A value.

    Attributes
    ----------
    blocks : tuple of (Rows, Log)
        In order, each at least twice as long as the next, so that a round is copied seldom. Logs
        have labels shown as numbers, propensities and answers; contexts number the rounds.
    """

    blocks: tuple[tuple[Rows, Log], ...] = ()

    @property
    def rounds(self) -> int:
        """How many there are."""
        return sum(len(log) for _, log in self.blocks)

    def plus(self, rows: Rows, log: Log) -> "AnsweredRounds":
        """These, and rounds behind them."""
        blocks = [*self.blocks, (rows, log)]
        while len(blocks) > 1 and len(blocks[-2][1]) < 2 * len(blocks[-1][1]):
            blocks[-2:] = [_joined(blocks[-2:])]
        return AnsweredRounds(tuple(blocks))

    def accuracy(
        self,
        say: Say | None,
        *,
        since: int | None,
        delta: float,
    ) -> Accuracy:
        """How often labels are right from round `since` on.

        The labels are those that `say` names for feature rows, by default in all rounds; or without
        it what `predict` would have said at the time, by default from the last power of two on that
        leaves half of the rounds. The start 2^(k-1) has delta/((k+1)(k+2)), and 0 is that of k = 0,
        so that all of them hold together (docs/maths.md, "Accuracy from the log").
        """
        if not self.rounds:
            return Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=0, delta=delta)
        rows, log, best, level = self._counted(say is None, since=since, delta=delta)
        labels = say(rows) if say is not None and len(log) else best
        return replace(accuracy_from(log, labels, level), delta=delta)

    def compare(
        self,
        first: str,
        say: Say | None,
        second: str,
        other: Say,
        *,
        since: int | None,
        delta: float,
    ) -> Comparison:
        """How much more often labels are right than those that `other` names.

        `say` and the rounds that count are as for `accuracy`; the two classifiers have names.
        """
        value, lower, upper, rounds = np.nan, -1.0, 1.0, 0
        if self.rounds:
            rows, log, best, level = self._counted(say is None, since=since, delta=delta)
            rounds = len(log)
            if rounds:
                labels = best if say is None else say(rows)
                value, lower, upper = accuracy_gain(log, labels, other(rows), level)
        verdict = _verdict(first, second, lower, upper)
        return Comparison(
            first=first,
            second=second,
            value=value,
            lower=lower,
            upper=upper,
            rounds=rounds,
            guarantee=f"With probability at least {1 - delta:g}, {verdict}; that holds for the "
            f"average over the {rounds:,} rounds that count, whenever you look.",
        )

    def _counted(
        self, learning: bool, *, since: int | None, delta: float
    ) -> tuple[Any, Log, npt.NDArray[np.intp], float]:
        """The rounds that count: features, log, what was best, and the level of their limits."""
        rows, log, best = self.together()
        first, level = since or 0, delta
        if since is None and learning:  # the starts are 0, 1, 2, 4, 8, ...
            k = (len(log) // 2).bit_length()
            first, level = (1 << k) >> 1, delta / ((k + 1) * (k + 2))
        return rows[first:], log[first:], best[first:], level

    def together(self) -> tuple[Any, Log, npt.NDArray[np.intp]]:
        """All rounds as one block: features, log, and what was best."""
        rows, log = _joined(self.blocks)
        return rows.features, log, rows.best


def _joined(blocks: Sequence[tuple[Rows, Log]]) -> tuple[Rows, Log]:
    if len(blocks) == 1:
        return blocks[0]
    features = stacked([rows.features for rows, _ in blocks])
    best = np.concatenate([rows.best for rows, _ in blocks])
    return Rows(features, best), Log.concatenate([log for _, log in blocks])


def stacked(rows: list[Any]) -> Any:
    """Matrices below each other; sparse if any of them is."""
    if len(rows) == 1:
        return rows[0]
    if not any(hasattr(part, "tocsr") for part in rows):
        return np.concatenate(rows)
    from scipy import sparse

    return sparse.vstack([sparse.csr_array(part) for part in rows], format="csr")


def _verdict(first: str, second: str, lower: float, upper: float) -> str:
    """What limits on the difference of two accuracies say."""
    if lower > 0:
        return f"{first} is right more often than {second}, by {lower:.4g} to {upper:.4g}"
    if upper < 0:
        return f"{first} is right less often than {second}, by {-upper:.4g} to {-lower:.4g}"
    return f"the accuracy of {first} less that of {second} lies between {lower:.4g} and {upper:.4g}"
