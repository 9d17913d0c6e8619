"""Parquet without our header: columns with the names that CSV has, as data frames write them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError
from policysieve.formats.table import understand
from policysieve.log import Layout, Rounds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PlainColumns"]

_INDEX = "__index_level_"  # what pandas calls an index without a name


class PlainColumns:
    """Columns of numbers and strings.

    Attributes
    ----------
    names, needed : list of str
        Columns that are read, and those of them that have no nulls.
    layout : Layout
    """

    def __init__(self, path: Path, schema: "pa.Schema", contexts_only: bool) -> None:
        names = [name for name in schema.names if not name.startswith(_INDEX)]
        self._table = table = understand(path, names, contexts_only=contexts_only)
        fields = [field for field in schema if field.name in (*table.needed, "id", "time")]
        self.names = [field.name for field in fields]
        kinds = {field.name: _kind(field.type) for field in fields}
        for field in fields:
            if kinds[field.name] not in _allowed(field.name):
                raise FileFormatError(
                    f"{path}: column {field.name} must hold {' or '.join(_allowed(field.name))}, "
                    f"got {field.type}; a row of features is columns x0, x1, ..."
                )
        self.needed = [name for name in table.needed if name not in table.items["reward"]]
        contexts = {kinds[name] for name in table.features or ["context"]}
        self._context = next(
            kind for kind in ("text", "numbers", "whole numbers") if kind in contexts
        )
        self.layout = Layout(
            (len(table.features),) if table.features else (),
            np.dtype({"text": object, "numbers": np.float64}.get(self._context, np.int64)),
            len(table.items["action"]),
            "id" in kinds,
            "time" in kinds,
        )

    def prepared(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows as they are."""
        return batch

    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Rows without nulls in the needed columns."""

        def stacked(names: list[str], kind: str) -> npt.NDArray[Any]:
            columns = [_values(batch[name], kind) for name in names]
            return np.stack(columns, axis=1) if columns else np.empty((batch.num_rows, 0))

        features, items = self._table.features, self._table.items
        return Rounds(
            contexts=stacked(features, self._context)
            if features
            else _values(batch["context"], self._context),
            actions=stacked(items["action"], "whole numbers"),
            propensities=stacked(items["propensity"], "numbers"),
            rewards=stacked(items["reward"], "numbers"),
            ids=_values(batch["id"], "text") if self.layout.has_ids else None,
            times=_values(batch["time"], "times") if self.layout.has_times else None,
        )


def _allowed(name: str) -> tuple[str, ...]:
    if name == "time":
        return ("numbers", "whole numbers", "times")
    return ("numbers", "whole numbers", *["text"] * (name in ("context", "id")))


def _kind(type: "pa.DataType") -> str:
    """What values of an Arrow type are."""
    from pyarrow import types

    if types.is_dictionary(type):
        return _kind(type.value_type)
    if types.is_integer(type) or types.is_boolean(type):
        return "whole numbers"
    if types.is_floating(type) or types.is_decimal(type):
        return "numbers"
    if types.is_string(type) or types.is_large_string(type):
        return "text"
    return "times" if types.is_timestamp(type) else "something else"


def _values(column: "pa.Array", kind: str) -> npt.NDArray[Any]:
    """A column as an array of a kind; a null is NaN or the empty string."""
    import pyarrow as pa

    if kind == "text":
        column = column.cast(pa.string()).fill_null("")
    elif kind == "whole numbers":
        column = column.cast(pa.int64())
    elif pa.types.is_timestamp(column.type):
        microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        return np.asarray(microseconds.cast(pa.float64()).to_numpy(zero_copy_only=False)) / 1e6
    else:
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))
