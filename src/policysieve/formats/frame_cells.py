"""Contexts out of the cells of several columns: what each column holds, and tables of them."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from policysieve.arrays import is_text, shown
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.arrow_values import kind_of_type
from policysieve.formats.cells import as_number, as_whole
from policysieve.frames import ContextFrame, FrameType
from policysieve.log import Layout

__all__ = [
    "FrameCells",
    "ObjectCells",
    "as_frame",
    "check_held",
    "held_of_frames",
    "in_json",
    "written",
]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?")
_TRUTH = {"true": True, "false": False}
_WIDER = {frozenset({"whole", "number"}): "number", frozenset({"date", "moment"}): "moment"}
_NUMBERS = (None, "whole", "number")  # among which nan is a missing value
_INFINITE = re.compile(r"\s*[+-]?inf(?:inity)?\s*", re.IGNORECASE)
_TEXTS = ("date", "moment", "offset", "text")  # what a string of JSON may be


class FrameCells:
    """Rows of cells as rows of a table, with types that fit all cells of a column.

    That is whole numbers, else numbers; true and false; dates, else dates with times; else text. An
    empty cell is a missing value, and so is ``nan`` among numbers. The order of rows is no matter.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    typed : bool
        Whether cells are values of JSON, of which strings are never numbers.
    """

    shape: tuple[int, ...] = ()

    def __init__(self, names: Sequence[str], *, typed: bool) -> None:
        self._columns = [_Column(name, typed=typed) for name in names]

    @property
    def dtype(self) -> FrameType:
        """Names and types of the columns."""
        return _frame_type(self._columns)

    def see(self, context: Sequence[Any]) -> None:
        """Take one row of cells into account."""
        for column, cell in zip(self._columns, context, strict=True):
            column.see(cell)

    def value(self, context: Sequence[Any]) -> list[Any]:
        """The row as values of Python, None where one is missing."""
        return [column.value(cell) for column, cell in zip(self._columns, context, strict=True)]


class ObjectCells:
    """Objects of JSON as rows of a table, with a column for each key that any of them has."""

    shape: tuple[int, ...] = ()

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}

    @property
    def dtype(self) -> FrameType:
        """Names and types of the columns."""
        return _frame_type(list(self._columns.values()))

    def see(self, context: Any) -> None:
        """Take one object into account."""
        if isinstance(context, dict):  # else said when the value is asked for
            for name, value in context.items():
                if name not in self._columns:
                    self._columns[name] = _Column(name, typed=True)
                self._columns[name].see(value)

    def value(self, context: Any) -> list[Any]:
        """The object as values of Python, None where one is missing."""
        if not isinstance(context, dict) or not context:
            raise FileFormatError(
                f"context must be an object with keys as in the rounds before, got {shown(context)}"
            )
        return [column.value(context.get(name)) for name, column in self._columns.items()]


def as_frame(rows: Sequence[Sequence[Any]], dtype: FrameType) -> ContextFrame:
    """A table of rows of values, which are of the type of its columns."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(dtype.names)
    fields = zip(columns, dtype.schema, strict=True)
    return ContextFrame.restored(
        [pa.array(column, type=field.type) for column, field in fields], dtype
    )


def _frame_type(columns: "Sequence[_Column]") -> FrameType:
    import pyarrow as pa

    types = {
        None: pa.float64(),  # where all are missing, as in data frames
        "whole": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
        "date": pa.date32(),
        "moment": pa.timestamp("us"),
        "offset": pa.timestamp("us", tz="UTC"),
        "text": pa.string(),
    }
    schema = pa.schema([(column.name, types[column.kind]) for column in columns])
    return ContextFrame.from_arrow(schema.empty_table()).dtype


