"""Parquet of others: columns that a map names, one row a round, or one a shown item."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policysieve.arrays import shown
from policysieve.errors import FileFormatError
from policysieve.formats.arrow_rows import ArrowRows
from policysieve.formats.mapped import MOST_ITEMS, REMEMBERED
from policysieve.formats.parquet_columns import ParquetColumns, Part, names_in, opened, unpacked
from policysieve.formats.rules import Rules
from policysieve.formats.table import check_mapped

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MappedColumns"]


class MappedColumns(ParquetColumns):
    """The columns that a map names; others are not read."""

    def __init__(self, path: Path, schema: "pa.Schema", rules: Rules) -> None:
        import pyarrow as pa

        assert rules.columns is not None
        columns = rules.columns
        self.names = columns.names(contexts_only=rules.contexts_only)
        check_mapped(path, schema.names, self.names)
        self._rows = ArrowRows(str(path), schema, columns, contexts_only=rules.contexts_only)
        self._names = rules.actions
        if self._rows.named and self._names is None and not rules.contexts_only:
            actions = pa.schema([schema.field(name) for name in columns.action])
            self._names = names_in(path, actions, columns.action)
        self._slate_size = columns.slate_size
        if columns.slate is not None and not rules.contexts_only:
            self._slate_size = self.rows_per_round = _first_slate(path, columns.slate)
        self.layout = self._rows.layout(self._slate_size, self._names)
        self._note_types(schema)

    def parts(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Part]:
        """Rounds in order; a slate that goes on in the next batch waits for it."""
        import pyarrow as pa

        held: Any = None
        ended: dict[Any, None] = {}  # slates of late
        for batch in batches:
            table = pa.Table.from_batches([unpacked(batch)])
            table = table if held is None else pa.concat_tables([held, table]).combine_chunks()
            part, used = self._part(table, last=False)
            self._check_new(part, ended)
            yield part
            held = table.slice(used)
            if held.num_rows > MOST_ITEMS:
                raise FileFormatError(_too_many(self._rows.columns.slate))
        if held is not None and held.num_rows:
            part = self._part(held, last=True)[0]
            self._check_new(part, ended)
            yield part

    def _check_new(self, part: Part, ended: dict[Any, None]) -> None:
        """Raise if slates of a part were there in one before it, and note them."""
        name = self._rows.columns.slate
        if name is None:
            return
        slates = part.rows[name].take(part.starts).to_pylist()
        again = [slate for slate in slates if slate is not None and slate in ended]
        if again:
            raise FileFormatError(
                f"rows of one slate must follow each other, {shown(again[0])} comes twice; sort "
                f"them by {name}"
            )
        ended.update(dict.fromkeys(slates))
        for slate in list(ended)[: max(0, len(ended) - REMEMBERED)]:
            del ended[slate]

    def _part(self, table: "pa.Table", *, last: bool) -> tuple[Part, int]:
        found, used = self._rows.read(table, self._slate_size, self._names, last=last)
        return Part(table.slice(0, used), found.starts, found.why, found.rounds), used


def _first_slate(path: Path, column: str) -> int:
    """How many rows of a file are of its first slate."""
    count, first = 0, None
    with opened(path) as file:
        for batch in file.iter_batches(batch_size=1024, columns=[column]):
            for slate in batch[column].to_pylist():
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
