"""Values of JSON: numbers, names, times, and contexts of all kinds."""

import json
import sys
from typing import Any

import numpy as np

from policysieve.arrays import is_text, shown
from policysieve.errors import FileFormatError
from policysieve.formats.cells import seconds

__all__ = [
    "JsonValues",
    "action_in",
    "actions_in",
    "number_in",
    "object_in",
    "optional_text",
    "optional_time",
    "reward_in",
]

_WHOLE: np.dtype[Any] = np.dtype(np.int64)
_NUMBER: np.dtype[Any] = np.dtype(np.float64)
_TEXT: np.dtype[Any] = np.dtype(object)


def object_in(text: str) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the line is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise FileFormatError(f"the line must be a JSON object, got {type(value).__name__}")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def number_in(name: str, value: Any, kind: type = float) -> Any:
    """A number that is not a bool; a whole one if `kind` is int."""
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        what = "a whole number" if kind is int else "a number"
        raise FileFormatError(f"{name} must be {what}, got {json.dumps(value)}")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise FileFormatError(f"{name} must be below 2**63, got {value}")
    return kind(value)


def action_in(name: str, value: Any) -> int | str:
    """A whole number, or a name."""
    if isinstance(value, str):
        return optional_text(name, value)
    number: int = number_in(name, value, int)
    return number


def actions_in(name: str, value: Any) -> list[int | str]:
    """A list of whole numbers or names."""
    if not isinstance(value, list):
        raise FileFormatError(f"{name} must be a list of actions, got {shown(value)}")
    return [action_in(f"an action of {name}", one) for one in value]


def reward_in(name: str, value: Any) -> float:
    """A number, 1 and 0 for true and false, or NaN if there is none."""
    if value is None or isinstance(value, bool):
        return np.nan if value is None else float(value)
    return float(number_in(name, value))


def optional_text(name: str, value: Any) -> str:
    """A string or a whole number as text; empty if there is none."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FileFormatError(f"{name} must be a string, got {json.dumps(value)}")
    try:
        str(value).encode()
    except UnicodeEncodeError as error:
        raise FileFormatError(f"{name} has half of a surrogate pair, which is not text") from error
    return str(value)


def optional_time(name: str, value: Any) -> float:
    """Seconds since 1970 from a number or an ISO 8601 string; NaN if there is none."""
    if value is None:
        return np.nan
    if isinstance(value, str):
        return seconds(name, value)
    return float(number_in(name, value))


class JsonValues:
    """Numbers, strings, or lists of them; all like the first."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.dtype = _WHOLE
        self._any = False

    def see(self, context: Any) -> None:
        """Take one value into account."""
        try:
            shape, dtype = _described(context)
        except FileFormatError:  # said again when the value is asked for
            return
        if not self._any:
            self._any, self.shape, self.dtype = True, shape, dtype
        elif shape == self.shape and self.dtype == _WHOLE and dtype == _NUMBER:
            self.dtype = _NUMBER

    def value(self, context: Any) -> Any:
        """The value itself."""
        shape, dtype = _described(context)
        if shape != self.shape or (dtype == _TEXT) != (self.dtype == _TEXT):
            raise FileFormatError(
                f"context must be {_in_words(self.shape, self.dtype)} as in the rounds before, got "
                f"{_in_words(shape, dtype)}"
            )
        return context


def _described(context: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of a JSON value."""
    shape: list[int] = []
    level = [context]
    while isinstance(level[0], list):
        lengths = {len(inner) if isinstance(inner, list) else -1 for inner in level}
        if len(lengths) > 1 or lengths == {0}:
            raise FileFormatError(f"context must not be empty or ragged, got {shown(context)}")
        shape += lengths
        level = [entry for inner in level for entry in inner]
    kinds = {type(entry) for entry in level}
    if kinds == {str}:
        if not all(is_text(entry) for entry in level):
            raise FileFormatError("context has half of a surrogate pair, which is not text")
        return tuple(shape), _TEXT
    if not kinds <= {int, float}:
        raise FileFormatError(
            f"context must be a number, a string, or lists of them, got {shown(context)}"
        )
    if kinds == {int} and all(-(2**63) <= entry < 2**63 for entry in level):
        return tuple(shape), _WHOLE
    if not all(abs(entry) <= sys.float_info.max for entry in level):
        raise FileFormatError(f"context must be finite numbers, got {shown(context)}")
    return tuple(shape), _NUMBER


def _in_words(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    kind = "string" if dtype == _TEXT else "number"
    return f"{' x '.join(map(str, shape))} {kind}s" if shape else f"one {kind}"
