"""CSV with columns of our own."""

import csv
import io
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.actions import ActionCell, available_in, seem_numbers
from policysieve.formats.beside_names import AVAILABLE, UNIT, outcome_columns
from policysieve.formats.cells import earned, finite, seconds
from policysieve.formats.format import refuse_sparse, refuse_text_rows
from policysieve.formats.frame_cells import FrameCells, check_held, held_of_frames, written
from policysieve.formats.lines import Lines, RawRow
from policysieve.formats.mapped import TEXT_CELLS, MappedRows, slates
from policysieve.formats.rules import Rules
from policysieve.formats.table import (
    FRAME_PREFIX,
    ITEMS,
    FeatureCells,
    ScalarCells,
    TableColumns,
    check_different,
    check_mapped,
    item_names,
    understand,
)
from policysieve.formats.text import ContextReader, TextRow, text_format
from policysieve.frames import ContextFrame
from policysieve.log import Layout, Rounds

__all__ = ["FORMAT", "CsvReader", "csv_text", "read_header"]

_DISTRIBUTION = "distribution"  # the column
_SEPARATORS = (";", "\t")  # which other programs write


_ROOM = threading.Lock()  # held by whoever has set the limit, which is one of the whole process


def _table_rows(path: Path, longest: int) -> Iterator[RawRow]:
    """Rows of a CSV file whose parts are cells, or the `csv.Error` of a row."""
    lines = Lines(path, longest)
    separator = _separator(path, longest)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        first = lines.number + 1
        lines.next_row()
        cells: Any
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = error
            if sum(map(len, lines.row)) > csv.field_size_limit():
                cells = _long_row(lines, longest, separator)
        if cells:
            yield RawRow(first, "".join(lines.row).rstrip("\r\n"), cells)


def _separator(path: Path, longest: int) -> str:
    """What is between the names of the columns: a comma, unless there is none but another sign."""
    header = next((line for line in Lines(path, longest) if line.strip()), "")
    found = [sign for sign in _SEPARATORS if sign in header]
    return found[0] if len(found) == 1 and "," not in header else ","


def _long_row(lines: Lines, longest: int, separator: str) -> Any:
    """A row that may have a cell beyond Python's limit, from its first line on."""
    again = csv.reader(chain(list(lines.row), lines), delimiter=separator, strict=True)
    with _ROOM:
        before = csv.field_size_limit()
        csv.field_size_limit(max(before, min(longest, 2**31 - 1)))  # a C long, short on Windows
        try:
            return next(again)
        except csv.Error as error:
            return error
        finally:
            csv.field_size_limit(before)


def read_header(
    path: Path, longest: int, exact: Sequence[str] = ()
) -> tuple[list[str], Iterator[RawRow]]:
    """Names of the columns, all different, and the rows after them.

    Names have no spaces around them, but for those that are `exact`.
    """
    rows = _table_rows(path, longest)
    first = next(rows, None)
    if first is None:
        raise FileFormatError(f"{path} is empty; its first line must name the columns")
    if isinstance(first.parts, csv.Error):
        raise FileFormatError(f"{path} must start with names of columns ({first.parts})")
    names = [cell if cell in exact else cell.strip() for cell in first.parts]
    check_different(path, names, sorted(set(names)))
    return names, rows


def csv_text(rows: list[list[Any]]) -> str:
    """Rows as CSV; floats in full precision."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


class CsvReader(ABC):
    """Reads CSV files that all have the same columns."""

    contexts: ContextReader

    def __init__(self, rules: Rules) -> None:
        self._columns: dict[str, int] = {}
        self._longest = rules.longest_row

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Rows after the header, which must be that of the files before."""
        names, rows = read_header(path, self._longest)
        if not self._columns:
            self._understand(path, names)
            self._columns = {name: index for index, name in enumerate(names)}
        elif names != list(self._columns):
            raise FileFormatError(
                f"{path} has the columns {', '.join(names)}, but the files before it have "
                f"{', '.join(self._columns)}; the files of one log must have the same columns"
            )
        return rows

    @abstractmethod
    def _understand(self, path: Path, names: list[str]) -> None:
        """Find out what columns hold, or raise; sets `contexts`."""

    def _cells(self, raw: RawRow) -> list[str]:
        """Cells of a row, as many as there are columns."""
        if isinstance(raw.parts, csv.Error):
            raise FileFormatError(f"the row is not CSV ({raw.parts})")
        width = len(self._columns)
        if len(raw.parts) != width:
            hint = (
                "; a value with a comma must be in quotes, and numbers have a point, not a comma"
                if len(raw.parts) > width
                else ""
            )
            raise FileFormatError(f"{width} columns are needed, got {len(raw.parts)}{hint}")
        cells: list[str] = raw.parts
        return cells


