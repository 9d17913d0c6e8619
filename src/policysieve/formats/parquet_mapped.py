"""Parquet of others: columns that a map names, one row a round, or one a shown item."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policysieve.errors import FileFormatError
from policysieve.formats.arrow_rows import ArrowRows
from policysieve.formats.mapped import MOST_ITEMS
from policysieve.formats.parquet_columns import ParquetColumns, Part, unpacked
from policysieve.formats.parquet_opening import names_in, packed_batches
from policysieve.formats.rules import Rules
from policysieve.formats.table import check_different, check_mapped

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MappedColumns"]


class MappedColumns(ParquetColumns):
    """The columns that a map names; others are not read."""

    def __init__(self, path: Path, schema: "pa.Schema", rules: Rules) -> None:
        import pyarrow as pa

        assert rules.columns is not None
        columns, self._path = rules.columns, path
        self.names = columns.names(contexts_only=rules.contexts_only)
        check_mapped(path, schema.names, self.names)
        check_different(path, schema.names, self.names)
        self._rows = ArrowRows(str(path), schema, columns, rules)
        self.beside = self._rows.beside
        self._names = rules.actions
        if self._rows.named and self._names is None:
            named = [*(() if rules.contexts_only else columns.action)]
            named += [columns.available] if columns.available else []
            actions = pa.schema([schema.field(name) for name in named])
            self._names = names_in(path, actions, named, rules.max_bytes)
        self._slate_size, self.by_round = columns.slate_size, columns.slate is None
        if columns.slate is not None and not rules.contexts_only:
            self._slate_size = self.rows_per_round = _first_slate(
                path, columns.slate, rules.max_bytes
            )
        self.layout = self._rows.layout(self._slate_size, self._names)
        self._note_types(schema)

    @property
    def numbered(self) -> bool:
        """Whether the file has numbers of actions; names that were declared are no names of it."""
        return not self._rows.named

    def parts(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Part]:
        """Rounds in order; a slate that goes on in the next batch waits for it."""
        import pyarrow as pa

        held: Any = None
        for batch in batches:
            table = pa.Table.from_batches([unpacked(batch)])
            table = table if held is None else pa.concat_tables([held, table]).combine_chunks()
            part, used = self._part(table, last=False)
            yield part
            held = table.slice(used)
            if held.num_rows > MOST_ITEMS:
                raise FileFormatError(f"{self._path}: {_too_many(self._rows.columns.slate)}")
        if held is not None and held.num_rows:
            yield self._part(held, last=True)[0]

    def _part(self, table: "pa.Table", *, last: bool) -> tuple[Part, int]:
        found, used = self._rows.read(table, self._slate_size, self._names, last=last)
        rows, slate = table.slice(0, used), self._rows.columns.slate
        slates = () if slate is None else rows[slate].take(found.starts).to_pylist()
        return Part(rows, found.wrong, found.why, found.items, found.rounds, slates), used


def _first_slate(path: Path, column: str, limit: int) -> int:
    """How many rows of a file are of its first slate."""
    count, first = 0, None
    for batch in packed_batches(path, [column], limit, rows=1024):
        for value in batch[column]:
            slate = value.as_py()
            if count and (slate != first or slate is None):
                return count
            count, first = count + 1, slate
        if count > MOST_ITEMS:
            raise FileFormatError(f"{path}: {_too_many(column)}")
    return count


def _too_many(column: str | None) -> str:
    return (
        f"a slate must have at most {MOST_ITEMS:,} rows, more than these have the same {column}; "
        "is 'slate' another column?"
    )
