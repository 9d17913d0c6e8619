"""Which segment a context belongs to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, shown
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame
from policysieve.naming import number_of

__all__ = ["OTHERS", "grouped", "in_words", "labels_of"]

OTHERS = "(others)"
"""What segments are called together that have no row of their own."""
_MISSING = "(missing)"


def grouped(
    labels: npt.NDArray[np.object_], found: Mapping[str, Any], most: int
) -> list[tuple[str, npt.NDArray[np.intp]]]:
    """Rows by their labels, in the order in which these appear; later ones are pooled.

    What has a row of its own is known before the first round that is pooled.
    """
    known = {label for label in found if label != OTHERS}
    groups: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        if label not in known:
            if len(known) < most:
                known.add(label)
            else:
                label = OTHERS
        groups.setdefault(label, []).append(row)
    return [(label, np.array(rows, np.intp)) for label, rows in groups.items()]


def labels_of(segment: Any, contexts: Any, start: int, n_rounds: int) -> npt.NDArray[np.object_]:
    """A label for each context, as text."""
    rule = "the name or number of a column, a function of contexts, or a label for each round"
    if callable(segment):
        native = contexts.native() if isinstance(contexts, ContextFrame) else contexts
        values = plain_array("segment", segment(native), rule)
        expected = len(contexts)
    elif isinstance(segment, str):
        values, expected = _column(segment, contexts), len(contexts)
    elif isinstance(segment, int | np.integer) and not isinstance(segment, bool):
        values, expected = _column(int(segment), contexts), len(contexts)
    else:
        values, expected = plain_array("segment", segment, rule), n_rounds
    if values.shape != (expected,):
        raise InvalidArgumentError(
            f"segment must be {rule}, {expected:,} in all, got shape {values.shape}"
        )
    if expected != len(contexts):
        values = values[start : start + len(contexts)]
    found = np.empty(len(values), dtype=object)
    found[:] = [_as_text(value) for value in values.tolist()]
    return found


def _column(segment: str | int, contexts: Any) -> npt.NDArray[Any]:
    """A column of contexts by its name or number, or raise."""
    if isinstance(contexts, ContextFrame) and not contexts.dtype.is_sparse:
        names = contexts.dtype.names
        place = segment if isinstance(segment, int) else None
        if place is None:
            place = number_of("segment", str(segment), names)
        place = integer("segment", place, low=0, high=len(names) - 1)
        found = np.empty(len(contexts), dtype=object)
        found[:] = contexts.table.column(place).to_pylist()
        return found
    if isinstance(segment, str) or isinstance(contexts, ContextFrame):
        raise InvalidArgumentError(
            f"segment must be the number of a column, because contexts have no names for them, got "
            f"{shown(segment)}; or give a function of contexts, or a label for each round"
        )
    width = 1 if contexts.ndim == 1 else contexts.shape[1]
    place = integer("segment", segment, low=0, high=width - 1)
    return np.asarray(contexts if contexts.ndim == 1 else contexts[:, place])


def _as_text(value: Any) -> str:
    if value is None or value != value:
        return _MISSING
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_words(segment: Any) -> str:
    """What makes the segments."""
    if isinstance(segment, str):
        return segment
    if isinstance(segment, int | np.integer):
        return f"column {segment}"
    return getattr(segment, "__name__", "labels") if callable(segment) else "labels"
