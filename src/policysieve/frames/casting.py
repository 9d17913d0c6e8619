"""Columns as columns of another type, with exactly the same values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "encoded",
    "fitted",
    "joined_field",
    "levels_of",
    "same_column",
    "taken_as",
    "unfit",
    "united",
]


def fitted(
    column: "pa.ChunkedArray", type: "pa.DataType", levels: "pa.Array | None" = None
) -> "pa.ChunkedArray | None":
    """A column as one of another type, or None if that does not hold exactly the same values.

    Categories have the codes that they have in `levels`. Arrow's own casts do not say so when they
    round, or leave something out; so the values are cast back and compared.
    """
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(type):
            return _in_levels(column, type, levels)
        if column.type == type:
            return column
        if pa.types.is_null(column.type):
            return column.cast(type)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        made = column.cast(type)
        return made if same_column(made.cast(column.type), column) else None
    except pa.ArrowException:
        return None


def _in_levels(
    column: "pa.ChunkedArray", type: "pa.DataType", levels: "pa.Array"
) -> "pa.ChunkedArray | None":
    """A column as categories whose codes are their places in `levels`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = []
    for given in column.chunks or [pa.nulls(0, column.type)]:
        chunk = given if pa.types.is_dictionary(given.type) else given.dictionary_encode()
        if chunk.type != type or not chunk.dictionary.equals(levels):
            known = fitted(pa.chunked_array([chunk.dictionary]), type.value_type)
            if known is None:
                return None
            places = pc.index_in(known.combine_chunks(), value_set=levels)
            codes = places.take(chunk.indices)
            if codes.null_count != chunk.indices.null_count:
                return None
            chunk = encoded(codes, levels, type)
        chunks.append(chunk)
    return pa.chunked_array(chunks, type)


def encoded(codes: "pa.Array", levels: "pa.Array", type: "pa.DataType") -> "pa.DictionaryArray":
    """Categories of a type, by their places in `levels`."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(
        codes.cast(type.index_type), levels.cast(type.value_type), ordered=type.ordered
    )


def unfit(column: "pa.ChunkedArray", type: "pa.DataType", levels: "pa.Array | None") -> Any:
    """The first value that a type does not hold exactly; None if there is none."""
    for i in range(len(column)):
        if fitted(column.slice(i, 1), type, levels) is None:
            return column[i].as_py()
    return None


def same_column(one: "pa.ChunkedArray", two: "pa.ChunkedArray") -> bool:
    """Whether two columns of one type have the same values, whatever codes stand for them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(one.type):
        one, two = (column.cast(column.type.value_type) for column in (one, two))
    if one.equals(two):
        return True
    if not pa.types.is_floating(one.type):
        return False
    nan = [pc.is_nan(column) for column in (one, two)]  # which equals nothing, itself included
    if not nan[0].equals(nan[1]):
        return False
    zero = pa.scalar(0, one.type)
    return bool(pc.if_else(nan[0], zero, one).equals(pc.if_else(nan[1], zero, two)))


def levels_of(column: "pa.ChunkedArray") -> "pa.Array":
    """The categories of a column in their order, or the different values of one without such."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.drop_null().unique()
    if not column.num_chunks:
        return pa.array([], column.type.value_type)
    return column.chunk(0).dictionary


def united(name: str, one: "pa.Array", two: "pa.Array", *, ordered: bool) -> "pa.Array":
    """Categories of a column, and behind them those of later rows, or raise.

    Where they have an order, one must have all of the other, in the same order.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if one.equals(two):
        return one
    two = two.cast(one.type)
    new = two.filter(pc.invert(pc.is_in(two, value_set=one)))
    if not ordered:
        return pa.concat_arrays([one, new])
    for whole, some in ((one, two), (two, one)):
        places = pc.index_in(some, value_set=whole).to_pylist()
        if None not in places and places == sorted(places):
            return whole
    raise InvalidArgumentError(
        f"contexts must have categories of one order in a column, got {_listed(two)} in column "
        f"{name!r}, which had {_listed(one)} in earlier rows; convert it with astype(...) to the "
        "dtype that it had"
    )


def _listed(levels: "pa.Array") -> str:
    return " < ".join(shown(level) for level in levels[:8].to_pylist())


def joined_field(one: "pa.Field", two: "pa.Field") -> "pa.Field":
    """A column for the values of two of one name, or raise if they are of different kinds."""
    import pyarrow as pa

    if one.type == two.type or pa.types.is_null(two.type):
        return one
    if pa.types.is_null(one.type):
        return two
    kinds = [one.type, two.type]
    categories = sum(map(pa.types.is_dictionary, kinds))
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
    try:
        if categories == 2 and one.type.ordered != two.type.ordered:
            raise pa.ArrowInvalid("only one of the two has an order")
        if sum(map(_is_text, plain)) == 1:
            raise pa.ArrowInvalid("text and other values")  # Arrow would make bytes of text
        type = _unified(plain)
    except pa.ArrowException as error:
        raise InvalidArgumentError(
            f"contexts must have values of one kind in a column, got {two.type} in column "
            f"{one.name!r}, which held {one.type} in earlier rows ({error}); convert it, such as "
            f"contexts[{one.name!r}].astype(...)"
        ) from error
    if categories == 2:
        type = pa.dictionary(pa.int32(), type, one.type.ordered)
    return one.with_type(type)


def _unified(types: "Sequence[pa.DataType]") -> "pa.DataType":
    import pyarrow as pa

    schemas = [pa.schema([("", type)]) for type in types]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _is_text(type: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)
    )


def taken_as(
    column: "pa.ChunkedArray", field: "pa.Field", levels: "pa.Array | None"
) -> "pa.ChunkedArray":
    """A column as another, with exactly the same values, or raise."""
    made = fitted(column, field.type, levels)
    if made is None:
        raise InvalidArgumentError(
            "contexts must have values of one kind in a column, got "
            f"{shown(unfit(column, field.type, levels))} in column {field.name!r}, which is none "
            f"of {field.type}, the type for all rows; convert it, such as "
            f"contexts[{field.name!r}].astype(...)"
        )
    return made