def in_json(value: Any) -> Any:
    """A value of a table as a value of JSON; None if it is missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.isoformat() if isinstance(value, date) else value


def written(value: Any) -> Any:
    """A value of a table as a cell of text; empty if it is missing."""
    plain = in_json(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return "" if plain is None else plain


def held_of_frames(layout: Layout, *, typed: bool) -> tuple[str, ...]:
    """What text does not hold of tables of contexts; raises if a column is of no kind it holds.

    If it is `typed` it tells strings from numbers, as JSON does.
    """
    from pyarrow import types

    told = {
        *("int64", "double", "bool", "string", "large_string", "string_view"),
        *("date32[day]", "timestamp[us]"),
    }
    held = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_date,
        types.is_timestamp,
        types.is_null,
    )
    notes, texts = [], []
    for field in layout.context_dtype.schema:
        type = field.type.value_type if types.is_dictionary(field.type) else field.type
        if not any(is_held(type) for is_held in held):
            raise InvalidArgumentError(
                f"column {field.name} of the contexts holds {type}, which text does not hold; "
                "write parquet"
            )
        if str(field.type) not in told:
            notes.append(f"the type of column {field.name}, {field.type}")
        if kind_of_type(type) == "text":
            texts.append(field.name)
    if texts:
        others = "dates" if typed else "numbers, true, dates or nothing, such as 007,"
        notes.append(
            f"that {texts[0]} is text: types are told from what is written, and a column of texts "
            f"that all look like {others} is read as that"
        )
    return tuple(notes)


def check_held(contexts: ContextFrame, *, typed: bool) -> None:
    """Raise if a column has a number that could not be read again.

    If text is `typed` it is JSON, which has no infinity.
    """
    import pyarrow.compute as pc
    from pyarrow import types

    for name in contexts.dtype.names:
        column, value = contexts.table[name], None
        if types.is_uint64(column.type):
            value = pc.max(column).as_py()
            value = value if value is not None and value >= 2**63 else None
        elif types.is_floating(column.type) and typed:
            value = pc.any(pc.is_inf(column)).as_py() and "an infinite number"
        if value:
            raise InvalidArgumentError(
                f"column {name} of the contexts has {value}, which {'JSON' if typed else 'text'} "
                "does not hold; write parquet"
            )


class _Column:
    """One column: the narrowest kind that fits the cells seen, and cells as values of it."""

    def __init__(self, name: str, *, typed: bool) -> None:
        self.name = name
        self._typed = typed
        self._kind: str | None = None  # of what is not nan
        self._has_nan = False

    @property
    def kind(self) -> str | None:
        """What fits all cells seen; None if all are missing."""
        return "text" if self._has_nan and self._kind not in _NUMBERS else self._kind

    def see(self, cell: Any) -> None:
        if self._kind == "text" or self._is_empty(cell):
            return
        if self._is_nan(cell):
            self._has_nan = True
            return
        kind = self._narrowest(cell)
        self._kind = kind if self._kind is None else self._joined(self._kind, kind) or self._kind

    def value(self, cell: Any) -> Any:
        kind = self.kind
        if self._is_empty(cell) or (kind in _NUMBERS and self._is_nan(cell)):
            return None
        if self._typed:
            self._check(cell)
        assert kind is not None  # this cell was seen
        return _VALUES[kind](cell)

    def _is_empty(self, cell: Any) -> bool:
        return cell is None or (cell == "" and not self._typed)

    def _is_nan(self, cell: Any) -> bool:
        return not self._typed and cell.strip().lower() == "nan"

    def _narrowest(self, cell: Any) -> str:
        if isinstance(cell, bool):
            return "truth"
        if isinstance(cell, int | float):
            return "whole" if isinstance(cell, int) else "number"
        if not isinstance(cell, str):
            return "text"
        return _moment_kind(cell) if self._typed else _text_kind(cell)

    def _joined(self, first: str, second: str) -> str | None:
        """What holds both; None if values of JSON do not fit."""
        if first == second:
            return first
        wider = _WIDER.get(frozenset({first, second}))
        if wider is not None:
            return wider
        return "text" if not self._typed or {first, second} <= set(_TEXTS) else None

    def _check(self, cell: Any) -> None:
        """Raise unless a value of JSON is of the column's kind."""
        if not isinstance(cell, str | int | float):
            raise FileFormatError(
                f"{self.name} must be a number, a string, true, false or null, got {shown(cell)}"
            )
        if isinstance(cell, str) and not is_text(cell):
            raise FileFormatError(f"{self.name} has half of a surrogate pair, which is not text")
        whole = isinstance(cell, int)
        if not isinstance(cell, str) and not (
            -(2**63) <= cell < 2**63 if whole else math.isfinite(cell)
        ):
            raise FileFormatError(f"{self.name} must be finite and below 2**63, got {shown(cell)}")
        kind = str(self.kind)
        if self._joined(kind, self._narrowest(cell)) != kind:
            what = {"whole": "number", "truth": "truth value", "number": "number"}.get(kind, "text")
            raise FileFormatError(
                f"{self.name} must be a {what} as in the rounds before, got {shown(cell)}"
            )


def _text_kind(cell: str) -> str:
    if as_whole(cell) is not None:
        return "whole"
    number = as_number(cell)
    if number is not None and (math.isfinite(number) or _INFINITE.fullmatch(cell)):
        return "number"
    return "truth" if cell.strip().lower() in _TRUTH else _moment_kind(cell)


def _moment_kind(cell: str) -> str:
    if not _MOMENT.fullmatch(cell):
        return "text"
    try:
        moment = datetime.fromisoformat(cell)
        if moment.tzinfo is not None:
            moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the second at the ends of the years that there are
        return "text"
    if len(cell) == len("2024-05-01"):
        return "date"
    return "moment" if moment.tzinfo is None else "offset"


_VALUES: dict[str, Callable[[Any], Any]] = {
    "whole": int,
    "number": float,
    "truth": lambda cell: cell if isinstance(cell, bool) else _TRUTH[cell.strip().lower()],
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
    "offset": lambda cell: datetime.fromisoformat(cell).astimezone(UTC),
    "text": str,
}
