"""Names of policies and actions: they stand for numbers wherever those are taken or given."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any
from unicodedata import category

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list, is_text, plain_array, shown
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError

__all__ = [
    "as_names",
    "check_same_actions",
    "labels_of",
    "looked_up",
    "meant",
    "named",
    "named_actions",
    "named_parts",
    "number_of",
]

_FEW = 8  # names that an error lists
_LONGEST = 500  # characters of a name
_UNSEEN = ("Cc", "Zl", "Zp")  # controls, and ends of lines
_NONE = ("\ufffe", "\uffff")  # what Unicode has no character for


def as_names(argument: str, values: Any) -> tuple[str, ...]:
    """Names as a tuple, or raise unless they are different strings that are not empty."""
    if isinstance(values, str):
        raise InvalidArgumentError(
            f"{argument} must be a sequence of names, got one string, {shown(values)}; write "
            f"{argument}=[{shown(values)}, ...]"
        )
    if isinstance(values, set | frozenset):
        raise InvalidArgumentError(
            f"{argument} must be in an order, got {shown(values)}, which has none; write "
            f"{argument}=sorted(...)"
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
        if not is_text(name):
            raise InvalidArgumentError(
                f"{argument} must be text that files can hold, got half of a surrogate pair in "
                f"entry {i}: {shown(name)}; decode its bytes as UTF-8"
            )
        odd = next((sign for sign in name if category(sign) in _UNSEEN or sign in _NONE), None)
        if odd is not None or len(name) > _LONGEST:
            raise InvalidArgumentError(
                f"{argument} must be at most {_LONGEST} characters that can be shown in one line, "
                f"got {shown(name)} in entry {i}"
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
            f"{argument} must be one of {_listed(names)}, got {shown(name)}{meant(name, names)}"
        ) from None


def labels_of(argument: str, values: Any, rule: str) -> npt.NDArray[Any]:
    """`values` as an array in which numbers among names stay numbers."""
    array = plain_array(argument, values, rule)
    if array.dtype.kind in "UT" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # numpy would make names of them
    return array


def looked_up(
    argument: str,
    values: npt.NDArray[Any],
    names: Sequence[str] | None,
    *,
    row: int | None = None,
) -> npt.NDArray[Any]:
    """An array of names as the numbers that they stand for; other arrays as they are.

    An error names the first entry that is no name, and its row, or the `row` that all are in.
    """
    if values.dtype.kind not in "UTO" or not values.size or not values.ndim:
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
        row = entry // max(1, values[:1].size) if row is None else row
        number_of(f"{argument} (row {row})", str(flat[entry]), names)
    return np.asarray(numbers[where]).reshape(values.shape)


def named_actions(actions: Any, n_actions: Any) -> tuple[tuple[str, ...] | None, int]:
    """The names of actions, if they have any, and how many there are, or raise."""
    if actions is None and n_actions is None:
        raise InvalidArgumentError(
            "n_actions must say how many actions there are, or actions must be their names, got "
            'neither; write n_actions=100, or actions=["shoes", "hats"]'
        )
    count = 0 if n_actions is None else integer("n_actions", n_actions, low=1)
    if actions is None:
        return None, count
    names = as_names("actions", actions)
    if not names:
        raise InvalidArgumentError("actions must have at least one name, got none")
    if count not in (0, len(names)):
        raise InvalidArgumentError(
            f"actions must name each of the {count:,} actions, got {len(names):,} names"
        )
    return names, len(names)


def named_parts(
    argument: str, values: Any, rule: str, names: Any
) -> tuple[list[Any], tuple[str, ...] | None]:
    """Things and their names: from a dict by name, or from a sequence and the names beside it."""
    if isinstance(values, Mapping):
        if names is not None:
            raise InvalidArgumentError(
                f"names must be left out where {argument} is a dict, whose keys are the names, got "
                f"{shown(names)}"
            )
        return list(values.values()), as_names(f"the keys of {argument}", values)
    return as_list(argument, values, rule), None if names is None else as_names("names", names)


def check_same_actions(
    ours: Sequence[str] | None, theirs: Sequence[str] | None, *, of: str
) -> None:
    """Raise unless actions are named alike, or one of both has no names; `of` says whose."""
    if ours is None or theirs is None or tuple(ours) == tuple(theirs):
        return
    at = next(
        (i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None
    )
    if at is None:
        got = f"{len(ours):,} and {len(theirs):,} names"
    else:
        got = f"{shown(ours[at])} and {shown(theirs[at])} for action {at}"
    raise InvalidArgumentError(
        f"{of} must have the same names of actions in the same order, got {got}; give both the "
        "same list as actions="
    )


def named(numbers: Any, names: Sequence[str]) -> npt.NDArray[np.object_]:
    """The names that an array of numbers stands for, of its shape."""
    return np.asarray(np.array(names, dtype=object)[np.asarray(numbers)])


def _listed(names: Sequence[str]) -> str:
    """The first of the names, and how many there are."""
    more = f", ... ({len(names):,} names)" if len(names) > _FEW else ""
    return ", ".join(map(repr, names[:_FEW])) + more


def meant(name: str, names: Sequence[str]) -> str:
    """The end of an error: the closest of the names, if one is close."""
    close = get_close_matches(str(name), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
