"""Parquet: our own schema, with or without its header, and plain columns like those of CSV."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError
from policysieve.formats.checking import check_rounds
from policysieve.formats.format import BATCH, BadRow, Format, Report, Rules, raising
from policysieve.formats.list_parquet import describe_lists, has_lists, with_fixed_lists
from policysieve.formats.plain_parquet import PlainColumns
from policysieve.formats.rounds import Layout, Rounds
from policysieve.log_file import (
    NEEDED,
    Columns,
    LogSchema,
    as_columns,
    as_table,
    is_log,
    parquet_schema,
    read_parts,
    read_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT"]


class _OwnColumns:
    """Columns of our own schema; lists have a fixed size.

    Attributes
    ----------
    names, needed : list of str
        Columns that are read, and those of them that have no nulls.
    layout : Layout
    """

    def __init__(self, described: LogSchema, contexts_only: bool) -> None:
        self._schema = described
        self._slate_size = 0 if contexts_only else described.slate_size
        self.needed = list(NEEDED)
        self.names = [*NEEDED, "rewards"]
        self.names += ["id"] * described.has_ids + ["time"] * described.has_times
        self.layout = Layout(
            described.context_shape,
            described.context_dtype,
            self._slate_size,
            described.has_ids,
            described.has_times,
        )

    def columns(self, batch: "pa.RecordBatch") -> Columns:
        """Rows without nulls in the needed columns."""
        columns, m = as_columns(batch, self._schema), self._slate_size
        return replace(
            columns,
            actions=columns.actions[:, :m],
            propensities=columns.propensities[:, :m],
            rewards=columns.rewards[:, :m],
        )


class _ParquetSource:
    def __init__(self, path: Path, rules: Rules, report: Report | None) -> None:
        self._path, self._rules = path, rules
        self._report = report or raising(path, "row")
        schema, self.n_rounds = parquet_schema(path)
        if not self.n_rounds:
            raise FileFormatError(f"{path} holds no rounds")
        self._columns: _OwnColumns | PlainColumns
        self._without_header: LogSchema | None = None
        if is_log(schema):
            self._columns = _OwnColumns(read_schema(path), rules.contexts_only)
        elif has_lists(schema):
            self._without_header = describe_lists(path, schema, self.n_rounds)
            self._columns = _OwnColumns(self._without_header, rules.contexts_only)
        else:
            self._columns = PlainColumns(path, schema, rules.contexts_only)
        self.layout = self._columns.layout

    def n_actions(self) -> int:
        """Largest action number, plus one."""
        return max(int(rounds.actions.max(initial=-1)) for rounds, _ in self._checked()) + 1

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        for rounds, bad in self._checked():
            for row in bad:
                self._report(row)
            if len(rounds):
                yield rounds

    def _checked(self) -> Iterator[tuple[Rounds, list[BadRow]]]:
        """Rounds that keep to the rules, and the rows that do not, in order."""
        first = 1
        for batch, nulls, raw in read_parts(self._path, self._columns.names, BATCH, self._part):
            kept = np.flatnonzero(nulls == "")
            rounds, reasons = check_rounds(raw, self._rules)
            why = {i: f"column {nulls[i]} is null" for i in np.flatnonzero(nulls != "").tolist()}
            why.update({int(kept[i]): reason for i, reason in reasons.items()})
            yield rounds, [BadRow(first + i, why[i], _as_text(batch, i)) for i in sorted(why)]
            first += batch.num_rows

    def _part(
        self, batch: "pa.RecordBatch"
    ) -> "tuple[pa.RecordBatch, npt.NDArray[np.object_], Rounds]":
        """Rows, the first column with a null of each or "", and the rounds of those without."""
        if self._without_header is not None:
            batch = with_fixed_lists(batch, self._without_header)
        nulls = np.full(batch.num_rows, "", dtype=object)
        for name in reversed(self._columns.needed):
            nulls[_has_null(batch[name])] = name
        whole = batch.filter(nulls == "") if nulls.any() else batch
        return batch, nulls, Rounds(**vars(self._columns.columns(whole)))


def _has_null(column: Any) -> npt.NDArray[np.bool_]:
    """Rows that are null, or lists with a null."""
    null = np.asarray(column.is_null(nan_is_null=False))
    if hasattr(column.type, "list_size") and column.flatten().null_count:
        lists = np.asarray(column.flatten().is_null()).reshape(-1, column.type.list_size)
        null[~null] = lists.any(axis=1)
    return null


def _as_text(batch: "pa.RecordBatch", row: int) -> str:
    """A row in words of JSON."""
    return json.dumps(batch.slice(row, 1).to_pylist()[0], default=str)


def _write(
    path: Path, layout: Layout, batches: Iterator[Rounds], n_actions: int, compressed: bool
) -> None:
    import pyarrow.parquet as pq

    writer = None
    try:
        for rounds in batches:
            table = as_table(rounds)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    open=_ParquetSource,
    write=_write,
    not_held=lambda layout: (),
)
