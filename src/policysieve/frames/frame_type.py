"""What the rows of a table have in common: names, types and categories of the columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames.arrow import (
    KINDS,
    MADE_OF,
    WIDTH,
)
from policysieve.frames.casting import (
    encoded,
    joined_field,
    taken_as,
    united,
)
from policysieve.frames.dtypes import check_objects, joined_metadata
from policysieve.frames.sparse import MOST_COLUMNS, SPARSE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameType", "check_columns", "has_levels"]


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
        from policysieve.frames.frame import ContextFrame

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

    __hash__ = None  # type: ignore[assignment]  # it would take a pass over all categories

    def __str__(self) -> str:
        if self.is_sparse:
            return f"sparse rows of {self.width:,} numbers"
        columns = (f"{field.name} ({_in_words(field.type)})" for field in self.schema)
        return f"rows with the columns {', '.join(columns)}"

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
        for field in filter(has_levels, fields):
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
    return taken_as(column, field.with_type(field.type.value_type), None).combine_chunks()


def _in_words(type: "pa.DataType") -> str:
    """What a column holds, in a word or two."""
    from pyarrow import types

    if types.is_dictionary(type):
        return "categories"
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "text"
    if types.is_boolean(type):
        return "true or false"
    if types.is_integer(type):
        return "whole numbers"
    if types.is_floating(type) or types.is_decimal(type):
        return "numbers"
    if types.is_null(type):
        return "nothing"
    return "times" if types.is_temporal(type) else str(type)


def has_levels(field: "pa.Field") -> bool:
    """Whether a column holds categories."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(field.type))


def check_columns(
    what: str, names: Iterable[str], *, needed: Sequence[str], allowed: Sequence[str] | None
) -> None:
    """Raise unless all needed columns are there and, if that is known, only allowed ones."""
    there = dict.fromkeys(names)
    missing = [name for name in needed if name not in there]
    known = None if allowed is None else frozenset(allowed)
    extra = [] if known is None else [name for name in there if name not in known]
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