class _MappedReader(CsvReader):
    """Reads CSV files of others, whose columns a map names; other columns are left aside."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self._mapped = MappedRows(rules, TEXT_CELLS)
        context = self._mapped.columns.context
        self.contexts = (
            ScalarCells(context) if isinstance(context, str) else FrameCells(context, typed=False)
        )

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Rows after the header, or slates of them; each file may have other columns besides."""
        names, rows = read_header(path, self._longest, self._mapped.names)
        self._understand(path, names)
        self._columns = {name: index for index, name in enumerate(names)}
        slate = self._mapped.columns.slate
        if slate is None:
            return rows
        return slates(path, rows, lambda raw: self._named(raw)[slate], self._longest)

    def _understand(self, path: Path, names: list[str]) -> None:
        check_mapped(path, names, self._mapped.names)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one row, or all rows of a slate."""
        if self._mapped.columns.slate is None:
            return self._mapped.round([raw.line], [self._named(raw)])
        rows = [self._named(part) for part in raw.parts]
        if not rows[0][self._mapped.columns.slate]:
            raise FileFormatError(f"{self._mapped.columns.slate} is empty, and says the slate")
        return self._mapped.round([part.line for part in raw.parts], rows)

    def _named(self, raw: RawRow) -> dict[str, str]:
        cells = self._cells(raw)
        return {name: cells[self._columns[name]] for name in self._mapped.names}


class _OwnReader(CsvReader):
    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self._contexts_only = rules.contexts_only

    def _understand(self, path: Path, names: list[str]) -> None:
        table = understand(path, names, optional=[_DISTRIBUTION], contexts_only=self._contexts_only)
        places = {name: place for place, name in enumerate(names)}
        self._features = [places[name] for name in table.features]
        self._items = {kind: [places[name] for name in table.items[kind]] for kind in ITEMS}
        self._outcomes = {
            outcome: [(name, places[name]) for name in columns]
            for outcome, columns in table.outcomes.items()
        }
        self.contexts = _contexts_of(table)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one row."""
        cells = self._cells(raw)
        time = self._optional(cells, "time")
        listed = "" if self._contexts_only else self._optional(cells, _DISTRIBUTION)
        return TextRow(
            context=(
                [cells[i] for i in self._features]
                if self._features
                else cells[self._columns["context"]]
            ),
            actions=[ActionCell(cells[i]) for i in self._items["action"]],
            propensities=[finite("propensity", cells[i]) for i in self._items["propensity"]],
            rewards=[
                earned("reward", cells[i]) if cells[i] else np.nan for i in self._items["reward"]
            ],
            id=self._optional(cells, "id"),
            time=seconds("time", time) if time else np.nan,
            distribution=_as_pairs(listed) if listed else None,
            available=available_in(AVAILABLE, cells[self._columns[AVAILABLE]])
            if AVAILABLE in self._columns
            else None,
            unit=cells[self._columns[UNIT]] if UNIT in self._columns else None,
            outcomes={
                outcome: [earned(name, cells[i]) if cells[i] else np.nan for name, i in columns]
                for outcome, columns in self._outcomes.items()
            }
            if self._outcomes
            else None,
        )

    def _optional(self, cells: list[str], name: str) -> str:
        """The cell of a column, empty if that is not there."""
        return cells[self._columns[name]] if name in self._columns else ""


def _contexts_of(table: TableColumns) -> ContextReader:
    if table.framed:
        return FrameCells([name.removeprefix(FRAME_PREFIX) for name in table.features], typed=False)
    return FeatureCells(table.features) if table.features else ScalarCells()


