"""Tables of results, which pages and the command line show alike, and their values as text."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from policysieve.errors import InvalidArgumentError

__all__ = [
    "Beyond",
    "CellValue",
    "Table",
    "column_texts",
    "exact_text",
    "flat_texts",
    "gain_fact",
    "is_number",
    "shown_text",
    "sort_key",
    "value_text",
]

_UNKNOWN = "\N{EN DASH}"
_DIGITS = 4
_MOST_DECIMALS = 6


class Beyond(float):
    """A number that was not enough: shown with a sign for more, sorted as the number."""


CellValue: TypeAlias = str | int | float | np.generic | None
"""What a table or a fact can show. None and NaN are shown as a dash."""


@dataclass(frozen=True)
class Table:
    """What a table shows, and how to read it.

    Parameters
    ----------
    title : str
        What it shows, without a full stop.
    columns : sequence of str
    rows : sequence of sequences
        One value for each column; the first one names the row.
    note : str
        Sentences about how to read it.
    fold : str, optional
        A page hides the table behind these words until they are clicked; a terminal leaves it out.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[CellValue]]
    note: str = ""
    fold: str | None = None

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidArgumentError(
                    f"rows must have {len(self.columns)} values like the columns, got {len(row)} "
                    f"in row {number}"
                )

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers only."""
        return [
            all(is_number(row[column]) for row in self.rows) for column in range(len(self.columns))
        ]

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as they are shown, the numbers of a column alike."""
        columns = [column_texts(values) for values in zip(*self.rows, strict=True)]
        return list(zip(*columns, strict=True))


def value_text(value: CellValue) -> str:
    """One value by itself: numbers with four digits, yes or no, a dash for None and NaN."""
    plain = _plain(value)
    if plain is None:
        return _UNKNOWN
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    if isinstance(plain, int):
        return _minus(f"{plain:,}")
    if isinstance(plain, Beyond):
        return f">{plain:,.0f}"
    if isinstance(plain, float):
        return _minus(f"{plain:.{_DIGITS}g}")
    return plain


def shown_text(slate_size: int) -> str:
    """How many items a round shows."""
    return "one shown" if slate_size == 1 else f"{slate_size:,} shown"


def exact_text(value: CellValue) -> str:
    """One value by itself, numbers with all their digits and as one would type them."""
    plain = _plain(value)
    is_plain_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    return repr(plain) if is_plain_number else value_text(plain)


def flat_texts(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings in tables within tables: their keys as messages name them, and exact values."""
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from flat_texts(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
            for number, entry in enumerate(value):
                yield from flat_texts(entry, f"{prefix}{name}[{number}].")
        elif isinstance(value, list | tuple):
            yield prefix + name, ", ".join(map(exact_text, value))
        else:
            yield prefix + name, exact_text(value)


def column_texts(values: Iterable[CellValue]) -> list[str]:
    """The values of a table's column, its broken numbers all with the same decimals."""
    cells = [_plain(value) for value in values]
    plain = [x for x in cells if isinstance(x, float) and not isinstance(x, Beyond)]
    sizes = [abs(x) for x in plain if x and math.isfinite(x)]
    whole = math.floor(math.log10(max(sizes))) + 1 if sizes else 0  # digits before the point
    if not _DIGITS - _MOST_DECIMALS <= whole <= 9:
        return [value_text(cell) for cell in cells]
    decimals = max(0, _DIGITS + (whole > 0) - whole)
    return [
        _minus(f"{cell:,.{decimals}f}")
        if isinstance(cell, float) and not isinstance(cell, Beyond)
        else value_text(cell)
        for cell in cells
    ]


def is_number(value: CellValue) -> bool:
    """Whether a value is shown as a number, or as the dash of a missing one."""
    plain = _plain(value)
    return plain is None or (isinstance(plain, int | float) and not isinstance(plain, bool))


def sort_key(value: CellValue) -> str:
    """What a page sorts the value by; empty, which goes last, when it is not known."""
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        return repr(plain).replace("inf", "Infinity")  # as JavaScript spells it
    return value_text(plain)


def _plain(value: CellValue) -> str | int | float | None:
    """A Python value without NaN."""
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, float) and math.isnan(item):
        return None
    return item if isinstance(item, str | int | float | None) else str(item)


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}").replace("inf", "\N{INFINITY}")


def gain_fact(
    gain: float | None, against: str | None
) -> dict[str, CellValue | tuple[CellValue, str]]:
    """How much better than what runs today, for the headlines of a page; nothing if not asked."""
    if against is None:
        return {}
    is_better = gain is not None and gain > 0
    note = "at least, which is proved" if is_better else "it is not proved to be better"
    return {f"Better than {against} by": (gain, note)}
