"""Newline-delimited JSON with keys of our own."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import FileFormatError
from policysieve.formats.format import refuse_sparse
from policysieve.formats.frame_cells import (
    FrameCells,
    ObjectCells,
    check_held,
    held_of_frames,
    in_json,
)
from policysieve.formats.json_values import (
    JsonValues,
    action_in,
    actions_in,
    number_in,
    object_in,
    optional_text,
    optional_time,
    reward_in,
)
from policysieve.formats.lines import RawRow, plain_lines
from policysieve.formats.mapped import JSON_CELLS, MappedRows, slates
from policysieve.formats.rules import Rules
from policysieve.formats.table import advice, check_mapped
from policysieve.formats.text import ContextReader, TextRow, text_format
from policysieve.frames import ContextFrame
from policysieve.log import Layout, Rounds

__all__ = ["FORMAT"]

_NEEDED = ("context", "actions", "propensities", "rewards")
_OPTIONAL = ("id", "time", "distribution", "available", "unit", "outcomes")
_KNOWN = frozenset((*_NEEDED, *_OPTIONAL))
_FEW_KEYS = 1000  # that are remembered for an error


class _Contexts:
    """Contexts of any kind, as the first one is: values, or objects that are rows of a table."""

    def __init__(self) -> None:
        self._kind: JsonValues | ObjectCells | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one context."""
        return self._of().shape

    @property
    def dtype(self) -> Any:
        """The dtype of numbers, ``object`` for strings, or a `FrameType`."""
        return self._of().dtype

    def see(self, context: Any) -> None:
        """Take one context into account."""
        if self._kind is None:
            self._kind = ObjectCells() if isinstance(context, dict) and context else JsonValues()
        self._kind.see(context)

    def value(self, context: Any) -> Any:
        """The context itself, or the values of an object."""
        return self._of().value(context)

    def _of(self) -> JsonValues | ObjectCells:
        return self._kind or JsonValues()


class _MappedReader:
    """Reads objects of others, whose keys a map names; other keys are left aside."""

    def __init__(self, rules: Rules) -> None:
        self._mapped = MappedRows(rules, JSON_CELLS)
        columns = self._mapped.columns
        context = columns.context
        self._needed = () if rules.contexts_only else (*columns.action, *columns.propensity)
        self.contexts: ContextReader = (
            _Contexts() if isinstance(context, str) else FrameCells(context, typed=True)
        )
        self._longest = rules.longest_row
        self._unseen = dict.fromkeys(self._mapped.names)  # keys that no line has had
        self._others: dict[str, None] = {}  # keys of lines, some of them

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Lines that are not blank, or slates of them."""
        lines, slate = plain_lines(path, self._longest), self._mapped.columns.slate
        if slate is None:
            return lines
        return slates(path, lines, lambda raw: object_in(raw.text).get(slate), self._longest)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one line, or all lines of a slate."""
        slate = self._mapped.columns.slate
        raws = [raw] if slate is None else raw.parts
        rows = [self._named(part) for part in raws]
        if slate is not None and rows[0][slate] in (None, ""):
            raise FileFormatError(f"{slate} must say of which slate the row is, got nothing")
        return self._mapped.round([part.line for part in raws], rows)

    def check_keys(self, paths: Sequence[Path]) -> None:
        """Raise if no line has a key that the map names."""
        if self._unseen:
            where = ", ".join(map(str, paths))
            check_mapped(where, list(self._others), list(self._unseen), what="key")

    def _named(self, raw: RawRow) -> dict[str, Any]:
        """Values by key; a key that is not there is a missing value."""
        data = object_in(raw.text)
        if not any(name in data for name in self._mapped.names):
            raise FileFormatError(
                f"no key {self._mapped.names[0]!r}, which the map of columns names, among "
                f"{', '.join(data)}"
            )
        self._note(data)
        for name in self._needed:
            if name in self._unseen:
                check_mapped("the line", list(data), [name], what="key")
        return {name: data.get(name) for name in self._mapped.names}

    def _note(self, data: dict[str, Any]) -> None:
        """Take the keys of a line into account."""
        if self._unseen:
            for name in data:
                self._unseen.pop(name, None)
            if len(self._others) < _FEW_KEYS:
                self._others.update(dict.fromkeys(data))