def _as_pairs(cell: str) -> list[tuple[ActionCell, float]]:
    """The distribution that a cell such as ``3:0.25 7:0.75`` or ``red%20hats:1.0`` holds."""
    pairs = []
    for entry in cell.split():
        action, colon, propensity = entry.partition(":")
        if not colon:
            raise FileFormatError(
                "distribution must be actions with propensities such as 3:0.25 7:0.75, got "
                f"{entry!r}"
            )
        pairs.append(
            (
                ActionCell(unquote(action)),
                finite("a propensity of the distribution", propensity),
            )
        )
    return pairs


def _as_cell(pairs: list[tuple[Any, float]]) -> str:
    return " ".join(f"{_quoted(action)}:{w!r}" for action, w in pairs)


def _quoted(action: Any) -> str:
    return quote(str(action), safe="")


def _text(batches: Iterable[Rounds], layout: Layout, _n_actions: int) -> Iterator[str]:
    m = layout.slate_size if layout.slate_size > 1 else 0
    yield csv_text(
        [
            [
                *["id"] * layout.has_ids,
                *["time"] * layout.has_times,
                *_context_names(layout),
                *(name for kind in ITEMS for name in item_names(kind, m)),
                *[_DISTRIBUTION] * layout.has_distributions,
                *[AVAILABLE] * layout.has_available,
                *[UNIT] * layout.has_units,
                *(name for outcome in layout.outcomes for name in outcome_columns(outcome, m)),
            ]
        ]
    )
    for rounds in batches:
        parts: list[list[list[Any]]] = []
        if rounds.ids is not None:
            parts.append([[name] for name in rounds.ids])
        if rounds.times is not None:
            parts.append([["" if np.isnan(time) else time] for time in rounds.times.tolist()])
        parts.append(_context_cells(rounds))
        parts += [rounds.plain_actions(), rounds.propensities.tolist(), rounds.plain_rewards()]
        if rounds.distributions is not None:
            parts.append([[_as_cell(pairs or [])] for pairs in rounds.plain_distributions()])
        if layout.has_available:
            lists = rounds.plain_available()
            parts.append([[" ".join(_quoted(action) for action in one or ())] for one in lists])
        if rounds.beside.units is not None:
            parts.append([[unit] for unit in rounds.beside.units])
        outcomes = rounds.plain_outcomes()
        parts += [outcomes[name] for name in layout.outcomes]
        yield csv_text([list(chain(*row)) for row in zip(*parts, strict=True)])


def _context_names(layout: Layout) -> list[str]:
    if layout.has_frames:
        return [f"{FRAME_PREFIX}{name}" for name in layout.context_dtype.names]
    return [f"x{i}" for i in range(layout.width)] if layout.context_shape else ["context"]


def _context_cells(rounds: Rounds) -> list[list[Any]]:
    if isinstance(rounds.contexts, ContextFrame):
        check_held(rounds.contexts, typed=False)
    contexts = rounds.plain_contexts(flat=True)
    if rounds.layout.has_frames:
        return [[written(value) for value in row.values()] for row in contexts]
    return contexts if rounds.layout.context_shape else [[context] for context in contexts]


def _not_held(layout: Layout) -> tuple[str, ...]:
    refuse_text_rows(layout, "csv")
    refuse_sparse(layout, "csv")
    notes = []
    unsure = seem_numbers(layout.action_names)
    if unsure:
        notes.append(
            f"that names of actions such as {unsure[0]!r} are no numbers: name them when the file "
            "is read (--actions, or actions=[...] of LogFile)"
        )
    if layout.has_frames:
        notes += held_of_frames(layout, typed=False)
    elif len(layout.context_shape) > 1:
        notes.append(f"the shape of the contexts: they are rows of {layout.width} features")
    return tuple(notes)


FORMAT = text_format(
    name="csv",
    title="CSV with columns of our own",
    suffixes=(".csv",),
    reader=lambda rules: (_OwnReader if rules.columns is None else _MappedReader)(rules),
    text=_text,
    tabular=True,
    not_held=_not_held,
)
