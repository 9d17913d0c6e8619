"""Values of Arrow columns: what they are, and arrays of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_kind", "in_one_piece", "is_list", "kind_of_type", "numbers_of"]


def is_list(type: "pa.DataType") -> bool:
    """Whether values of an Arrow type are lists."""
    from pyarrow import types

    return bool(types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type))


def kind_of_type(type: "pa.DataType") -> str:
    """What values of an Arrow type are."""
    from pyarrow import types

    if types.is_dictionary(type):
        return kind_of_type(type.value_type)
    if types.is_integer(type) or types.is_boolean(type):
        return "whole numbers"
    if types.is_floating(type) or types.is_decimal(type):
        return "numbers"
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "text"
    if types.is_null(type):
        return "nothing"
    if types.is_timestamp(type) or types.is_date(type):
        return "times"
    return "something else"


def as_kind(column: "pa.Array", kind: str) -> npt.NDArray[Any]:
    """A column as an array of a kind; a null is NaN or the empty string.

    Whole numbers beyond 2**53 are rounded where they are numbers of the kind that has fractions.
    """
    import pyarrow as pa

    if kind == "text":
        column = column.cast(pa.string()).fill_null("")
    elif kind == "whole numbers":
        column = column.cast(pa.int64())
    elif kind_of_type(column.type) == "times":
        microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        return np.asarray(microseconds.cast(pa.float64()).to_numpy(zero_copy_only=False)) / 1e6
    else:
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def in_one_piece(column: Any) -> Any:
    """A column as one array, with each value written out."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def numbers_of(column: Any, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Numbers that the names in a column stand for; -1 where one is null or not known."""
    import pyarrow as pa

    encoded = in_one_piece(column).cast(pa.large_string()).dictionary_encode()
    places = {name: i for i, name in enumerate(names)}
    known = [places.get(name, -1) for name in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*known, -1], dtype=np.int64)[indices])
