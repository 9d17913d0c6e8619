"""Contexts that are rows of a table: columns have names and types, and values may be missing."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames.arrow import (
    FRAMES,
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
    fitted,
    levels_of,
    same_column,
    taken_as,
    unfit,
    united,
)
from policysieve.frames.dtypes import joined_metadata
from policysieve.frames.frame_type import FrameType, has_levels
from policysieve.frames.sparse import as_sparse, check_sparse, from_sparse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ContextFrame"]

_SENT = (*FRAMES, "dicts", "csr_matrix", "csr_array")  # kinds of rows that others may send


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
        levels = {f.name: levels_of(first[f.name]) for f in filter(has_levels, first.schema)}
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
    def received(cls, table: "pa.Table") -> "ContextFrame":
        """Rows that another process sent, made of what their metadata say; by default of Arrow.

        The table was validated in full. ValueError if the metadata say what cannot be.
        """
        said = table.schema.metadata or {}
        made_of, width = (said.get(key, b"").decode() for key in (MADE_OF, WIDTH))
        made_of = made_of or "pyarrow"
        if made_of not in _SENT:
            raise ValueError(f"rows made of {shown(made_of)}")
        table = described(table, made_of, width=int(width) if width else None)
        levels = {f.name: levels_of(table[f.name]) for f in filter(has_levels, table.schema)}
        return cls.restored(table.columns, FrameType.checked(table.schema, levels))

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
        taken_as(table[field.name], field, dtype.levels.get(field.name)) for field in dtype.schema
    ]
    return pa.Table.from_arrays(columns, schema=dtype.schema)