class _OwnReader:
    def __init__(self, rules: Rules) -> None:
        self.contexts = _Contexts()
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
        unknown = [key for key in data if key not in _KNOWN]
        if missing or unknown:
            problem = f"no key {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
            hint = advice(list(data), contexts_only=self._contexts_only)
            raise FileFormatError(
                f"{problem}; keys are {', '.join(self._needed)}, and if need be "
                f"{', '.join(_OPTIONAL)}{hint if missing else ''}"
            )
        row = TextRow(
            context=data["context"],
            id=optional_text("id", data.get("id")),
            time=optional_time("time", data.get("time")),
            available=actions_in("available", data["available"]) if "available" in data else None,
            unit=optional_text("unit", data["unit"]) if "unit" in data else None,
        )
        if self._contexts_only:
            return row
        return row._replace(
            actions=[action_in("an action", entry) for entry in _list(data, "actions")],
            propensities=[number_in("a propensity", e) for e in _list(data, "propensities")],
            rewards=[reward_in("a reward", entry) for entry in _list(data, "rewards")],
            distribution=_pairs(data.get("distribution")),
            outcomes=_outcomes(data["outcomes"]) if "outcomes" in data else None,
        )


def _pairs(value: Any) -> list[tuple[int | str, float]] | None:
    """The pairs of action and propensity in a distribution, if there is one."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(e, list) and len(e) == 2 for e in value):
        raise FileFormatError(
            "distribution must be a list of pairs [action, propensity], got " + shown(value)
        )
    return [
        (
            action_in("an action of the distribution", action),
            number_in("a propensity of the distribution", propensity),
        )
        for action, propensity in value
    ]


def _outcomes(value: Any) -> dict[str, list[float]]:
    """Lists of other outcomes by their names."""
    if not isinstance(value, dict) or not all(isinstance(one, list) for one in value.values()):
        raise FileFormatError(
            'outcomes must be lists by name, such as {"sale": [1]}, one entry for each item shown, '
            f"got {shown(value)}"
        )
    return {
        optional_text("the name of an outcome", name): [
            reward_in(f"an outcome {name!r}", entry) for entry in entries
        ]
        for name, entries in value.items()
    }


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
            _plain(rounds),
            rounds.plain_actions(),
            rounds.propensities.tolist(),
            rounds.plain_rewards(),
            rounds.plain_distributions(),
            rounds.plain_available(),
        )
        outcomes = rounds.plain_outcomes()
        for i, (*items, pairs, available) in enumerate(zip(*columns, strict=True)):
            data: dict[str, Any] = {}
            if rounds.ids is not None and rounds.ids[i]:
                data["id"] = rounds.ids[i]
            if rounds.times is not None and not np.isnan(rounds.times[i]):
                data["time"] = float(rounds.times[i])
            data.update(zip(_NEEDED, items, strict=True))
            if pairs is not None:
                data["distribution"] = pairs
            if available is not None:
                data["available"] = available
            if rounds.beside.units is not None:
                data["unit"] = rounds.beside.units[i]
            if outcomes:
                data["outcomes"] = {name: values[i] for name, values in outcomes.items()}
            yield json.dumps(data, ensure_ascii=False) + "\n"


def _plain(rounds: Rounds) -> list[Any]:
    contexts = rounds.plain_contexts(flat=False)
    if not isinstance(rounds.contexts, ContextFrame):
        return contexts
    check_held(rounds.contexts, typed=True)
    return [{name: in_json(value) for name, value in row.items()} for row in contexts]


def _not_held(layout: Layout) -> tuple[str, ...]:
    refuse_sparse(layout, "jsonl")
    return held_of_frames(layout, typed=True) if layout.has_frames else ()


FORMAT = text_format(
    name="jsonl",
    title="newline JSON with keys of our own",
    suffixes=(".jsonl", ".ndjson"),
    reader=lambda rules: (_OwnReader if rules.columns is None else _MappedReader)(rules),
    text=_text,
    check=lambda reader, paths: (
        reader.check_keys(paths) if isinstance(reader, _MappedReader) else None
    ),
    tabular=True,
    not_held=_not_held,
)
