"""Columns of contexts that are text because of a few cells, where most look like numbers."""

from math import isfinite
from typing import Any, NamedTuple

from policysieve.frames import ContextFrame

__all__ = ["OddCell", "OddCells"]

_MOST = 0.9  # of the cells of a column look alike, if those that do not are odd
_LEAST = 20  # cells of which that can be said


class OddCell(NamedTuple):
    """A column of text, what most of its cells look like, and the first that does not."""

    column: str
    kind: str
    share: float
    text: str
    round: int


class OddCells:
    """Counts what the cells of text columns look like, batch by batch."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._first: dict[tuple[str, str], tuple[str, int]] = {}
        self._rounds = 0

    @property
    def any(self) -> bool:
        """Whether there are columns of text."""
        return bool(self._counts)

    def add(self, contexts: Any) -> None:
        """Take in contexts; of tables the columns of text are looked at."""
        if isinstance(contexts, ContextFrame) and not contexts.dtype.is_sparse:
            table = contexts.table
            for field in table.schema:
                if str(field.type) in ("string", "large_string", "string_view"):
                    self._add_column(field.name, table[field.name])
        self._rounds += len(contexts)

    def found(self) -> list[OddCell]:
        """Columns most of whose cells do not look like text, with the first cell that does."""
        odd = []
        for column, counts in self._counts.items():
            kind, most = max(counts.items(), key=lambda pair: pair[1])
            cells = sum(counts.values())
            if kind != "text" and _LEAST <= cells != most >= _MOST * cells:
                others = [self._first[column, other] for other in counts if other != kind]
                text, place = min(others, key=lambda pair: pair[1])
                odd.append(OddCell(column, kind, most / cells, text, place))
        return odd

    def _add_column(self, name: str, column: Any) -> None:
        counts = self._counts.setdefault(name, {})
        known: dict[str, str] = {}
        for place, text in enumerate(column.to_pylist(), self._rounds):
            if text is None:
                continue
            kind = known.get(text) or known.setdefault(text, _kind(text))
            counts[kind] = counts.get(kind, 0) + 1
            self._first.setdefault((name, kind), (text, place))


def _kind(text: str) -> str:
    """What a cell looks like."""
    if text.strip().lower() in ("true", "false"):
        return "true or false"
    try:
        return "numbers" if isfinite(float(text)) and "_" not in text else "text"
    except ValueError:
        return "text"
