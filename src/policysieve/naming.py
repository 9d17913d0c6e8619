"""Names of policies and actions: they stand for numbers wherever those are taken or given."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list, shown
from policysieve.errors import InvalidArgumentError

__all__ = ["as_names", "looked_up", "named", "number_of"]

_FEW = 8  # names that an error lists


def as_names(argument: str, values: Any) -> tuple[str, ...]:
    """Names as a tuple, or raise unless they are different strings that are not empty."""
    if isinstance(values, str):
        raise InvalidArgumentError(
            f"{argument} must be a sequence of names, got one string, {shown(values)}; write "
            f"{argument}=[{shown(values)}, ...]"
        )
    names = as_list(argument, values, "a sequence of names")
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            hint = "; write numbers as text, such as str(17)" if not isinstance(name, str) else ""
            raise InvalidArgumentError(
                f"{argument} must be strings that are not empty, got {shown(name)} in entry {i}"
                f"{hint}"
            )
        if name in seen:
            raise InvalidArgumentError(
                f"{argument} must be different, got {shown(name)} in entries {seen[name]} and {i}"
            )
        seen[str(name)] = i
    return tuple(seen)


def number_of(argument: str, name: str, names: Sequence[str] | None) -> int:
    """The number that a name stands for, or an error that says which names there are."""
    if names is None:
        raise InvalidArgumentError(
            f"{argument} must be a number, because no names are known, got {shown(name)}"
        )
    try:
        return names.index(name)
    except ValueError:
        raise InvalidArgumentError(
            f"{argument} must be one of {_listed(names)}, got {shown(name)}{_meant(name, names)}"
        ) from None


def looked_up(
    argument: str, values: npt.NDArray[Any], names: Sequence[str] | None
) -> npt.NDArray[Any]:
    """An array of names as the numbers that they stand for; other arrays as they are.

    An error names the first entry that is no name.
    """
    if values.dtype.kind not in "UTO" or not values.size:
        return values
    flat = values.reshape(-1)
    if values.dtype == object and not all(isinstance(value, str) for value in flat):
        return values  # numbers as objects, or something that the caller refuses
    distinct, where = np.unique(flat.astype(str), return_inverse=True)
    known = {name: number for number, name in enumerate(names or ())}
    numbers = np.array([known.get(str(name), -1) for name in distinct], dtype=np.int64)
    unknown = numbers[where] < 0
    if unknown.any():
        entry = int(np.flatnonzero(unknown)[0])
        row = entry // max(1, values[:1].size)
        number_of(f"{argument} (row {row})", str(flat[entry]), names)
    return np.asarray(numbers[where]).reshape(values.shape)


def named(numbers: Any, names: Sequence[str]) -> npt.NDArray[np.object_]:
    """The names that an array of numbers stands for, of its shape."""
    return np.asarray(np.array(names, dtype=object)[np.asarray(numbers)])


def _listed(names: Sequence[str]) -> str:
    """The first of the names, and how many there are."""
    more = f", ... ({len(names):,} names)" if len(names) > _FEW else ""
    return ", ".join(map(repr, names[:_FEW])) + more


def _meant(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(str(name), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
