"""Parquet with columns of our own names but without our header, as data frames write it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from policysieve.errors import FileFormatError
from policysieve.log_file import NEEDED, LogSchema, read_parts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["describe_lists", "has_lists", "with_fixed_lists"]

_ITEMS = {"actions": None, "propensities": "float64", "rewards": "float64"}  # None: as they are


def has_lists(schema: "pa.Schema") -> bool:
    """Whether the columns of a log are there, with lists of items."""
    return {*NEEDED, "rewards"} <= set(schema.names) and _is_list(schema.field("actions").type)


def describe_lists(path: Path, schema: "pa.Schema", n_rounds: int) -> LogSchema:
    """What our header would say: all lists are as long as those of the first row."""
    first = next(read_parts(path, ["context", "actions"], 1, lambda batch: batch))
    row = first.to_pylist()[0]
    if row["context"] in (None, []) or not row["actions"]:
        raise FileFormatError(f"{path}, row 1: context and actions must not be null or empty")
    listed = _is_list(schema.field("context").type)
    values = first["context"].flatten() if listed else first["context"]
    return LogSchema(
        context_shape=(len(values),) if listed else (),
        context_dtype=values.to_numpy(zero_copy_only=False).dtype,
        slate_size=len(row["actions"]),
        n_rounds=n_rounds,
        has_ids="id" in schema.names,
        has_times="time" in schema.names,
    )


def with_fixed_lists(batch: "pa.RecordBatch", schema: LogSchema) -> "pa.RecordBatch":
    """The same rows with lists of a fixed size, and a single reward as a list of one."""
    import pyarrow as pa

    columns: dict[str, Any] = {name: batch[name] for name in batch.schema.names}
    if schema.context_shape:
        columns["context"] = _fixed(columns["context"], schema.context_shape[0], None)
    for name, type in _ITEMS.items():
        columns[name] = _fixed(columns[name], schema.slate_size, type)
    return pa.RecordBatch.from_pydict(columns)


def _fixed(column: Any, size: int, values: str | None) -> Any:
    import pyarrow as pa

    if not _is_list(column.type) and size == 1 and values:
        return pa.FixedSizeListArray.from_arrays(column.cast(values), 1)
    inner = pa.type_for_alias(values) if values else column.type.value_type
    return column.cast(pa.list_(inner, size))


def _is_list(type: "pa.DataType") -> bool:
    from pyarrow import types

    return bool(types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type))
