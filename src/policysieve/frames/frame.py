"""Contexts that are rows of a table: columns have names and types, and values may be missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames.arrow import (
    FRAMES,
    KINDS,
    LIBRARIES,
    MADE_OF,
    WIDTH,
    as_frame,
    described,
    from_dicts,
    from_frame,
    one_row,
)
from policysieve.frames.casting import (
    encoded,
    fitted,
    joined_field,
    levels_of,
    same_column,
    unfit,
    united,
)
from policysieve.frames.dtypes import check_objects, joined_metadata
from policysieve.frames.sparse import MOST_COLUMNS, SPARSE, as_sparse, check_sparse, from_sparse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ContextFrame",
    "Contexts",
    "FrameType",
    "check_columns",
    "common_type",
    "concatenated",
    "is_tabular",
    "kind_of",
    "read_only",
    "same",
]


def is_tabular(contexts: Any) -> bool:
    """Whether contexts are a table, a row or rows with names, or a sparse matrix: not an array."""
    if isinstance(contexts, np.ndarray | str):
        return False
    if isinstance(contexts, list | tuple):
        return bool(contexts) and isinstance(contexts[0], Mapping)
    if isinstance(contexts, ContextFrame | Mapping) or hasattr(contexts, "tocsr"):
        return True
    if hasattr(type(contexts), "collect"):
        raise InvalidArgumentError(
            f"contexts must be rows that are there, got a {type(contexts).__name__}, which is a "
            "plan; pass contexts.collect()"
        )
    return hasattr(contexts, "columns")


class FrameType:
    """What the rows of a table have in common: names and types of the columns, in order.

    Parameters
    ----------
    schema : pyarrow.Schema
        Its metadata say what the rows were given as.
    levels : mapping of str to pyarrow.Array
        Of each column of categories these, in the order of their codes.
    """

    kind = "frame"  # where a numpy dtype has a letter

    def __init__(self, schema: "pa.Schema", levels: "Mapping[str, pa.Array]") -> None:
        self.schema, self.levels = schema, levels

    @classmethod
    def checked(cls, schema: "pa.Schema", levels: "Mapping[str, pa.Array]") -> "FrameType":
        """The type that a file says its rows have, or ValueError if there is no such."""
        import pyarrow as pa

        made_of, width = (
            (schema.metadata or {}).get(key, b"").decode() for key in (MADE_OF, WIDTH)
        )
        if made_of not in KINDS:
            raise ValueError(f"rows made of {shown(made_of)}")
        check_objects(schema)
        type = cls(schema, levels)
        if type.is_sparse:
            columns, values = (schema.field(name).type for name in SPARSE)
            lists = all(map(pa.types.is_large_list, (columns, values)))
            if not lists or columns.value_type != pa.int32():
                raise ValueError(f"sparse rows of {columns} and {values}")
            if not 0 <= int(width) <= MOST_COLUMNS:
                raise ValueError(f"sparse rows of {shown(width)} columns")
        try:
            found = ContextFrame([type.no_rows()]).native()
        except Exception as error:  # what the libraries make of dtypes that a file names
            raise ValueError(f"rows that cannot be made of {made_of} ({error})") from error
        if made_of == "pandas" and tuple(map(str, getattr(found, "columns", ()))) != type.names:
            raise ValueError(f"rows whose columns have other names in {made_of}")
        return type

    def no_rows(self) -> "pa.Table":
        """A table of this type without rows; it has its categories."""
        import pyarrow as pa

        columns = [
            encoded(pa.array([], pa.int32()), self.levels[field.name], field.type)
            if field.name in self.levels
            else pa.array([], field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return () if self.is_sparse else tuple(self.schema.names)

    @property
    def made_of(self) -> str:
        """What the rows were given as, and what candidates get: such as pandas, or dicts."""
        return str((self.schema.metadata or {}).get(MADE_OF, b"").decode())

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are those of a sparse matrix."""
        return self.made_of.startswith("csr")

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.schema.metadata[WIDTH]) if self.is_sparse else len(self.schema.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrameType):
            return NotImplemented
        alike = (self.is_sparse, self.width) == (other.is_sparse, other.width)
        return (
            alike
            and bool(self.schema.equals(other.schema))
            and all(
                levels.equals(other.levels[name])
                for name, levels in self.levels.items()
                if self.schema.field(name).type.ordered
            )
        )

    def is_exactly(self, other: "FrameType") -> bool:
        """Whether columns of both types can be laid one after the other as they are."""
        return self.schema.equals(other.schema, check_metadata=True) and all(
            levels.equals(other.levels[name]) for name, levels in self.levels.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if self.is_sparse:
            return f"sparse rows of {self.width:,} numbers"
        return f"rows with the columns {', '.join(self.names)}"

    __repr__ = __str__

    def joined(self, other: "FrameType") -> "FrameType":
        """The type that holds the rows of both, with the columns in this one's order, or raise."""
        import pyarrow as pa

        if self.is_exactly(other):
            return self
        self._check_alike(other)
        fields = [joined_field(self._kind(name), other._kind(name)) for name in self.schema.names]
        own = zip(fields, self.schema, strict=True)
        fields = [mine if pa.types.is_null(field.type) else field for field, mine in own]
        schema = pa.schema(fields)
        levels: dict[str, pa.Array] = {}
        for field in filter(_has_levels, fields):
            found = [type.levels[field.name] for type in (self, other) if field.name in type.levels]
            found = [_fitted_levels(field, each) for each in found]
            levels[field.name] = (
                united(field.name, *found, ordered=field.type.ordered)
                if len(found) == 2
                else found[0]
            )
        metadata = joined_metadata(self.schema, other.schema, schema)
        return FrameType(schema.with_metadata(metadata), levels)

    def _kind(self, name: str) -> "pa.Field":
        """A column; one of categories that has none is of no kind."""
        import pyarrow as pa

        field = self.schema.field(name)
        none = name in self.levels and not len(self.levels[name])
        return field.with_type(pa.null()) if none else field

    def _check_alike(self, other: "FrameType") -> None:
        """Raise unless the other has the same columns, in whatever order."""
        if (self.is_sparse, other.is_sparse) != (False, False):
            if (self.is_sparse, self.width) != (other.is_sparse, other.width):
                raise InvalidArgumentError(f"contexts must be {self}, got {other}")
            return
        check_columns("contexts", other.names, needed=self.names, allowed=self.names)


def _fitted_levels(field: "pa.Field", levels: "pa.Array") -> "pa.Array":
    """Categories of one type as those of a column, or raise."""
    import pyarrow as pa

    column = pa.chunked_array([levels])
    return _fitted(column, field.with_type(field.type.value_type), None).combine_chunks()


def _has_levels(field: "pa.Field") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(field.type))


