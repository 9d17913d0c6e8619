"""Labels of any hashable kind, and their places."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError

__all__ = ["as_labels", "places_of"]


def as_labels(classes: Any) -> npt.NDArray[Any]:
    """Different labels as an array of shape (n_classes,), of objects unless of one plain kind."""
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise InvalidArgumentError(f"classes must be a list of labels, got {classes!r}")
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
    new = [label for label in flat if label not in known]
    if new:
        raise InvalidArgumentError(
            f"{where} has the label {new[0]!r}, which is not among the {len(known)} classes; name "
            "all labels in classes from the start"
        )
    return np.array([known[label] for label in flat], dtype=np.intp).reshape(labels.shape)
