"""Newline-delimited JSON with keys of our own."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import seconds
from policysieve.formats.rules import Rules
from policysieve.formats.text import RawRow, TextRow, plain_lines, text_format
from policysieve.log import Layout, Rounds

__all__ = [
    "FORMAT",
    "JsonValues",
    "number_in",
    "object_in",
    "optional_text",
    "optional_time",
]

_NEEDED = ("context", "actions", "propensities", "rewards")
_OPTIONAL = ("id", "time", "distribution")
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
            raise FileFormatError(f"context must not be empty or ragged, got {_short(context)}")
        shape += lengths
        level = [entry for inner in level for entry in inner]
    kinds = {type(entry) for entry in level}
    if kinds == {str}:
        if not all(_is_text(entry) for entry in level):
            raise FileFormatError("context has half of a surrogate pair, which is not text")
        return tuple(shape), _TEXT
    if not kinds <= {int, float}:
        raise FileFormatError(
            f"context must be a number, a string, or lists of them, got {_short(context)}"
        )
    if kinds == {int} and all(-(2**63) <= entry < 2**63 for entry in level):
        return tuple(shape), _WHOLE
    if not all(abs(entry) <= sys.float_info.max for entry in level):
        raise FileFormatError(f"context must be finite numbers, got {_short(context)}")
    return tuple(shape), _NUMBER


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _in_words(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    kind = "string" if dtype == _TEXT else "number"
    return f"{' x '.join(map(str, shape))} {kind}s" if shape else f"one {kind}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _JsonReader:
    def __init__(self, rules: Rules) -> None:
        self.contexts = JsonValues()
        self._contexts_only = rules.contexts_only
        self._longest = rules.longest_row
        self._needed = _NEEDED[:1] if rules.contexts_only else _NEEDED

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Lines that are not blank."""
        return plain_lines(path, self._longest)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one line."""
        data = object_in(raw.text)
        missing = [key for key in self._needed if key not in data]
        unknown = [key for key in data if key not in (*_NEEDED, *_OPTIONAL)]
        if missing or unknown:
            problem = f"no key {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
            raise FileFormatError(
                f"{problem}; keys are {', '.join(self._needed)}, and if need be "
                f"{', '.join(_OPTIONAL)}"
            )
        row = TextRow(
            context=data["context"],
            id=optional_text("id", data.get("id")),
            time=optional_time("time", data.get("time")),
        )
        if self._contexts_only:
            return row
        return row._replace(
            actions=[number_in("an action", entry, int) for entry in _list(data, "actions")],
            propensities=[number_in("a propensity", e) for e in _list(data, "propensities")],
            rewards=[
                np.nan if entry is None else number_in("a reward", entry)
                for entry in _list(data, "rewards")
            ],
            distribution=_pairs(data.get("distribution")),
        )


def _pairs(value: Any) -> list[tuple[int, float]] | None:
    """The pairs of action and propensity in a distribution, if there is one."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(e, list) and len(e) == 2 for e in value):
        raise FileFormatError(
            "distribution must be a list of pairs [action, propensity], got " + _short(value)
        )
    return [
        (
            number_in("an action of the distribution", action, int),
            number_in("a propensity of the distribution", propensity),
        )
        for action, propensity in value
    ]


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data[key]
    if not isinstance(value, list) or not value:
        raise FileFormatError(
            f"{key} must be a list, with one entry for each item shown, got {json.dumps(value)}"
        )
    return value


def _text(batches: Iterable[Rounds], _layout: Layout, _n_actions: int) -> Iterator[str]:
    for rounds in batches:
        columns = (
            rounds.plain_contexts(flat=False),
            rounds.actions.tolist(),
            rounds.propensities.tolist(),
            rounds.plain_rewards(),
            rounds.plain_distributions(),
        )
        for i, (*items, pairs) in enumerate(zip(*columns, strict=True)):
            data: dict[str, Any] = {}
            if rounds.ids is not None and rounds.ids[i]:
                data["id"] = rounds.ids[i]
            if rounds.times is not None and not np.isnan(rounds.times[i]):
                data["time"] = float(rounds.times[i])
            data.update(zip(_NEEDED, items, strict=True))
            if pairs is not None:
                data["distribution"] = pairs
            yield json.dumps(data, ensure_ascii=False) + "\n"


FORMAT = text_format(
    name="jsonl",
    title="newline JSON with keys of our own",
    suffixes=(".jsonl", ".ndjson"),
    reader=_JsonReader,
    text=_text,
    not_held=lambda layout: (),
)