def check_columns(
    what: str, names: Iterable[str], *, needed: Iterable[str], allowed: Iterable[str] | None
) -> None:
    """Raise unless all needed columns are there and, if that is known, only allowed ones."""
    there = list(names)
    missing = [name for name in needed if name not in there]
    extra = [] if allowed is None else [name for name in there if name not in allowed]
    if not missing and not extra:
        return
    wrong = [
        *([f"no {' and no '.join(map(repr, missing))}"] if missing else []),
        *([f"also {', '.join(map(repr, extra))}"] if extra else []),
    ]
    mend = f"pass contexts[{list(allowed or needed)}]" if not missing else "add what is missing"
    raise InvalidArgumentError(
        f"{what} must have the columns {', '.join(allowed or needed)}, got {', '.join(wrong)} in "
        f"{', '.join(there)}; {mend}"
    )


class ContextFrame:
    """Rows of a table as contexts. A value, kept as Arrow, handed to candidates as it was given.

    It stands where an array of contexts stands, and knows as much of an array's ways as that
    needs: a length, a shape, a type, and indexing by slices, masks and row numbers.

    Parameters
    ----------
    parts : sequence of pyarrow.Table
        Of one schema, whose metadata say what the rows were given as. A column has the same
        categories in all of them.
    """

    __slots__ = ("_length", "_parts", "dtype")

    ndim = 1

    def __init__(self, parts: "Sequence[pa.Table]") -> None:
        self._parts = tuple(parts)
        self._length: int = sum(part.num_rows for part in self._parts)
        first = self._parts[0]
        levels = {f.name: levels_of(first[f.name]) for f in filter(_has_levels, first.schema)}
        self.dtype = FrameType(first.schema, levels)

    @classmethod
    def of(cls, contexts: Any) -> "ContextFrame":
        """Rows of a table, of one mapping or several, or of a sparse matrix.

        Parameters
        ----------
        contexts : pandas, polars or pyarrow table, or any other that narwhals knows; a list of
                dicts; one dict; or a scipy sparse matrix
            A key that a dict does not have is a missing value.

        Raises
        ------
        InvalidArgumentError
            If names of columns are not different strings, or a column holds values of several
            kinds; column, row and value are named.
        """
        if isinstance(contexts, ContextFrame):
            return contexts
        if isinstance(contexts, Mapping):
            contexts = [one_row(contexts)]
        if isinstance(contexts, list | tuple):
            return cls([described(from_dicts(contexts), "dicts")])
        if hasattr(contexts, "tocsr"):
            return cls([from_sparse(contexts)])
        return cls([from_frame(contexts)])

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> "ContextFrame":
        """Rows out of a file: handed out as its metadata say, or as whatever kind is at hand."""
        said = (table.schema.metadata or {}).get(MADE_OF, b"").decode(errors="replace")
        at_hand = next(name for name in FRAMES if find_spec(name))
        return cls([described(table, said if said in LIBRARIES else at_hand)])

    @classmethod
    def restored(cls, columns: "Sequence[pa.Array]", dtype: FrameType) -> "ContextFrame":
        """Rows out of a file that says that they are of a type, or ValueError."""
        import pyarrow as pa

        table = pa.Table.from_arrays(list(columns), names=dtype.schema.names)
        frame = cls([_cast(table, dtype)])
        if dtype.is_sparse:
            check_sparse(frame.table, dtype.width)
        return frame

    def as_type(self, dtype: FrameType) -> "ContextFrame":
        """The same rows as those of a type that holds them, with its order of the columns.

        Raises
        ------
        InvalidArgumentError
            If it does not hold a value exactly; column and value are named.
        """
        if self.dtype.is_exactly(dtype):
            return self
        return ContextFrame([_cast(part, dtype) for part in self.select(dtype.names)._parts])

    def like(self, earlier: FrameType) -> "ContextFrame":
        """The same rows as earlier ones came, as far as they can without loss, or raise.

        A row whose number is missing has no type of its own, a dict none of categories: candidates
        get what they got before. Of dicts, a column that is not there is missing.
        """
        import pyarrow as pa

        given = self._with_missing(earlier)
        if earlier.is_exactly(given.dtype):
            return given
        earlier.joined(given.dtype)
        given = given.select(earlier.names)
        table, columns = given.table, []
        for field in earlier.schema:
            column, levels = table[field.name], earlier.levels.get(field.name)
            if levels is not None and not pa.types.is_null(column.type):
                levels = self._more_levels(field, levels, column)
            made = fitted(column, field.type, levels)
            columns.append(column if made is None else made)
        fields = zip(earlier.schema, columns, strict=True)
        schema = pa.schema([field.with_type(column.type) for field, column in fields])
        metadata = joined_metadata(earlier.schema, table.schema, schema)
        return ContextFrame([pa.Table.from_arrays(columns, schema=schema.with_metadata(metadata))])

    def _more_levels(
        self, field: "pa.Field", levels: "pa.Array", column: "pa.ChunkedArray"
    ) -> "pa.Array":
        """Categories of earlier rows, and behind them those of a column, or raise."""
        import pyarrow as pa

        mine = fitted(pa.chunked_array([levels_of(column)]), levels.type)
        if mine is None:  # as of a float among whole numbers
            return levels
        ordered, named = field.type.ordered, pa.types.is_dictionary(column.type)
        if ordered and not named:
            wrong = unfit(column, field.type, levels)
            if wrong is not None:
                raise InvalidArgumentError(
                    f"contexts must have one of the categories {shown(levels.to_pylist())} in "
                    f"column {field.name!r}, which have an order, got {shown(wrong)}"
                )
            return levels
        return united(field.name, levels, mine.combine_chunks(), ordered=ordered)

    def _with_missing(self, dtype: FrameType) -> "ContextFrame":
        """The same rows; of dicts, with the columns of a type that none of them has."""
        import pyarrow as pa

        missing = [name for name in dtype.names if name not in self.dtype.names]
        if self.dtype.made_of != "dicts" or not missing or dtype.is_sparse:
            return self
        table = self.table
        for name in missing:
            table = table.append_column(name, pa.nulls(len(self)))
        return ContextFrame([table])

    @classmethod
    def concatenate(cls, frames: "Sequence[ContextFrame]") -> "ContextFrame":
        """The rows of several, one after the other."""
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.plus(frame)
        return whole

    @property
    def table(self) -> "pa.Table":
        """The rows as one Arrow table; nothing is copied."""
        import pyarrow as pa

        return pa.concat_tables(self._parts) if len(self._parts) > 1 else self._parts[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry for each row."""
        return (self._length,)

    @property
    def nbytes(self) -> int:
        """Memory that the rows take."""
        return int(sum(part.nbytes for part in self._parts))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: Any) -> "ContextFrame":
        table = self.table
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self._length)
            if step == 1:
                return ContextFrame([table.slice(start, max(0, stop - start))])
        index = np.arange(self._length)[rows]
        return ContextFrame([table.take(np.atleast_1d(index))])

    def __iter__(self) -> Iterator[Any]:
        """Row by row: a dict of its values, or a matrix of one row."""
        if self.dtype.is_sparse:
            matrix = self.native()
            return (matrix[[i]] for i in range(self._length))
        return iter(self.tolist())

    def copy(self) -> "ContextFrame":
        """The same rows; they never change."""
        return self

    def tolist(self) -> list[dict[str, Any]]:
        """A dict for each row, with None where a value is missing."""
        return list(self.table.to_pylist())

    def same_as(self, other: Any) -> bool:
        """Whether the other has the same rows, with the same columns in the same order."""
        if not isinstance(other, ContextFrame) or self.dtype != other.dtype:
            return False
        pairs = zip(self.table.columns, other.table.columns, strict=True)
        return len(self) == len(other) and all(same_column(mine, theirs) for mine, theirs in pairs)

    def select(self, names: Sequence[str]) -> "ContextFrame":
        """Some of the columns, in the order of the names."""
        if tuple(names) == self.dtype.names or self.dtype.is_sparse:
            return self
        return ContextFrame([part.select(list(names)) for part in self._parts])

    def plus(self, later: "ContextFrame") -> "ContextFrame":
        """These rows, and others behind them, whose columns may come in another order.

        Parts have sizes that fall by half at least, so there are few, and a row costs amortised
        logarithmic time.

        Raises
        ------
        InvalidArgumentError
            If the other rows have other columns, or values of another kind in one of them.
        """
        dtype = self.dtype.joined(later.dtype)
        if not len(later):
            return self
        if not len(self):
            return later
        parts = [*self.as_type(dtype)._parts, *later.as_type(dtype)._parts]
        while len(parts) > 1 and parts[-2].num_rows <= 2 * parts[-1].num_rows:
            parts[-2:] = [_merged(parts[-2:])]
        return ContextFrame(parts)

    def check_takes(self, later: "ContextFrame") -> None:
        """Raise if `plus` would."""
        dtype = self.dtype.joined(later.dtype)
        later.as_type(dtype)
        if not dtype.schema.equals(self.dtype.schema):
            self.as_type(dtype)

    def native(self) -> Any:
        """The rows as candidates get them: the kind of table that was given."""
        made_of, table = self.dtype.made_of, self.table
        if self.dtype.is_sparse:
            return as_sparse(table, made_of, self.dtype.width)
        if made_of == "dicts":
            return self.tolist()
        if made_of == "pyarrow":
            return table
        return as_frame(table, made_of if find_spec(made_of) else None)

    def frame(self) -> Any:
        """The rows as a data frame, for models that know columns by name."""
        if self.dtype.made_of in ("dicts", "pyarrow"):
            return as_frame(self.table, None)
        return self.native()

    def __repr__(self) -> str:
        return f"ContextFrame({self._length:,} {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ContextFrame, ([_merged(self._parts)],)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ContextFrame":
        return self  # a value


def _merged(parts: "Sequence[pa.Table]") -> "pa.Table":
    """Tables of one schema as one, each column in one piece."""
    import pyarrow as pa

    return pa.concat_tables(parts).combine_chunks()


def _cast(table: "pa.Table", dtype: FrameType) -> "pa.Table":
    """A table of the same columns as one of a type, or raise if it does not hold a value."""
    import pyarrow as pa

    columns = [
        _fitted(table[field.name], field, dtype.levels.get(field.name)) for field in dtype.schema
    ]
    return pa.Table.from_arrays(columns, schema=dtype.schema)


def _fitted(
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


Contexts = npt.NDArray[Any] | ContextFrame
"""Contexts that were checked: an array with one entry or row for each, or rows of a table."""


def concatenated(parts: Sequence[Any]) -> Any:
    """Arrays, or contexts of any kind, one after the other."""
    frames = [isinstance(part, ContextFrame) for part in parts]
    if all(frames):
        return ContextFrame.concatenate(parts)
    if any(frames):
        kinds = [kind_of(part.dtype) for part in parts]
        raise InvalidArgumentError(
            "contexts must be of one kind in all logs, got "
            f"{' and '.join(dict.fromkeys(kinds))}; keep them apart"
        )
    return np.concatenate(parts)


def common_type(one: Any, two: Any) -> Any:
    """The type that holds contexts of two types of one kind, or raise."""
    if isinstance(one, FrameType):
        return one.joined(two)
    return np.result_type(one, two)


def kind_of(dtype: Any) -> str:
    """What contexts of a type are, in a word: a log holds contexts of one kind."""
    if dtype.kind == "frame":
        return "sparse rows" if dtype.is_sparse else "rows of a table"
    return "strings" if dtype.kind == "O" else "numbers"


def read_only(contexts: Any) -> None:
    """Let nobody change an array; rows of a table never change."""
    if isinstance(contexts, np.ndarray):
        contexts.setflags(write=False)


def same(one: Any, two: Any) -> bool:
    """Whether two arrays, or contexts of any kind, are equal."""
    if isinstance(one, ContextFrame):
        return one.same_as(two)
    if isinstance(two, ContextFrame) or one.shape != two.shape:
        return False
    return bool((one == two).all())
