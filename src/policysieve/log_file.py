"""How rounds lie in a Parquet file: the schema, its version, and columns in and out of it."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "NEEDED",
    "Columns",
    "LogSchema",
    "as_columns",
    "as_table",
    "is_log",
    "parquet_schema",
    "read_columns",
    "read_parts",
    "read_schema",
]

NEEDED = ("context", "actions", "propensities")  # columns that have no nulls
_KEY = b"policysieve.log"
_VERSION = 1

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Columns:
    """Columns of some rounds: contexts (n, ...), the next three (n, m), ids and times (n,)."""

    contexts: npt.NDArray[Any]
    actions: npt.NDArray[Any]
    propensities: npt.NDArray[np.float64]
    rewards: npt.NDArray[np.float64]
    ids: npt.NDArray[np.object_] | None = None
    times: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True)
class LogSchema:
    """What the file says about itself.

    Attributes
    ----------
    context_shape : tuple of int
        Shape of one context.
    context_dtype : numpy dtype
        ``object`` for strings.
    slate_size : int
        Number of items of each round.
    n_rounds : int
        Number of rows.
    has_ids, has_times : bool
        Whether the optional columns ``id`` and ``time`` are there.
    """

    context_shape: tuple[int, ...]
    context_dtype: np.dtype[Any]
    slate_size: int
    n_rounds: int
    has_ids: bool
    has_times: bool


def as_table(columns: Columns) -> "pa.Table":
    """An Arrow table of some rounds, with the header in its schema's metadata.

    A missing reward (NaN), an empty id and a time that is NaN become nulls.
    """
    import pyarrow as pa

    contexts, m = columns.contexts, columns.actions.shape[1]
    flat = contexts.reshape(-1)
    values = pa.array(flat.tolist(), type=pa.string()) if flat.dtype == object else pa.array(flat)
    if contexts.ndim > 1:
        values = pa.FixedSizeListArray.from_arrays(values, int(np.prod(contexts.shape[1:])))
    table: dict[str, Any] = {}
    if columns.ids is not None:
        table["id"] = pa.array([name or None for name in columns.ids], type=pa.string())
    if columns.times is not None:
        table["time"] = pa.array(columns.times, from_pandas=True)
    table["context"] = values
    for name in ("actions", "propensities", "rewards"):
        items = pa.array(getattr(columns, name).reshape(-1), from_pandas=name == "rewards")
        table[name] = pa.FixedSizeListArray.from_arrays(items, m)
    header = {
        "version": _VERSION,
        "context_shape": contexts.shape[1:],
        "context_dtype": contexts.dtype.str,
        "slate_size": m,
    }
    return pa.table(table).replace_schema_metadata({_KEY: json.dumps(header)})


def parquet_schema(path: str | os.PathLike[str]) -> "tuple[pa.Schema, int]":
    """Columns and number of rows of a Parquet file, whatever it holds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path), pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(
            f"{os.fspath(path)} is not a readable Parquet file; if it is of another format, "
            f"policysieve convert turns it into Parquet; else it may be truncated ({error})"
        ) from error


def is_log(schema: "pa.Schema") -> bool:
    """Whether a Parquet file says that it is a log of ours."""
    return _KEY in (schema.metadata or {})


def read_schema(path: str | os.PathLike[str]) -> LogSchema:
    """Read what a file says about itself.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If it is not Parquet, is truncated, or is not a log of this version.
    """
    where = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"no log at {where}")
    schema, n_rounds = parquet_schema(path)
    if not is_log(schema):
        raise FileFormatError(
            f"{where} is Parquet, but not a PolicySieve log; make one with "
            "Log(contexts=, actions=, propensities=, rewards=).save(path), or with policysieve "
            "convert if it has the columns context, action, propensity and reward"
        )
    try:
        described = json.loads(schema.metadata[_KEY])
        if described["version"] != _VERSION:
            raise FileFormatError(
                f"{where} is a log of version {described['version']!r}, this release reads version "
                f"{_VERSION}"
            )
        return LogSchema(
            context_shape=tuple(_length(entry, 0) for entry in described["context_shape"]),
            context_dtype=np.dtype(str(described["context_dtype"])),
            slate_size=_length(described["slate_size"], 1),
            n_rounds=n_rounds,
            has_ids="id" in schema.names,
            has_times="time" in schema.names,
        )
    except FileFormatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{where} has a damaged header ({error}); write the log again with Log.save or "
            "policysieve convert"
        ) from error


def _length(value: Any, least: int) -> int:
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is not a size")
    return value


def read_columns(path: str | os.PathLike[str], schema: LogSchema, rows: int) -> Iterator[Columns]:
    """The rounds of a log in order, at most `rows` at a time, without ids and times.

    Nothing is checked but that the columns are there and that only rewards have nulls: the
    reverse of what `as_table` does.
    """

    def part(batch: "pa.RecordBatch") -> Columns:
        for name in NEEDED:
            _refuse_nulls(batch[name], name)
        return as_columns(batch, schema)

    return read_parts(path, [*NEEDED, "rewards"], rows, part)


def read_parts(
    path: str | os.PathLike[str],
    names: list[str],
    rows: int,
    part: "Callable[[pa.RecordBatch], _Part]",
) -> Iterator[_Part]:
    """What `part` makes of the named columns of a Parquet file, at most `rows` rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=names):
                yield part(batch)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise FileFormatError(
            f"{os.fspath(path)} is not a readable log ({error}); it may be truncated"
        ) from error


def as_columns(batch: "pa.RecordBatch", schema: LogSchema) -> Columns:
    """Rows of a log as columns; ids and times if they were read."""
    n, m, names = batch.num_rows, schema.slate_size, batch.schema.names
    return Columns(
        contexts=_of_kind(batch, "context", "biufO").reshape(n, *schema.context_shape),
        actions=_of_kind(batch, "actions", "iu").reshape(n, m),
        propensities=_of_kind(batch, "propensities", "biuf").reshape(n, m),
        rewards=_with_missing(batch["rewards"], n, m),
        ids=_values(batch["id"].fill_null("")) if "id" in names else None,
        times=_values(batch["time"].cast("float64")) if "time" in names else None,
    )


def _refuse_nulls(column: Any, name: str) -> None:
    nulls = column.null_count + (column.flatten().null_count if _is_list(column) else 0)
    if nulls:
        raise ValueError(f"column {name} has {nulls} nulls")


def _with_missing(column: Any, n: int, m: int) -> npt.NDArray[np.float64]:
    """Lists of m numbers, NaN where a list or a number is null."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    rewards = np.full((n, m), np.nan)
    rewards[present] = _values(column).reshape(-1, m)
    return rewards


def _values(column: Any) -> npt.NDArray[Any]:
    while _is_list(column):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _of_kind(batch: "pa.RecordBatch", name: str, kinds: str) -> npt.NDArray[Any]:
    """Values of a column that are strings, or of one of numpy's kinds of numbers."""
    values = _values(batch[name])
    strings = values.dtype == object and all(isinstance(entry, str) for entry in values)
    if values.dtype.kind not in kinds or (values.dtype == object and not strings):
        raise ValueError(f"column {name} must not hold {batch[name].type}")
    return values


def _is_list(column: Any) -> bool:
    return hasattr(column.type, "list_size")
