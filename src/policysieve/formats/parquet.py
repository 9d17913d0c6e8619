"""Parquet: our own schema, with or without its header, and plain columns like those of CSV."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.formats.arrow_rows import row_of, unknown
from policysieve.formats.ended_slates import EndedSlates
from policysieve.formats.format import Format
from policysieve.formats.parquet_columns import Part
from policysieve.formats.parquet_file import LogInParquet
from policysieve.formats.parquet_together import common_layout, common_range, in_layout
from policysieve.formats.parquet_writing import as_table
from policysieve.formats.rules import BadRow, Report, Rules, check_rounds, raising
from policysieve.log import Layout, Rounds
from policysieve.log.named import Names, renumbering
from policysieve.scaling import usual_range

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT", "is_parquet"]

_GROUP = 1 << 17  # rounds of a row group, the least that is read of a file


def is_parquet(path: Path) -> bool:
    """Whether a file begins as every Parquet file does."""
    with path.open("rb") as file:
        return bool(file.read(4) == b"PAR1")


class _ParquetSource:
    def __init__(self, paths: Sequence[Path], rules: Rules, report: Report | None) -> None:
        self._report = report or raising("row")
        self._files = [LogInParquet(path, rules) for path in paths]
        self._rules = replace(rules, reward_range=common_range(self._files, rules))
        self.n_rounds = sum(file.n_rounds for file in self._files)
        self.layout = replace(
            common_layout(self._files, rules.actions),
            reward_range=usual_range(self._rules.reward_range),
        )
        self.numbered = all(file.numbered for file in self._files)
        self.cells: frozenset[str] = frozenset()  # columns have types

    def n_actions(self) -> int:
        """Largest action number, shown or in a distribution, plus one."""
        if self.layout.action_names is not None:
            return len(self.layout.action_names)
        return max((rounds.n_actions for rounds, _ in self._checked()), default=0)

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        return self.between(0, self.n_rounds)

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts of about `most` rounds begin, none in two files, and in which file."""
        found, before = [], 0
        for file in self._files:
            if not file.by_round:
                raise InvalidArgumentError(
                    f"{file.path} has a row for each item of a slate, and cannot be read in parts; "
                    "convert it first: policysieve convert writes one row for each round"
                )
            found += [(before + start, str(file.path)) for start in file.starts(most)]
            before += file.n_rounds
        return found

    def between(self, start: int, stop: int) -> Iterator[Rounds]:
        """The rounds from one on, up to another, in the same batches as all of them."""
        for rounds, bad in self._checked(start, stop):
            for row in bad:
                self._report(row)
            if len(rounds):
                yield in_layout(rounds, self.layout)

    def _checked(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Rounds, list[BadRow]]]:
        """Rounds that keep to the rules, and the rows that do not, in order."""
        ended, before, stop = EndedSlates(), 0, self.n_rounds if stop is None else stop
        for file in self._files:
            begin, end = max(0, start - before), min(file.n_rounds, stop - before)
            before += file.n_rounds
            if begin >= end and (file.n_rounds or start):
                continue
            name, first = str(file.path), 1 + begin
            for whole in file.parts(begin, end):
                part = whole.without(_again(whole, ended, name, first))
                bad = [(part.wrong[i], part.why[i]) for i in np.flatnonzero(part.why)]
                raw, unnamed = _numbered(part.rounds, self.layout.action_names)
                bad += [(part.items[i, 0], reason) for i, reason in unnamed.items()]
                named = part.items
                if unnamed:
                    named = named[[i not in unnamed for i in range(len(named))]]
                rounds, faults = check_rounds(raw, self._rules)
                bad += [(row_of(named, i, fault), fault.reason) for i, fault in faults.items()]
                yield (
                    rounds,
                    [
                        BadRow(name, first + int(row), why, _as_text(part.rows, int(row)))
                        for row, why in sorted(bad)
                    ],
                )
                first += part.rows.num_rows


def _again(part: Part, ended: EndedSlates, file: str, first: int) -> dict[int, str]:
    """Why rounds have slates that were there before; the part begins with a row of the file."""
    found: dict[int, str] = {}
    for i, slate in enumerate(part.slates):
        fault = "" if slate is None else ended.fault(slate, f"{file}, row {first + part.wrong[i]}")
        if fault and part.why[i] == "":
            found[i] = fault
    return found


def _numbered(rounds: Rounds, names: Names) -> tuple[Rounds, dict[int, str]]:
    """Rounds with the numbers that actions have in the whole log, and why others cannot have any.

    The others are left out.
    """
    mine = rounds.action_names
    if mine is None or names is None:
        return rounds if names is None else replace(rounds, action_names=names), {}
    reasons: dict[int, str] = {}
    numbers = np.append(renumbering(mine, names), [-1])  # the last for what has no name in the file
    lists = rounds.distributions
    shown = np.where((rounds.actions >= 0) & (rounds.actions < len(mine)), rounds.actions, -1)
    rows, actions = np.repeat(np.arange(len(rounds)), shown.shape[1]), shown.reshape(-1)
    if lists is not None:
        inside = (lists.actions >= 0) & (lists.actions < len(mine))
        rows = np.append(rows, lists.rows)
        actions = np.append(actions, np.where(inside, lists.actions, -1))
    for row, action in _not_known(rounds, numbers[:-1]):
        reasons[row] = unknown("an action that is available", mine[action], names)
    for at in np.flatnonzero(numbers[actions] < 0).tolist():
        known = actions[at] >= 0
        reasons.setdefault(
            int(rows[at]),
            unknown("an action", mine[actions[at]], names)
            if known
            else f"an action must be one of the {len(mine):,} that the file names",
        )
    good = np.ones(len(rounds), dtype=np.bool_)
    good[list(reasons)] = False
    kept = rounds.where(good) if reasons else rounds
    return kept.with_action_names(names), reasons


def _not_known(rounds: Rounds, numbers: npt.NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """Rows that have an action available which has no number, and the first such action."""
    available, lacking = rounds.beside.available, np.flatnonzero(numbers < 0)
    if available is None or not len(lacking):
        return
    for row, actions in enumerate(available.lists()):
        found = np.intersect1d(actions, lacking)
        if len(found):
            yield row, int(found[0])


def _as_text(batch: "pa.RecordBatch | pa.Table", row: int) -> str:
    """A row in words of JSON."""
    return json.dumps(batch.slice(row, 1).to_pylist()[0], default=str)


def _write(
    path: Path, batches: Iterable[Rounds], _layout: Layout, _n_actions: int, _compressed: bool
) -> None:
    import pyarrow.parquet as pq

    writer = None
    try:
        for rounds in batches:
            table = as_table(rounds)
            writer = writer or pq.ParquetWriter(path, table.schema, write_page_checksum=True)
            writer.write_table(table, row_group_size=_GROUP)
    finally:
        if writer is not None:
            writer.close()


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    open=_ParquetSource,
    write=_write,
    tabular=True,
    not_held=lambda layout: (),
)
