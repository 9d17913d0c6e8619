"""Columns of Parquet files as arrays: values, lists of one length, and what is missing."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.formats.arrow_values import is_list

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["dtype_of", "fixed_lists", "has_null", "of_kind", "values_of", "with_missing"]


def has_null(column: Any) -> npt.NDArray[np.bool_]:
    """Rows that are null, or lists with a null."""
    import pyarrow.compute as pc

    null = np.array(column.is_null(nan_is_null=False))
    if not is_list(column.type) or not column.flatten().null_count:
        return null
    inside = np.asarray(column.flatten().is_null())
    if hasattr(column.type, "list_size"):
        null[~null] = inside.reshape(-1, column.type.list_size).any(axis=1)
    else:
        null[np.asarray(pc.list_parent_indices(column))[inside]] = True
    return null


def dtype_of(type: "pa.DataType") -> np.dtype[Any]:
    """The dtype of the numbers or strings in a column, or in its lists."""
    from pyarrow import types

    while is_list(type) or types.is_dictionary(type):
        type = type.value_type
    kind: np.dtype[Any] = np.dtype(type.to_pandas_dtype())
    return kind


def with_missing(column: Any, n: int, m: int) -> npt.NDArray[np.float64]:
    """Lists of m numbers, NaN where a list or a number is null."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    rewards = np.full((n, m), np.nan)
    rewards[present] = values_of(column).reshape(-1, m)
    return rewards


def values_of(column: Any) -> npt.NDArray[Any]:
    """The values of a column, those of its lists one after the other."""
    while is_list(column.type):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def of_kind(batch: "pa.RecordBatch", name: str, kinds: str) -> npt.NDArray[Any]:
    """Values of a column that are strings, or of one of numpy's kinds of numbers."""
    values = values_of(batch[name])
    strings = values.dtype == object and all(isinstance(entry, str) for entry in values)
    if values.dtype.kind not in kinds or (values.dtype == object and not strings):
        raise ValueError(f"column {name} must not hold {batch[name].type}")
    return values


def fixed_lists(column: Any, size: int, values: str | None) -> Any:
    """A column as lists of one length, and of one type if it is named."""
    import pyarrow as pa

    if not is_list(column.type) and size == 1 and values:
        return pa.FixedSizeListArray.from_arrays(column.cast(values), 1)
    inner = pa.type_for_alias(values) if values else column.type.value_type
    return column.cast(pa.list_(inner, size))
