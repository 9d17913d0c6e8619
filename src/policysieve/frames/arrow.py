"""Tables and dicts as Arrow, and back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames.casting import encoded, levels_of
from policysieve.frames.dtypes import kept_of_pandas, objects_of, with_objects

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FRAMES",
    "KINDS",
    "LIBRARIES",
    "MADE_OF",
    "WIDTH",
    "as_frame",
    "described",
    "from_dicts",
    "from_frame",
    "one_row",
]

MADE_OF = b"policysieve.made_of"  # key of a schema's metadata: what its rows were given as
WIDTH = b"policysieve.width"  # of sparse rows: how many columns the matrix has
FRAMES = ("pandas", "polars", "pyarrow")  # what a file's rows are handed out as: the first at hand
LIBRARIES = (*FRAMES, "modin", "cudf")
KINDS = (*LIBRARIES, "dicts", "csr_matrix", "csr_array")  # what rows are made of


def described(
    table: "pa.Table",
    made_of: str,
    *,
    width: int | None = None,
    more: Mapping[bytes, bytes] | None = None,
) -> "pa.Table":
    """A table that says in its metadata what it was made of, with categories once a column."""
    import pyarrow as pa

    fields = [field.with_type(_kept_as(field)).with_nullable(True) for field in table.schema]
    columns = [_settled(column, field) for column, field in zip(table.columns, fields, strict=True)]
    metadata = {MADE_OF: made_of.encode(), **kept_of_pandas(table.schema), **(more or {})}
    if width is not None:
        metadata[WIDTH] = str(width).encode()
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=metadata))


def _kept_as(field: "pa.Field") -> "pa.DataType":
    """The type of a column; codes of one batch may be bytes, and those of all no longer."""
    import pyarrow as pa
    from pyarrow import types

    type = field.type
    if not types.is_dictionary(type):
        return pa.string() if types.is_string_view(type) else type
    values = type.value_type
    if types.is_large_string(values) or types.is_string_view(values):
        values = pa.string()  # as files have it
    held = (types.is_string, types.is_integer, types.is_floating, types.is_boolean)
    if not any(is_held(values) for is_held in (*held, types.is_date, types.is_timestamp)):
        raise InvalidArgumentError(
            f"contexts must have categories that are text, numbers or times, got {values} in "
            f"column {field.name!r}; make them text, such as "
            f"contexts[{field.name!r}].astype(str).astype('category')"
        )
    return pa.dictionary(pa.int32(), values, type.ordered)


def _settled(column: "pa.ChunkedArray", field: "pa.Field") -> "pa.ChunkedArray":
    """A column as it is kept: with the same categories in all of its pieces."""
    import pyarrow as pa

    if not pa.types.is_dictionary(field.type):
        return column.cast(field.type)
    whole = column.unify_dictionaries()
    levels = levels_of(whole)
    if levels.null_count or len(levels.unique()) < len(levels):
        raise InvalidArgumentError(
            "contexts must have different categories in a column, none of them missing, got "
            f"{shown(levels.to_pylist())} in column {field.name!r}"
        )
    empty = [pa.nulls(0, column.type)]  # categories are those of a piece, so there must be one
    chunks = [encoded(c.indices, c.dictionary, field.type) for c in whole.chunks or empty]
    return pa.chunked_array(chunks, field.type)


def one_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """One context, or raise if it looks like columns."""
    for name, value in row.items():
        if isinstance(value, list | tuple | np.ndarray):
            raise InvalidArgumentError(
                f"contexts must be one row if they are one dict, got {shown(value)} under "
                f"{name!r}; make a data frame of columns, such as pandas.DataFrame(contexts)"
            )
    return row


def from_dicts(rows: Sequence[Any]) -> "pa.Table":
    """A table of mappings, with a column for each key that any of them has, or raise."""
    import pyarrow as pa

    names: dict[str, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"contexts must all be dicts if the first is, got {shown(row)} in row {i}"
            )
        names.update(dict.fromkeys(row))
    _check_names(list(names))
    columns = {name: [row.get(name) for row in rows] for name in names}
    if not columns:
        raise InvalidArgumentError("contexts must have at least one column, got empty dicts")
    return pa.table({name: _column(name, values) for name, values in columns.items()})


def from_frame(frame: Any) -> "pa.Table":
    """A described table of a data frame of any library that narwhals knows, or raise."""
    import narwhals.stable.v2 as nw

    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InvalidArgumentError(
            f"contexts must be a pandas, polars or pyarrow table, got a {type(frame).__name__}; "
            "pass contexts.to_pandas(), if it has that"
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise InvalidArgumentError(
            f"contexts must have different columns ({error}); keep one of each, such as "
            "contexts.loc[:, ~contexts.columns.duplicated()]"
        ) from error
    _check_names(known.columns)
    if not known.columns:
        raise InvalidArgumentError("contexts must have at least one column, got none")
    made_of = known.implementation.value
    objects, mixed = objects_of(frame) if made_of == "pandas" else ({}, [])
    for name, kind in known.schema.items():
        if made_of == "polars" and kind == nw.Object:
            raise InvalidArgumentError(
                f"contexts must have values of one kind in a column, got Python objects such as "
                f"{shown(known[name].to_list()[:1])} in column {name!r}; make it text or numbers"
            )
        if name in mixed:
            _column(name, known[name].to_list())
    try:
        table = nw.maybe_reset_index(known).to_arrow()
    except refusals() as error:
        raise _refused(known) from error
    table = described(table, made_of, more=objects)
    if made_of != "pyarrow":
        _check_handed_out(table.schema.serialize().to_pybytes())
    return table


def refusals() -> tuple[type[Exception], ...]:
    """What Arrow raises about values that it does not take."""
    import pyarrow as pa

    return (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError)


def _refused(known: Any) -> InvalidArgumentError:
    """Why a frame does not become an Arrow table: the first column that does not."""
    for name in known.columns:
        try:
            known.select(name).to_arrow()
        except refusals() as error:
            _column(name, known[name].to_list())
            return InvalidArgumentError(
                f"contexts must have columns that Arrow holds, got {known[name].dtype} in column "
                f"{name!r} ({error}); convert it, such as contexts[{name!r}].astype(float)"
            )
    return InvalidArgumentError("contexts must be a table that Arrow holds")


def _check_names(names: Sequence[Any]) -> None:
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InvalidArgumentError(
            f"contexts must have columns whose names are strings, got {shown(odd[0])}; pass "
            "contexts.to_numpy() if the columns have no names, or contexts.rename(columns=str)"
        )
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            f"contexts must have different columns, got {twice!r} twice; keep one of them"
        )


def _column(name: str, values: Sequence[Any]) -> "pa.Array":
    """Values of one column, or an error that names the first that is of another kind."""
    import pyarrow as pa

    error: Exception | None = None
    try:
        column = pa.array(values, from_pandas=True)
        kinds = set(map(type, values)) - {type(None)}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            return column  # what is beyond its type, Arrow has refused
        # Arrow drops the time of a datetime among dates, and makes bytes of text among them
        kept = zip(values, column.to_pylist(), strict=True)
        wrong = [i for i, (value, found) in enumerate(kept) if not _same_value(value, found)]
        if not wrong:
            return column
    except refusals() as raised:
        error = raised
        wrong = [i for i, value in enumerate(values) if not _is_taken(value)]
    there = [i for i, value in enumerate(values) if not _is_missing(value)]
    first = values[there[0] if there else 0]
    others = [i for i in there if type(values[i]) is not type(first)]
    row = [*others, *wrong, *there, 0][0]
    raise InvalidArgumentError(
        f"contexts must have values of one kind in a column, got {shown(values[row])} in row "
        f"{row} of column {name!r}, which starts with {shown(first)}"
        f"{'' if error is None else f' ({error})'}; make it text or numbers, such as "
        f"contexts[{name!r}] = contexts[{name!r}].astype(str)"
    ) from error


def _is_taken(value: Any) -> bool:
    """Whether Arrow takes a value."""
    import pyarrow as pa

    try:
        pa.array([value], from_pandas=True)
    except refusals():
        return False
    return True


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for them."""
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _same_value(given: Any, kept: Any) -> bool:
    """Whether Arrow gives back what it was given; a dict may have got missing keys."""
    if _is_missing(given):
        return _is_missing(kept)
    if isinstance(given, Mapping):
        return all(_same_value(given.get(key), value) for key, value in kept.items())
    if isinstance(given, list | tuple | np.ndarray):
        return all(map(_same_value, given, kept))
    return bool(given == kept)


def as_frame(table: "pa.Table", library: str | None) -> Any:
    """A data frame of a library, by default of the first one that is installed."""
    import narwhals.stable.v2 as nw

    backend: Any = library or next((name for name in FRAMES[:2] if find_spec(name)), None)
    if backend is None:
        raise InvalidArgumentError(
            "models that know columns by name need a data frame, and neither pandas nor polars is "
            "installed: pip install pandas"
        )
    frame = nw.from_arrow(table, backend=backend).to_native()
    return with_objects(frame, table) if backend == "pandas" else frame


@lru_cache(maxsize=64)
def _check_handed_out(serialized: bytes) -> None:
    """Raise unless rows of a schema can be handed out as what they were made of."""
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(serialized))
    made_of = schema.metadata[MADE_OF].decode()
    for field in schema:
        empty = pa.schema([field], metadata=schema.metadata).empty_table()
        try:
            as_frame(empty, made_of)
        except Exception as error:  # what the libraries make of their own dtypes
            raise InvalidArgumentError(
                f"contexts must have columns that {made_of} makes of Arrow, got {field.type} in "
                f"column {field.name!r} ({error}); convert it with astype(...)"
            ) from error
