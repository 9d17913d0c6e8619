"""Tables with columns of our own: which of them hold what, and contexts out of their cells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import as_number, as_whole, finite, finite_row, whole

__all__ = ["ITEMS", "FeatureCells", "ScalarCells", "TableColumns", "item_names", "understand"]

ITEMS = ("action", "propensity", "reward")
_ITEM = re.compile(rf"({'|'.join(ITEMS)})(_\d+)?")
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # what pandas calls one without a name
_WHOLE: np.dtype[Any] = np.dtype(np.int64)
_NUMBER: np.dtype[Any] = np.dtype(np.float64)
_TEXT: np.dtype[Any] = np.dtype(object)
_CONTEXT_NAMES = "id, time, context or x0, x1, ..."
_NAMES = f"{_CONTEXT_NAMES}, and action, propensity, reward or action_0, action_1, ..."


@dataclass(frozen=True)
class TableColumns:
    """Names of a table's columns by what they hold.

    Attributes
    ----------
    features : list of str
        x0, x1, ...; empty if there is one column ``context``.
    items : dict of str to list of str
        For each of `ITEMS`, the column of each item of a slate; none if contexts alone are read.
    """

    features: list[str]
    items: dict[str, list[str]]

    @property
    def needed(self) -> list[str]:
        """Columns that must be there."""
        return [*(self.features or ["context"]), *(n for kind in ITEMS for n in self.items[kind])]


def item_names(kind: str, numbered: int) -> list[str]:
    """Columns of the items of a slate; one without a number if none is numbered."""
    return [f"{kind}_{i}" for i in range(numbered)] or [kind]


def understand(
    path: Path, names: list[str], *, optional: Sequence[str], contexts_only: bool
) -> TableColumns:
    """Find out what the columns of a file hold, or raise `FileFormatError`.

    Columns of full distributions are `optional`. If contexts alone are read, so are those of items.
    """
    numbered = sum(bool(re.fullmatch(r"action_\d+", name)) for name in names)
    found = sum(bool(re.fullmatch(r"x\d+", name)) for name in names)
    items = {kind: [] if contexts_only else item_names(kind, numbered) for kind in ITEMS}
    table = TableColumns([f"x{i}" for i in range(found)], items)
    missing = [name for name in table.needed if name not in names]
    left_aside = [name for name in names if contexts_only and _ITEM.fullmatch(name)]
    known = (*table.needed, "id", "time", *optional, *left_aside)
    unknown = [name for name in names if name not in known]
    if missing or unknown:
        columns = _CONTEXT_NAMES if contexts_only else ", ".join([_NAMES, *optional])
        problem = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        index = not missing and _INDEX.fullmatch(unknown[0])
        hint = ", which may be the index of a data frame: leave it out (index=False)"
        raise FileFormatError(
            f"{path} has {problem} among {', '.join(names)}{hint if index else ''}; columns are "
            f"{columns}"
        )
    return table


class ScalarCells:
    """One cell a round: whole numbers if all are, else numbers if all are, else strings."""

    shape: tuple[int, ...] = ()

    def __init__(self) -> None:
        self._all_whole = self._all_numbers = True
        self._any = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest that holds all cells."""
        if not self._any:
            return _TEXT
        return _WHOLE if self._all_whole else _NUMBER if self._all_numbers else _TEXT

    def see(self, context: str) -> None:
        """Take one cell into account; an empty one says nothing."""
        if context and self._all_numbers:
            self._any = True
            self._all_whole = self._all_whole and as_whole(context) is not None
            self._all_numbers = self._all_whole or as_number(context) is not None

    def value(self, context: str) -> Any:
        """The number or the string."""
        if self.dtype == _TEXT:
            return context
        return whole("context", context) if self.dtype == _WHOLE else finite("context", context)


class FeatureCells:
    """A row of cells, all of them numbers; whole numbers if all are."""

    def __init__(self, names: list[str]) -> None:
        self.shape: tuple[int, ...] = (len(names),)
        self._names = names
        self._all_whole = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest that holds all cells."""
        return _WHOLE if self._all_whole else _NUMBER

    def see(self, context: list[str]) -> None:
        """Take one row of cells into account."""
        self._all_whole = self._all_whole and all(as_whole(cell) is not None for cell in context)

    def value(self, context: list[str]) -> list[float]:
        """The row as numbers."""
        if self._all_whole:
            return [whole(name, cell) for name, cell in zip(self._names, context, strict=True)]
        return finite_row(self._names, context)
