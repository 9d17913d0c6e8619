"""One Parquet file of a log: its layout, and its rounds in parts that fit into memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from policysieve.archives import DENSEST
from policysieve.errors import FileFormatError
from policysieve.formats.format import BATCH
from policysieve.formats.parquet_columns import ParquetColumns, Part, unpacked_size
from policysieve.formats.parquet_mapped import MappedColumns
from policysieve.formats.parquet_opening import opened
from policysieve.formats.parquet_own import FrameColumns, ListColumns, OwnColumns, has_lists, is_log
from policysieve.formats.parquet_plain import PlainColumns
from policysieve.formats.rules import Rules, nothing_read, too_large
from policysieve.formats.table import FRAME_PREFIX, check_different
from policysieve.frames import FrameType, levels_of, united
from policysieve.stored import arrow_source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["LogInParquet"]

_VALUES = 1 << 22  # of all columns, in a batch of rounds
_NUMBER = 8  # bytes


class LogInParquet:
    """One file: its layout, and its rounds as they are."""

    def __init__(self, path: Path, rules: Rules) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self._limit = path, rules.max_bytes
        try:
            with arrow_source(path) as source, pq.ParquetFile(source) as file:
                schema, metadata = file.schema_arrow, file.metadata
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileFormatError(
                f"{path} is not a readable Parquet file; if it is of another format, name that "
                f"(--from, or format=), or let its suffix tell; else it may be truncated ({error})"
            ) from error
        self.n_rounds = metadata.num_rows
        if not is_log(schema) and not self.n_rounds:
            raise nothing_read([path])
        self._columns = _columns_of(path, schema, rules)
        self._names = frozenset(self._columns.names)
        self.layout = self._columns.layout
        self.numbered = self._columns.numbered
        self.n_rounds //= self._columns.rows_per_round
        self.by_round = self._columns.by_round
        groups = (metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        self._ends = np.cumsum([0, *groups])[1:]  # of the row groups
        self._batch = min(BATCH, self._columns.beside.most_rows(self.layout.action_names))
        self._packed: set[str] = set()  # columns whose texts are read as they are packed
        try:
            for group in map(metadata.row_group, range(metadata.num_row_groups)):
                self._measure(group)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path} has a column without a name ({error})") from error
        if self.layout.has_frames and not is_log(schema):  # a header says what categories there are
            prefix = FRAME_PREFIX if rules.columns is None else ""
            dtype = self._with_levels(self.layout.context_dtype, prefix)
            self.layout = replace(self.layout, context_dtype=dtype)

    def _with_levels(self, dtype: FrameType, prefix: str) -> FrameType:
        """A type of rows with the categories that are in the file, in their order."""
        import pyarrow as pa

        found = dict(dtype.levels)
        columns = {name: f"{prefix}{name}" for name in found}
        if not columns:
            return dtype
        with opened(self.path, sorted(self._packed)) as file:
            for rows in self._batches(file, list(columns.values())):
                for name, column in columns.items():
                    new = levels_of(pa.chunked_array([rows[column]])).cast(found[name].type)
                    found[name] = united(name, found[name], new, ordered=False)
        return FrameType(dtype.schema, found)

    def parts(self, start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """What the rows hold, in order; of all of them, or of some where each is a round."""
        with opened(self.path, sorted(self._packed)) as file:
            if start == 0 and stop in (None, self.n_rounds):
                rows = self._batches(file, self._columns.names)
            else:
                rows = self._rows_between(file, start, self.n_rounds if stop is None else stop)
            yield from self._columns.parts(rows)

    def starts(self, most: int) -> list[int]:
        """Where parts of about `most` rounds begin, each with a batch of its own.

        Who reads from the middle of a row group unpacks its beginning, too. So where groups are no
        longer than that, parts begin with them.
        """
        step, found = max(1, most // BATCH) * self._batch, [0]
        for begin, end in zip([0, *self._ends[:-1]], self._ends, strict=True):
            batch = -(-int(begin) // self._batch) * self._batch  # the first that begins here
            found += [start for start in range(batch, int(end), step) if start > found[-1]]
        return found if self.n_rounds else []

    def _rows_between(
        self, file: "pq.ParquetFile", start: int, stop: int
    ) -> "Iterator[pa.RecordBatch]":
        """Some rows, cut where a loop over all of them cuts; row groups of others are not read."""
        import pyarrow as pa

        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
        at, held = int(self._ends[first - 1]) if first else 0, []
        groups = range(int(first), int(last) + 1)
        for rows in self._batches(file, self._columns.names, list(groups)):
            begin, end = at, min(stop, at + rows.num_rows)
            while begin < end:
                cut = min(end, (begin // self._batch + 1) * self._batch)
                if cut > start:
                    held.append(rows.slice(max(begin, start) - at, cut - max(begin, start)))
                if held and (cut % self._batch == 0 or cut == stop):
                    yield held[0] if len(held) == 1 else pa.concat_batches(held)
                    held = []
                begin = cut
            at += rows.num_rows
            if at >= stop:
                return

    def _batches(
        self, file: "pq.ParquetFile", columns: list[str], groups: list[int] | None = None
    ) -> "Iterator[pa.RecordBatch]":
        """Rows that are not too long."""
        for rows in file.iter_batches(batch_size=self._batch, columns=columns, row_groups=groups):
            self._allow("rounds read at once are too long", unpacked_size(rows))
            yield rows

    def _measure(self, group: "pq.RowGroupMetaData") -> None:
        """Read fewer rounds at once if they are long, and raise if even one is too long.

        By what the file says of itself, before anything of it is unpacked. Where lists may be of
        any length, one round may have all values of its row group. A text that is packed once for
        many rounds may be as long as all of its column.
        """
        columns = [group.column(i) for i in range(group.num_columns)]
        columns = [c for c in columns if self._column_of(c.path_in_schema) is not None]
        on_disk = sum(int(column.total_compressed_size) for column in columns)
        values = max(1, sum(int(column.num_values) for column in columns))
        rounds = max(1, int(group.num_rows))
        self._allow("a round is too long", _NUMBER * (values // rounds))
        self._batch = max(1, min(self._batch, _VALUES * rounds // values))
        full = sum(int(column.total_uncompressed_size) for column in columns)
        if self._columns.any_length:
            full = max(full, _NUMBER * values)
        if full > DENSEST * on_disk:
            self._allow("a row group is too large", full)
        for column in columns:
            name, longest = column.path_in_schema, max(1, int(column.total_uncompressed_size))
            if name in self._columns.texts and longest * BATCH > self._limit:
                self._packed.add(name)
            if self._column_of(name) in self._columns.text_lists and column.has_dictionary_page:
                self._batch = max(1, min(self._batch, self._limit // longest))

    def _column_of(self, path: str) -> str | None:
        """The column that values at some path of the file belong to; None if it is not read."""
        while path not in self._names:  # of lists, paths go on behind a dot
            path, dot, _ = path.rpartition(".")
            if not dot:
                return None
        return path

    def _allow(self, what: str, size: int) -> None:
        if size > self._limit:
            raise too_large(self.path, what, size, self._limit)


def _columns_of(path: Path, schema: "pa.Schema", rules: Rules) -> ParquetColumns:
    """The columns of a file that is not empty, by a map, by its header, or by their names."""
    if rules.columns is not None:
        return MappedColumns(path, schema, rules)
    check_different(path, schema.names, sorted(set(schema.names)))
    if is_log(schema):
        frame = any(name.startswith(FRAME_PREFIX) for name in schema.names)
        return (FrameColumns if frame else OwnColumns)(path, schema, rules)
    if has_lists(schema):
        return ListColumns(path, schema, rules)
    return PlainColumns(path, schema, rules)
