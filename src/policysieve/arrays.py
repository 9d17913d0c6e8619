"""Arrays out of whatever was given: what would be lost on the way is refused."""

import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError

__all__ = [
    "as_float",
    "as_list",
    "is_text",
    "plain_array",
    "real_numbers",
    "same_numbers",
    "shown",
    "told",
]

_LONGEST = 80  # characters of a value in an error
_MANY_DIGITS = 10**30

_HINTS = {
    "c": "their imaginary part would be lost; take .real if that is meant",
    "S": "if these are numbers, convert them with astype(float)",
    "U": "if these are numbers, convert them with astype(float)",
    "T": "if these are numbers, convert them with astype(float)",
    "M": "a date is no number",
    "m": "a duration is no number",
}


def shown(value: Any) -> str:
    """A value as an error shows it: short, whatever it is."""
    if isinstance(value, int) and abs(value) >= _MANY_DIGITS:  # Python refuses to print many digits
        return f"about {'-' if value < 0 else ''}10^{math.log10(abs(value)):.0f}"
    try:
        text = repr(value)
    except Exception as error:  # what it raises is its own matter
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def told(error: BaseException) -> str:
    """What an error says, and its type, also if it cannot say anything."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as other:  # what it raises is its own matter
        return f"{type(error).__name__}, whose text raises {type(other).__name__}"


def is_text(text: str) -> bool:
    """Whether a string can be written to a file: it has no half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def same_numbers(one: Any, two: Any, within: float = 0.0) -> bool:
    """Whether two values or arrays are equal; numbers may differ by a share of their size."""
    if np.array_equal(one, two):
        return True
    mine, theirs = np.asarray(one), np.asarray(two)
    if within == 0 or mine.shape != theirs.shape or {mine.dtype.kind, theirs.dtype.kind} != {"f"}:
        return False
    return bool(np.allclose(mine, theirs, rtol=within, atol=0.0, equal_nan=True))


def plain_array(name: str, values: Any, rule: str) -> npt.NDArray[Any]:
    """`values` as an array; raise if they are ragged, or if any of them are masked.

    An error says that `name` must be what the `rule` says.
    """
    if type(values) is np.ndarray:
        return values
    masked = _n_masked(values)
    if masked:
        raise InvalidArgumentError(
            f"{name} must not be masked, {masked:,} of them are; fill these, or drop their rounds"
        )
    try:
        return np.asarray(values)
    except Exception as error:  # of an object's own way to become an array, which may be any
        why = told(error)
        got = "ragged rows" if "inhomogeneous" in why else f"{shown(values)} ({why})"
        raise InvalidArgumentError(f"{name} must be {rule}, got {got}") from error


def _n_masked(values: Any) -> int:
    """How many entries are masked, in an array or in a list of arrays."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(values)))
    if isinstance(values, list | tuple):
        return sum(_n_masked(one) for one in values if isinstance(one, np.ma.MaskedArray))
    return 0


def as_list(name: str, values: Any, rule: str) -> list[Any]:
    """`values` as a list; raise if they cannot be gone through one by one."""
    try:
        return list(values)
    except TypeError as error:
        raise InvalidArgumentError(f"{name} must be {rule}, got {shown(values)}") from error


def real_numbers(name: str, values: Any, rule: str, *, hint: str = "") -> npt.NDArray[np.float64]:
    """`values` as floats; raise unless each is a real number that a float can stand for.

    Truth values and whole numbers are such, and objects such as fractions, but not text that looks
    like a number, dates or complex numbers. None becomes NaN, which the caller refuses or not.
    """
    array = plain_array(name, values, rule)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # of long floats: infinity is refused by who has a range
            return array.astype(np.float64)
    if array.dtype != object:
        advice = _HINTS.get(array.dtype.kind, hint)
        raise InvalidArgumentError(
            f"{name} must be {rule}, got dtype {array.dtype}{f'; {advice}' if advice else ''}"
        )
    found = np.empty(array.size)
    for i, entry in enumerate(array.reshape(-1)):
        try:
            found[i] = math.nan if entry is None else as_float(entry)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                f"{name} must be {rule}, got {shown(entry)} in entry {i} ({error})"
                f"{f'; {hint}' if hint else ''}"
            ) from error
    return found.reshape(array.shape)


def as_float(value: Any) -> float:
    """A real number as a float; `TypeError`, `ValueError` or `OverflowError` if it is none."""
    if not isinstance(value, numbers.Real | Decimal | np.bool_):
        raise TypeError(f"{type(value).__name__} is not a kind of number")
    return float(value)
