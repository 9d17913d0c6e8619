"""Tables, dicts and sparse matrices as Arrow, and back."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FRAMES",
    "KINDS",
    "MADE_OF",
    "MOST_COLUMNS",
    "PANDAS",
    "SPARSE",
    "WIDTH",
    "as_frame",
    "as_sparse",
    "check_sparse",
    "described",
    "from_dicts",
    "from_frame",
    "from_sparse",
    "one_row",
    "restored",
    "same_column",
]

MADE_OF = b"policysieve.made_of"  # key of a schema's metadata: what its rows were given as
WIDTH = b"policysieve.width"  # of sparse rows: how many columns the matrix has
PANDAS = b"pandas"  # key under which pyarrow keeps the dtypes of a pandas frame
MOST_COLUMNS = 2**31 - 1
FRAMES = ("pandas", "polars", "pyarrow")  # what a file's rows are handed out as: the first at hand

KINDS = (*FRAMES, "modin", "cudf", "dicts", "csr_matrix", "csr_array")  # what rows are made of
SPARSE = ("columns", "values")  # what is kept of sparse rows: for each, two lists of equal length


def described(table: "pa.Table", made_of: str, *, width: int | None = None) -> "pa.Table":
    """A table that says in its metadata what it was made of."""
    import pyarrow as pa

    fields = [field.with_type(_kept_as(field.type)) for field in table.schema]
    kept = {PANDAS: (table.schema.metadata or {}).get(PANDAS, b"")}
    metadata = {key: value for key, value in kept.items() if value}
    metadata |= {MADE_OF: made_of.encode()}
    if width is not None:
        metadata[WIDTH] = str(width).encode()
    return table.cast(pa.schema(fields)).replace_schema_metadata(metadata)


def _kept_as(type: "pa.DataType") -> "pa.DataType":
    """The type of a column; codes of one batch may be bytes, and those of all no longer."""
    import pyarrow as pa

    if not pa.types.is_dictionary(type):
        return type
    values = type.value_type
    if pa.types.is_large_string(values) or pa.types.is_string_view(values):
        values = pa.string()  # as files have it
    return pa.dictionary(pa.int32(), values, type.ordered)


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
    import pyarrow as pa

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
    try:
        table = nw.maybe_reset_index(known).to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        for name in known.columns:
            _column(name, known[name].to_list())
        raise
    return described(table, known.implementation.value)


def _check_names(names: Sequence[Any]) -> None:
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InvalidArgumentError(
            f"contexts must have columns whose names are strings, got {shown(odd[0])}; pass "
            "contexts.to_numpy() if the columns have no names, or contexts.rename(columns=str)"
        )
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InvalidArgumentError(
            f"contexts must have different columns, got {twice[0]!r} twice; keep one of them"
        )


def _column(name: str, values: Sequence[Any]) -> "pa.Array":
    """Values of one column, or an error that names the first that is of another kind."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        there = [
            i
            for i, value in enumerate(values)
            if value is not None and not (isinstance(value, float) and np.isnan(value))
        ]
        first = values[there[0]] if there else None
        row = next((i for i in there if type(values[i]) is not type(first)), there[0])
        raise InvalidArgumentError(
            f"contexts must have values of one kind in a column, got {shown(values[row])} in row "
            f"{row} of column {name!r}, which starts with {shown(first)} ({error}); make it text "
            f"or numbers, such as contexts[{name!r}] = contexts[{name!r}].astype(str)"
        ) from error


def from_sparse(matrix: Any) -> "pa.Table":
    """A described table of a sparse matrix: for each row the columns that are not 0, and values."""
    import pyarrow as pa
    from scipy.sparse import issparse

    if not issparse(matrix):
        raise InvalidArgumentError(
            f"contexts must be an array or a sparse matrix of scipy, got {shown(matrix)}; pass "
            "contexts.toarray(), if it has that"
        )
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"contexts must be numbers in two dimensions, got shape {rows.shape} of {rows.dtype}"
        )
    if not np.isfinite(rows.data).all():
        wrong = int(np.flatnonzero(~np.isfinite(rows.data))[0])
        row = int(np.searchsorted(rows.indptr, wrong, side="right")) - 1
        raise InvalidArgumentError(f"contexts must be finite, got NaN or infinity in row {row}")
    offsets = pa.array(rows.indptr.astype(np.int64))
    entries = (rows.indices.astype(np.int32), rows.data)
    table = pa.table(
        {
            name: pa.LargeListArray.from_arrays(offsets, pa.array(values))
            for name, values in zip(SPARSE, entries, strict=True)
        }
    )
    kind = "csr_matrix" if type(matrix).__name__.endswith("_matrix") else "csr_array"
    return described(table, kind, width=rows.shape[1])


def as_sparse(table: "pa.Table", made_of: str, width: int) -> Any:
    """The sparse matrix that a table was made of."""
    import scipy.sparse

    whole = table.combine_chunks()
    columns, values = (_lists(whole[name].combine_chunks()) for name in SPARSE)
    parts = (values[1], columns[1], columns[0])
    return getattr(scipy.sparse, made_of)(parts, shape=(table.num_rows, width))


def check_sparse(table: "pa.Table", width: int) -> None:
    """ValueError unless columns and values of sparse rows fit each other and the matrix."""
    if any(table[name].null_count for name in SPARSE):
        raise ValueError("sparse rows must not be null")
    (starts, columns), (others, values) = (_lists(table[name].combine_chunks()) for name in SPARSE)
    if not np.array_equal(starts, others) or values.dtype.kind not in "biuf":
        raise ValueError("sparse rows must have a number for each column that they name")
    if columns.dtype != np.int32 or ((columns < 0) | (columns >= width)).any():
        raise ValueError(f"sparse rows must name columns from 0 to {width - 1}")
    if not np.isfinite(values).all():
        raise ValueError("sparse rows must be finite")


def restored(columns: "Sequence[pa.Array]", schema: "pa.Schema") -> "pa.Table":
    """Columns of a schema whose categories may have been read as what they stand for."""
    import pyarrow as pa

    made = [
        column.dictionary_encode()
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type)
        else column
        for column, field in zip(columns, schema, strict=True)
    ]
    table = pa.Table.from_arrays(made, names=schema.names)
    return table.cast(schema)


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
    return bool(pc.if_else(nan[0], 0.0, one).equals(pc.if_else(nan[1], 0.0, two)))


def _lists(lists: "pa.LargeListArray") -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Where lists begin and end, and what they hold."""
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0], lists.flatten().to_numpy(zero_copy_only=False)


def as_frame(table: "pa.Table", library: str | None) -> Any:
    """A data frame of a library, by default of the first one that is installed."""
    import narwhals.stable.v2 as nw

    backend: Any = library or next((name for name in FRAMES[:2] if find_spec(name)), None)
    if backend is None:
        raise InvalidArgumentError(
            "models that know columns by name need a data frame, and neither pandas nor polars is "
            "installed: pip install pandas"
        )
    return nw.from_arrow(table, backend=backend).to_native()
