"""Rows of tables that others have written: cells by the columns that a map names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import FileFormatError
from policysieve.formats.actions import ActionCell, available_in
from policysieve.formats.cells import earned, finite, seconds, whole
from policysieve.formats.json_values import (
    action_in,
    actions_in,
    number_in,
    optional_text,
    optional_time,
    reward_in,
)
from policysieve.formats.lines import RawRow
from policysieve.formats.rules import Rules
from policysieve.formats.text import TextRow
from policysieve.log.mapping import ColumnMap

__all__ = ["JSON_CELLS", "MOST_ITEMS", "TEXT_CELLS", "Cells", "MappedRows", "slates"]

MOST_ITEMS = 10_000  # rows of one slate


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What cells of a kind of file mean; each function takes the name of the column, too."""

    action: Callable[[str, Any], int | str]
    propensity: Callable[[str, Any], float]
    reward: Callable[[str, Any], float]
    position: Callable[[str, Any], int]
    text: Callable[[str, Any], str]
    time: Callable[[str, Any], float]
    available: Callable[[str, Any], Sequence[int | str]]


TEXT_CELLS = Cells(  # an empty one is missing
    action=lambda _name, cell: ActionCell(cell),
    propensity=finite,
    reward=lambda name, cell: earned(name, cell) if cell else np.nan,
    position=whole,
    text=lambda _name, cell: str(cell),
    time=lambda name, cell: seconds(name, cell) if cell else np.nan,
    available=available_in,
)
JSON_CELLS = Cells(  # null is missing
    action=action_in,
    propensity=number_in,
    reward=reward_in,
    position=lambda name, value: int(number_in(name, value, int)),
    text=optional_text,
    time=optional_time,
    available=actions_in,
)


class MappedRows:
    """Rounds out of rows of cells, one row each, or several that belong to one slate.

    Parameters
    ----------
    rules : Rules
        With a map of columns.
    cells : Cells
        What cells mean.
    """

    def __init__(self, rules: Rules, cells: Cells) -> None:
        assert rules.columns is not None
        self.columns: ColumnMap = rules.columns
        self.names = self.columns.names(contexts_only=rules.contexts_only)
        self._contexts_only = rules.contexts_only
        self._cells = cells

    def round(self, lines: Sequence[int], rows: Sequence[Mapping[str, Any]]) -> TextRow:
        """One round, of all rows of its slate, which are in these lines."""
        columns, cells, first = self.columns, self._cells, rows[0]
        self._check_one_context(lines, rows)
        name = columns.id or columns.slate
        row = TextRow(
            context=first[columns.context]
            if isinstance(columns.context, str)
            else [first[column] for column in columns.context],
            id="" if name is None else cells.text(name, first[name]),
            time=np.nan if columns.time is None else cells.time(columns.time, first[columns.time]),
            available=None
            if columns.available is None
            else cells.available(columns.available, first[columns.available]),
            unit=None if columns.unit is None else cells.text(columns.unit, first[columns.unit]),
        )
        if self._contexts_only:
            return row
        wanted = {
            "action": (cells.action, columns.action),
            "propensity": (cells.propensity, columns.propensity),
            "reward": (cells.reward, columns.reward),
            **{_of(outcome): (cells.reward, names) for outcome, names in columns.outcome.items()},
        }
        found: dict[str, list[Any]] = {key: [] for key in wanted}
        placed = self._in_position(lines, rows)
        for line, item in placed:
            for key, (read, names) in wanted.items():
                try:
                    found[key] += [read(column, item[column]) for column in names]
                except FileFormatError as error:
                    raise FileFormatError(f"{_where(lines, line)}{error}") from error
        return row._replace(
            actions=found["action"],
            propensities=found["propensity"],
            rewards=found["reward"],
            lines=[line for line, _ in placed],
            outcomes={outcome: found[_of(outcome)] for outcome in columns.outcome},
        )

    def _in_position(
        self, lines: Sequence[int], rows: Sequence[Mapping[str, Any]]
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """The rows of a slate in the order of their positions, or else in their own."""
        name = self.columns.position
        pairs = list(zip(lines, rows, strict=True))
        if name is None:
            return pairs
        places: dict[int, tuple[int, Mapping[str, Any]]] = {}
        for line, row in pairs:
            place = self._cells.position(name, row[name])
            if place in places:
                raise FileFormatError(
                    f"{name} must be different in a slate, got {place} in line {places[place][0]} "
                    f"and in line {line}"
                )
            places[place] = (line, row)
        return [places[place] for place in sorted(places)]

    def _check_one_context(self, lines: Sequence[int], rows: Sequence[Mapping[str, Any]]) -> None:
        for line, row in zip(lines[1:], rows[1:], strict=True):
            for name in self.columns.table:
                if row[name] != rows[0][name]:
                    raise FileFormatError(
                        f"the rows of one slate must have one context, {name} is "
                        f"{shown(rows[0][name])} in line {lines[0]} and {shown(row[name])} in line "
                        f"{line}"
                    )


def _of(outcome: str) -> str:
    """An outcome beside items, whose names it may have."""
    return f"outcome {outcome}"


def _where(lines: Sequence[int], line: int) -> str:
    return f"in line {line}, " if len(lines) > 1 else ""


def slates(
    path: Path, rows: Iterable[RawRow], slate_of: Callable[[RawRow], Any], longest: int
) -> Iterator[RawRow]:
    """Rows of a file that follow each other and are of one slate, as the parts of one row.

    A row whose slate cannot be read is one by itself, and so is one without a slate.
    """
    held: list[RawRow] = []
    current: Any = None
    size = 0
    for raw in rows:
        try:
            slate = slate_of(raw)
        except FileFormatError:
            slate = None
        if held and (slate is None or slate != current):
            yield _joined(held, current)
            held, size = [], 0
        current = slate
        held.append(raw)
        size += len(raw.text)
        if len(held) > MOST_ITEMS or size > longest:
            raise FileFormatError(
                f"{path}: a slate must have at most {MOST_ITEMS:,} rows, more than these have the "
                f"same slate {shown(current)} from line {held[0].line} on; is 'slate' another "
                "column?"
            )
    if held:
        yield _joined(held, current)


def _joined(rows: list[RawRow], slate: Any) -> RawRow:
    return RawRow(rows[0].line, "\n".join(raw.text for raw in rows), rows, slate)
