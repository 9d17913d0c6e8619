"""The rounds of a classifier: what was asked, shown and answered, in order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Accuracy, accuracy_from
from policysieve.log import Log

__all__ = ["Answers", "stacked"]


@dataclass
class Answers:
    """Feature rows with the labels shown there and the answers; grows in blocks.

    Attributes
    ----------
    rows : list of matrices of shape (n, d)
        Dense or sparse.
    logs : list of Log
        Labels shown as numbers, propensities, answers; contexts number the rounds.
    best : list of integer arrays of shape (n, m)
        What `predict` would have said when the round was decided.
    rounds : int
    """

    rows: list[Any] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    best: list[npt.NDArray[np.intp]] = field(default_factory=list)
    rounds: int = 0

    def add(self, rows: Any, log: Log, best: npt.NDArray[np.intp]) -> None:
        """Add rounds at the end."""
        self.rows.append(rows)
        self.logs.append(log)
        self.best.append(best)
        self.rounds += len(log)

    def accuracy(
        self,
        say: Callable[[Any], npt.NDArray[np.intp]] | None,
        *,
        since: int | None,
        delta: float,
    ) -> Accuracy:
        """How often labels are right from round `since` on.

        The labels are those that `say` names for feature rows, by default in all rounds; or without
        it what `predict` would have said at the time, by default from the last power of two on that
        leaves half of the rounds. The k-th has delta/((k+1)(k+2)), so that all of them hold
        together (docs/maths.md, "Accuracy from the log").
        """
        if not self.rounds:
            return Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=0, delta=delta)
        rows, log, best = self.together()
        first, level = since or 0, delta
        if since is None and say is None:
            k = max(len(log) // 2, 1).bit_length() - 1
            first, level = (1 << k if len(log) > 1 else 0), delta / ((k + 1) * (k + 2))
        best = say(rows[first:]) if say is not None and first < len(log) else best[first:]
        return replace(accuracy_from(log[first:], best, level), delta=delta)

    def together(self) -> tuple[Any, Log, npt.NDArray[np.intp]]:
        """All rounds as one block."""
        if len(self.rows) > 1:
            rows, log, best = (
                stacked(self.rows),
                Log.concatenate(self.logs),
                np.concatenate(self.best),
            )
            self.rows, self.logs, self.best = [rows], [log], [best]
        return self.rows[0], self.logs[0], self.best[0]


def stacked(rows: list[Any]) -> Any:
    """Matrices below each other; sparse if any of them is."""
    if len(rows) == 1:
        return rows[0]
    if not any(hasattr(part, "tocsr") for part in rows):
        return np.concatenate(rows)
    from scipy import sparse

    return sparse.vstack([sparse.csr_array(part) for part in rows], format="csr")
