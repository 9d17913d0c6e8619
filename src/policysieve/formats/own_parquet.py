"""How rounds lie in our own Parquet files, with the header that says so or without it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError
from policysieve.log import Layout, Rounds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ListColumns", "OwnColumns", "as_table", "has_lists", "is_log", "opened"]

_KEY = b"policysieve.log"
_VERSION = 1
_NEEDED = ("context", "actions", "propensities")  # columns that have no nulls
_ITEMS = {"actions": None, "propensities": "float64", "rewards": "float64"}  # None: as they are


def as_table(rounds: Rounds) -> "pa.Table":
    """An Arrow table of some rounds, with the header in its schema's metadata.

    A missing reward (NaN), an empty id and a time that is NaN become nulls.
    """
    import pyarrow as pa

    contexts, m = rounds.contexts, rounds.actions.shape[1]
    flat = contexts.reshape(-1)
    values = pa.array(flat.tolist(), type=pa.string()) if flat.dtype == object else pa.array(flat)
    if contexts.ndim > 1:
        values = pa.FixedSizeListArray.from_arrays(values, int(np.prod(contexts.shape[1:])))
    table: dict[str, Any] = {}
    if rounds.ids is not None:
        table["id"] = pa.array([name or None for name in rounds.ids], type=pa.string())
    if rounds.times is not None:
        table["time"] = pa.array(rounds.times, from_pandas=True)
    table["context"] = values
    for name in _ITEMS:
        items = pa.array(getattr(rounds, name).reshape(-1), from_pandas=name == "rewards")
        table[name] = pa.FixedSizeListArray.from_arrays(items, m)
    header = {
        "version": _VERSION,
        "context_shape": contexts.shape[1:],
        "context_dtype": contexts.dtype.str,
        "slate_size": m,
    }
    return pa.table(table).replace_schema_metadata({_KEY: json.dumps(header)})


@contextmanager
def opened(path: Path) -> "Iterator[pa.parquet.ParquetFile]":
    """A Parquet file; what goes wrong while it is read is a `FileFormatError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except FileFormatError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise FileFormatError(
            f"{path} is not a readable log ({error}); it may be truncated"
        ) from error


def is_log(schema: "pa.Schema") -> bool:
    """Whether a Parquet file says that it is a log of ours."""
    return _KEY in (schema.metadata or {})


class OwnColumns:
    """Columns of a file with our header; lists have a fixed size.

    Attributes
    ----------
    names, needed : list of str
        Columns that are read, and those of them that have no nulls.
    layout : Layout
    """

    def __init__(self, path: Path, schema: "pa.Schema", contexts_only: bool) -> None:
        self._file = self._described(path, schema)
        self.needed = list(_NEEDED)
        self.names = [*_NEEDED, "rewards"]
        self.names += [name for name in ("id", "time") if name in schema.names]
        self.layout = Layout(
            self._file.context_shape,
            self._file.context_dtype,
            0 if contexts_only else self._file.slate_size,
            "id" in self.names,
            "time" in self.names,
        )

    def _described(self, path: Path, schema: "pa.Schema") -> Layout:
        """What the header says."""
        try:
            header = json.loads(schema.metadata[_KEY])
            if header["version"] != _VERSION:
                raise FileFormatError(
                    f"{path} is a log of version {header['version']!r}, this release reads version "
                    f"{_VERSION}"
                )
            np.dtype(str(header["context_dtype"]))  # if it is none, the header is damaged
            return Layout(
                tuple(_length(entry, 0) for entry in header["context_shape"]),
                _dtype(schema.field("context").type),
                _length(header["slate_size"], 1),
            )
        except FileFormatError:
            raise
        except (KeyError, TypeError, ValueError, NotImplementedError) as error:
            raise FileFormatError(
                f"{path} has a damaged header ({error}); write the log again with Log.save or "
                "policysieve convert"
            ) from error

    def prepared(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows as the schema has them."""
        return batch

    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without nulls in the needed columns."""
        n, m, shown = batch.num_rows, self._file.slate_size, self.layout.slate_size
        contexts = _of_kind(batch, "context", "biufO")
        return Rounds(
            contexts=contexts.reshape(n, *self._file.context_shape),
            actions=_of_kind(batch, "actions", "iu").reshape(n, m)[:, :shown],
            propensities=_of_kind(batch, "propensities", "biuf").reshape(n, m)[:, :shown],
            rewards=_with_missing(batch["rewards"], n, m)[:, :shown],
            ids=_values(batch["id"].fill_null("")) if self.layout.has_ids else None,
            times=_values(batch["time"].cast("float64")) if self.layout.has_times else None,
        )


def has_lists(schema: "pa.Schema") -> bool:
    """Whether the columns of a log are there, with lists of items."""
    return {*_NEEDED, "rewards"} <= set(schema.names) and _is_list(schema.field("actions").type)


class ListColumns(OwnColumns):
    """The same columns without our header, as data frames write them.

    All lists are as long as those of the first row.
    """

    def _described(self, path: Path, schema: "pa.Schema") -> Layout:
        """What our header would say."""
        with opened(path) as file:
            first = next(file.iter_batches(batch_size=1, columns=["context", "actions"]))
        row = first.to_pylist()[0]
        if row["context"] in (None, []) or not row["actions"]:
            raise FileFormatError(f"{path}, row 1: context and actions must not be null or empty")
        kind = schema.field("context").type
        shape = (len(row["context"]),) if _is_list(kind) else ()
        return Layout(shape, _dtype(kind), len(row["actions"]))

    def prepared(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows with lists of a fixed size, and a single reward as a list of one."""
        import pyarrow as pa

        columns: dict[str, Any] = {name: batch[name] for name in batch.schema.names}
        if self._file.context_shape:
            columns["context"] = _fixed(columns["context"], self._file.context_shape[0], None)
        for name, type in _ITEMS.items():
            columns[name] = _fixed(columns[name], self._file.slate_size, type)
        return pa.RecordBatch.from_pydict(columns)


def _dtype(type: "pa.DataType") -> np.dtype[Any]:
    """Of the numbers or strings in a column, or in its lists."""
    from pyarrow import types

    while _is_list(type) or types.is_dictionary(type):
        type = type.value_type
    kind: np.dtype[Any] = np.dtype(type.to_pandas_dtype())
    return kind


def _length(value: Any, least: int) -> int:
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is not a size")
    return value


def _with_missing(column: Any, n: int, m: int) -> npt.NDArray[np.float64]:
    """Lists of m numbers, NaN where a list or a number is null."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    rewards = np.full((n, m), np.nan)
    rewards[present] = _values(column).reshape(-1, m)
    return rewards


def _values(column: Any) -> npt.NDArray[Any]:
    while _is_list(column.type):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _of_kind(batch: "pa.RecordBatch", name: str, kinds: str) -> npt.NDArray[Any]:
    """Values of a column that are strings, or of one of numpy's kinds of numbers."""
    values = _values(batch[name])
    strings = values.dtype == object and all(isinstance(entry, str) for entry in values)
    if values.dtype.kind not in kinds or (values.dtype == object and not strings):
        raise ValueError(f"column {name} must not hold {batch[name].type}")
    return values


def _fixed(column: Any, size: int, values: str | None) -> Any:
    import pyarrow as pa

    if not _is_list(column.type) and size == 1 and values:
        return pa.FixedSizeListArray.from_arrays(column.cast(values), 1)
    inner = pa.type_for_alias(values) if values else column.type.value_type
    return column.cast(pa.list_(inner, size))


def _is_list(type: "pa.DataType") -> bool:
    from pyarrow import types

    return bool(types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type))
