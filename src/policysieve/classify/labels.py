"""Labels of any hashable kind: their places, and batches of them to show."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.exploration import Decisions

__all__ = ["LabelDecisions", "as_labels", "places_of"]


def as_labels(classes: Any) -> npt.NDArray[Any]:
    """Different labels as an array of shape (n_classes,), of objects unless of one plain kind."""
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise InvalidArgumentError(f"classes must be a list of labels, got {shown(classes)}")
    if isinstance(classes, set | frozenset):
        raise InvalidArgumentError(
            "classes must come in an order that is always the same, got a set; use sorted(...)"
        )
    try:
        labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
        different = len(set(labels))
    except TypeError as error:
        raise InvalidArgumentError(
            f"classes must be a list of hashable labels ({error})"
        ) from error
    if different < max(len(labels), 2):
        raise InvalidArgumentError(
            f"classes must be 2 or more different labels, got {len(labels)} of which {different} "
            "are different"
        )
    if {type(label) for label in labels} in ({str}, {int}, {bool}, {float}):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def places_of(
    labels: npt.NDArray[Any], classes: npt.NDArray[Any], where: str
) -> npt.NDArray[np.intp]:
    """Places of labels among the classes, in the same shape; new labels are refused."""
    known = {label: place for place, label in enumerate(classes.tolist())}
    flat = labels.reshape(-1).tolist()
    new = [label for label in flat if not isinstance(label, Hashable) or label not in known]
    if new:
        raise InvalidArgumentError(
            f"{where} has the label {shown(new[0])}, which is not among the {len(known)} classes; "
            "name all labels in classes from the start"
        )
    return np.array([known[label] for label in flat], dtype=np.intp).reshape(labels.shape)


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
