"""Labels to show, and who may answer for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration import Decisions

__all__ = ["LabelDecisions"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelDecisions:
    """A batch of labels to show. Arrays are read-only.

    Index it by a slice, a mask or row numbers to tell only a part: whatever answers come back
    first may be told first.

    Attributes
    ----------
    labels : array of shape (n,), or (n, list_size) for lists
        What to show.
    propensities : float array of the same shape
        Probability with which each of them is shown, fixed before the answer.
    decisions : Decisions
        The same as numbers: actions are places in ``classes_``, contexts numbers of the rounds.
    """

    labels: npt.NDArray[Any]
    propensities: npt.NDArray[np.float64]
    decisions: Decisions

    def __post_init__(self) -> None:
        for array in (self.labels, self.propensities):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def ages(self) -> npt.NDArray[np.float64]:
        """Seconds since they were asked for, shape (n,)."""
        return self.decisions.ages

    def __repr__(self) -> str:
        return f"LabelDecisions({len(self)} rounds)"

    def __getitem__(self, rows: Any) -> "LabelDecisions":
        part = self.decisions[rows]
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        index = np.arange(len(self))[chosen]
        return LabelDecisions(self.labels[index], self.propensities[index], part)
