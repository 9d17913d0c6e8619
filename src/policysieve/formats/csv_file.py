"""CSV with columns of our own."""

import csv
import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import finite, seconds, whole
from policysieve.formats.contexts import FeatureCells, ScalarCells, plain_contexts
from policysieve.formats.files import write_text
from policysieve.formats.format import Format, Report, Rules, refuse_text_rows
from policysieve.formats.rounds import Layout, Rounds
from policysieve.formats.table import ITEMS, item_names, understand
from policysieve.formats.text_source import ContextReader, Record, TextRow, TextSource

__all__ = ["FORMAT", "as_cells", "csv_text", "read_header", "table_records"]

_SEPARATORS = {";": "semicolons", "\t": "tabs"}  # which other programs write


def table_records(lines: Iterator[str]) -> Iterator[Record]:
    """Rows of a CSV file as records whose parts are cells, or the `csv.Error` of a row."""
    taken: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    reader = csv.reader(noted(), strict=True)
    while True:
        first = reader.line_num + 1
        taken.clear()
        cells: Any
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = error
        if cells:
            yield Record(first, "".join(taken).rstrip("\r\n"), cells)


def read_header(path: Path, records: Iterator[Record]) -> list[str]:
    """Names of the columns, all different."""
    first = next(records, None)
    if first is None:
        raise FileFormatError(f"{path} is empty; its first line must name the columns")
    if isinstance(first.parts, csv.Error):
        raise FileFormatError(f"{path} must start with names of columns ({first.parts})")
    names = [cell.strip() for cell in first.parts]
    other = next((sign for sign in _SEPARATORS if sign in names[0]), None)
    if len(names) == 1 and other is not None:
        raise FileFormatError(
            f"{path} must have commas between its columns, its first line has "
            f"{_SEPARATORS[other]}; save it with commas, and with a point in numbers"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileFormatError(f"{path} must have different columns, {twice[0]!r} is there twice")
    return names


def as_cells(record: Record, width: int) -> list[str]:
    """Cells of a row, as many as there are columns."""
    if isinstance(record.parts, csv.Error):
        raise FileFormatError(f"the row is not CSV ({record.parts})")
    if len(record.parts) != width:
        hint = (
            "; a value with a comma must be in quotes, and numbers have a point, not a comma"
            if len(record.parts) > width
            else ""
        )
        raise FileFormatError(f"{width} columns are needed, got {len(record.parts)}{hint}")
    cells: list[str] = record.parts
    return cells


def csv_text(rows: list[list[Any]]) -> str:
    """Rows as CSV; floats in full precision."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


class _CsvReader:
    contexts: ContextReader

    def __init__(self, path: Path, contexts_only: bool) -> None:
        self._path, self._contexts_only = path, contexts_only
        self._columns: dict[str, int] = {}

    def records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Rows after the header."""
        records = table_records(lines)
        names = read_header(self._path, records)
        if not self._columns:
            self._understand(names)
        return records

    def _understand(self, names: list[str]) -> None:
        table = understand(self._path, names, contexts_only=self._contexts_only)
        self._columns = {name: index for index, name in enumerate(names)}
        self._features = [self._columns[name] for name in table.features]
        self._items = {kind: [self._columns[name] for name in table.items[kind]] for kind in ITEMS}
        self.contexts = FeatureCells(table.features) if table.features else ScalarCells()

    def row(self, record: Record) -> TextRow:
        """Understand one row."""
        cells = as_cells(record, len(self._columns))
        time = cells[self._columns["time"]] if "time" in self._columns else ""
        return TextRow(
            context=(
                [cells[i] for i in self._features]
                if self._features
                else cells[self._columns["context"]]
            ),
            actions=[whole("action", cells[i]) for i in self._items["action"]],
            propensities=[finite("propensity", cells[i]) for i in self._items["propensity"]],
            rewards=[
                finite("reward", cells[i]) if cells[i] else np.nan for i in self._items["reward"]
            ],
            id=cells[self._columns["id"]] if "id" in self._columns else "",
            time=seconds("time", time) if time else np.nan,
        )


def _write(
    path: Path, layout: Layout, batches: Iterator[Rounds], n_actions: int, compressed: bool
) -> None:
    write_text(path, _pieces(layout, batches), compressed=compressed)


def _pieces(layout: Layout, batches: Iterator[Rounds]) -> Iterator[str]:
    m = layout.slate_size if layout.slate_size > 1 else 0
    yield csv_text(
        [
            [
                *["id"] * layout.has_ids,
                *["time"] * layout.has_times,
                *([f"x{i}" for i in range(layout.width)] if layout.context_shape else ["context"]),
                *(name for kind in ITEMS for name in item_names(kind, m)),
            ]
        ]
    )
    for rounds in batches:
        parts: list[list[list[Any]]] = []
        if rounds.ids is not None:
            parts.append([[name] for name in rounds.ids])
        if rounds.times is not None:
            parts.append([["" if np.isnan(time) else time] for time in rounds.times.tolist()])
        contexts = plain_contexts(rounds, flat=True)
        parts.append(contexts if layout.context_shape else [[context] for context in contexts])
        parts += [rounds.actions.tolist(), rounds.propensities.tolist(), rounds.plain_rewards()]
        yield csv_text([list(chain(*row)) for row in zip(*parts, strict=True)])


def _not_held(layout: Layout) -> tuple[str, ...]:
    refuse_text_rows(layout, "csv")
    if len(layout.context_shape) > 1:
        return (f"the shape of the contexts: they are rows of {layout.width} features",)
    return ()


def _open(path: Path, rules: Rules, report: Report | None) -> TextSource:
    return TextSource(path, _CsvReader(path, rules.contexts_only), rules, report)


FORMAT = Format(
    name="csv",
    title="CSV with columns of our own",
    suffixes=(".csv",),
    open=_open,
    write=_write,
    not_held=_not_held,
)
