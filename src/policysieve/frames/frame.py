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
    MADE_OF,
    MOST_COLUMNS,
    SPARSE,
    WIDTH,
    as_frame,
    as_sparse,
    check_sparse,
    described,
    from_dicts,
    from_frame,
    from_sparse,
    one_row,
    restored,
    same_column,
)
from policysieve.frames.promoting import merged, promoted, promoted_field, promoted_schema

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
    """What the rows of a table have in common: names and types of the columns, in order."""

    kind = "frame"  # where a numpy dtype has a letter

    def __init__(self, schema: "pa.Schema") -> None:
        self.schema = schema

    @classmethod
    def checked(cls, schema: "pa.Schema") -> "FrameType":
        """The type that a file says its rows have, or ValueError if there is no such."""
        import pyarrow as pa

        made_of, width = (
            (schema.metadata or {}).get(key, b"").decode() for key in (MADE_OF, WIDTH)
        )
        if made_of not in KINDS:
            raise ValueError(f"rows made of {shown(made_of)}")
        type = cls(schema)
        if type.is_sparse:
            columns, values = (schema.field(name).type for name in SPARSE)
            lists = all(map(pa.types.is_large_list, (columns, values)))
            if not lists or columns.value_type != pa.int32():
                raise ValueError(f"sparse rows of {columns} and {values}")
            if not 0 <= int(width) < MOST_COLUMNS:
                raise ValueError(f"sparse rows of {shown(width)} columns")
        try:
            ContextFrame([schema.empty_table()]).native()
        except Exception as error:  # what the libraries make of dtypes that a file names
            raise ValueError(f"rows that cannot be made of {made_of} ({error})") from error
        return type

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
        return bool(self.schema.equals(other.schema)) and (
            (self.is_sparse, self.width) == (other.is_sparse, other.width)
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if self.is_sparse:
            return f"sparse rows of {self.width:,} numbers"
        return f"rows with the columns {', '.join(self.names)}"

    __repr__ = __str__

    def joined(self, other: "FrameType") -> "FrameType":
        """The type that holds the rows of both, with the columns in this one's order, or raise."""
        self.check_alike(other)
        later = [other.schema.field(name) for name in self.schema.names]
        return FrameType(promoted_schema(self.schema, later))

    def check_alike(self, other: "FrameType") -> None:
        """Raise unless the other has the same columns, of the same kinds, in whatever order."""
        if self.schema.equals(other.schema) and self.width == other.width:
            return
        if (self.is_sparse, other.is_sparse) != (False, False):
            if (self.is_sparse, self.width) != (other.is_sparse, other.width):
                raise InvalidArgumentError(f"contexts must be {self}, got {other}")
            return
        check_columns("contexts", other.names, needed=self.names, allowed=self.names)
        for field in self.schema:
            promoted_field(field, other.schema.field(field.name))


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
        Of one schema, whose metadata say what the rows were given as.
    """

    __slots__ = ("_length", "_parts", "dtype")

    ndim = 1

    def __init__(self, parts: "Sequence[pa.Table]") -> None:
        self._parts = tuple(parts)
        self._length: int = sum(part.num_rows for part in self._parts)
        self.dtype = FrameType(self._parts[0].schema)

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
        metadata = table.schema.metadata or {}
        if MADE_OF in metadata:
            return cls([table])
        return cls([described(table, next(name for name in FRAMES if find_spec(name)))])

    @classmethod
    def restored(cls, columns: "Sequence[pa.Array]", dtype: FrameType) -> "ContextFrame":
        """Rows out of a file that says that they are of a type, or ValueError."""
        frame = cls([restored(columns, dtype.schema)])
        if dtype.is_sparse:
            check_sparse(frame.table, dtype.width)
        return frame

    def as_type(self, dtype: FrameType) -> "ContextFrame":
        """The same rows as those of a type that holds them, with its order of the columns."""
        if dtype.schema.equals(self.dtype.schema, check_metadata=True):
            return self
        arranged = self.select(dtype.names)
        return ContextFrame([part.cast(dtype.schema) for part in arranged._parts])

    def like(self, earlier: FrameType) -> "ContextFrame":
        """The same rows as earlier ones came, as far as they can without loss, or raise.

        A row whose number is missing has no type of its own, a dict none of categories: candidates
        get what they got before.
        """
        import pyarrow as pa

        earlier.check_alike(self.dtype)
        arranged = self.select(earlier.names)
        try:
            return ContextFrame([restored(p.columns, earlier.schema) for p in arranged._parts])
        except pa.ArrowException:  # as when 1.5 comes after whole numbers
            return arranged

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
        self.dtype.check_alike(later.dtype)
        if not len(later):
            return self
        if not len(self):
            return later
        arranged = later.select(self.dtype.names)
        parts = promoted([*self._parts, *arranged._parts])
        while len(parts) > 1 and parts[-2].num_rows <= 2 * parts[-1].num_rows:
            parts[-2:] = [merged(parts[-2:])]
        return ContextFrame(parts)

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
        return ContextFrame, ([merged(list(self._parts))],)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ContextFrame":
        return self  # a value


Contexts = npt.NDArray[Any] | ContextFrame
"""Contexts that were checked: an array with one entry or row for each, or rows of a table."""


def concatenated(parts: Sequence[Any]) -> Any:
    """Arrays, or contexts of any kind, one after the other."""
    if isinstance(parts[0], ContextFrame):
        return ContextFrame.concatenate(parts)
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
