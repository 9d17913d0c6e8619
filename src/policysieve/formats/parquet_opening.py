"""Parquet files while they are open: what goes wrong, and texts as they are packed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from policysieve.archives import DENSEST
from policysieve.errors import FileFormatError
from policysieve.formats.actions import MANY_NAMES
from policysieve.formats.arrow_values import in_one_piece, is_list, kind_of_type
from policysieve.formats.rules import too_large
from policysieve.stored import arrow_source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["names_in", "opened", "packed_batches"]


@contextmanager
def opened(path: Path, texts: list[str] | None = None) -> "Iterator[pa.parquet.ParquetFile]":
    """A Parquet file; what goes wrong while it is read is a `FileFormatError`.

    Columns of `texts` are read as they are packed, each text once.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with (
            arrow_source(path) as source,
            pq.ParquetFile(source, read_dictionary=texts, page_checksum_verification=True) as file,
        ):
            yield file
    except FileFormatError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{path} is not a readable log ({error}); it may be truncated"
        ) from error


def packed_batches(
    path: Path, columns: Sequence[str], limit: int, *, rows: int = 1 << 16
) -> "Iterator[pa.RecordBatch]":
    """Columns of a Parquet file, or raise if they unpack to too much; each text is there once."""
    import pyarrow.parquet as pq

    texts: dict[str, None] = {}
    with arrow_source(path) as source:
        metadata = pq.read_metadata(source)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema.partition(".")[0] in columns or chunk.path_in_schema in columns:
                size = int(chunk.total_uncompressed_size)
                if size > max(limit, DENSEST * int(chunk.total_compressed_size)):
                    raise too_large(path, "a row group is too large", size, limit)
                if chunk.physical_type == "BYTE_ARRAY":
                    texts[chunk.path_in_schema] = None
    with opened(path, list(texts)) as file:
        yield from file.iter_batches(batch_size=rows, columns=list(columns))


def names_in(
    path: Path, schema: "pa.Schema", actions: Sequence[str], limit: int
) -> tuple[str, ...]:
    """The different names in columns of actions, and in distributions, in alphabetical order."""
    columns = list(actions)
    for field in schema:
        listed = field.name == "distribution_actions" and is_list(field.type)
        if listed and kind_of_type(field.type.value_type) == "text":
            columns.append(field.name)
    found: set[str | None] = set()
    size = 0
    for batch in packed_batches(path, columns, limit):
        for name in columns:
            values = batch[name].flatten() if is_list(batch[name].type) else batch[name]
            new = set(in_one_piece(values.unique()).to_pylist()) - found
            size += sum(map(len, filter(None, new)))
            found |= new
            if size > limit:
                raise too_large(path, f"the names in column {name} are too long", size, limit)
            if len(found) > MANY_NAMES:
                raise FileFormatError(
                    f"{path}: actions must have at most {MANY_NAMES:,} different names, column "
                    f"{name} has more; is it a column of ids?"
                )
    return tuple(sorted(name for name in found if name))
