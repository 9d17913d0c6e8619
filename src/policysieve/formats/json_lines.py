"""Newline-delimited JSON with keys of our own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import seconds
from policysieve.formats.contexts import JsonValues, plain_contexts
from policysieve.formats.files import write_text
from policysieve.formats.format import Format, Report, Rules
from policysieve.formats.rounds import Layout, Rounds
from policysieve.formats.text_source import Record, TextRow, TextSource

__all__ = ["FORMAT", "line_records", "number_in", "object_in", "optional_text", "optional_time"]

_NEEDED = ("context", "actions", "propensities", "rewards")


def line_records(lines: Iterator[str]) -> Iterator[Record]:
    """One record for each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if text.strip():
            yield Record(number, text, text)


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


class _JsonReader:
    def __init__(self, contexts_only: bool) -> None:
        self.contexts = JsonValues()
        self._contexts_only = contexts_only
        self._needed = _NEEDED[:1] if contexts_only else _NEEDED

    def records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Lines that are not blank."""
        return line_records(lines)

    def row(self, record: Record) -> TextRow:
        """Understand one line."""
        data = object_in(record.parts)
        missing = [key for key in self._needed if key not in data]
        unknown = [key for key in data if key not in (*_NEEDED, "id", "time")]
        if missing or unknown:
            problem = f"no key {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
            raise FileFormatError(
                f"{problem}; keys are {', '.join(self._needed)}, and if need be id and time"
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
        )


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data[key]
    if not isinstance(value, list) or not value:
        raise FileFormatError(
            f"{key} must be a list, with one entry for each item shown, got {json.dumps(value)}"
        )
    return value


def _write(
    path: Path, layout: Layout, batches: Iterator[Rounds], n_actions: int, compressed: bool
) -> None:
    write_text(path, _pieces(batches), compressed=compressed)


def _pieces(batches: Iterator[Rounds]) -> Iterator[str]:
    for rounds in batches:
        columns = (
            plain_contexts(rounds, flat=False),
            rounds.actions.tolist(),
            rounds.propensities.tolist(),
            rounds.plain_rewards(),
        )
        for i, items in enumerate(zip(*columns, strict=True)):
            data: dict[str, Any] = {}
            if rounds.ids is not None and rounds.ids[i]:
                data["id"] = rounds.ids[i]
            if rounds.times is not None and not np.isnan(rounds.times[i]):
                data["time"] = float(rounds.times[i])
            data.update(zip(_NEEDED, items, strict=True))
            yield json.dumps(data, ensure_ascii=False) + "\n"


def _open(path: Path, rules: Rules, report: Report | None) -> TextSource:
    return TextSource(path, _JsonReader(rules.contexts_only), rules, report)


FORMAT = Format(
    name="jsonl",
    title="newline JSON with keys of our own",
    suffixes=(".jsonl", ".ndjson"),
    open=_open,
    write=_write,
    not_held=lambda layout: (),
)
