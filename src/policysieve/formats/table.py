"""Tables with columns of our own: which of them hold what, and contexts out of their cells."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from policysieve.checks import OF_SLATES
from policysieve.errors import FileFormatError
from policysieve.formats.beside_names import AVAILABLE, OUTCOME, UNIT, outcomes_in
from policysieve.formats.cells import as_number, as_whole, finite, finite_row, whole
from policysieve.log.mapping import ITEMS, guessed

__all__ = [
    "FRAME_PREFIX",
    "ITEMS",
    "FeatureCells",
    "MissingColumnError",
    "ScalarCells",
    "TableColumns",
    "advice",
    "check_different",
    "check_mapped",
    "item_names",
    "keeps_missing",
    "understand",
]

FRAME_PREFIX = "context:"  # how the names of columns of a table of contexts begin
_ITEM = re.compile(rf"({'|'.join(ITEMS)})(_\d+)?")
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # what pandas calls one without a name
_WHOLE: np.dtype[Any] = np.dtype(np.int64)
_NUMBER: np.dtype[Any] = np.dtype(np.float64)
_TEXT: np.dtype[Any] = np.dtype(object)
_CONTEXT_NAMES = "id, time, unit, available, context or x0, x1, ... or context:NAME, ..."
_NAMES = (
    f"{_CONTEXT_NAMES}, and outcome:NAME, action, propensity, reward or action_0, action_1, ..."
)
_BESIDE = (AVAILABLE, UNIT)


@dataclass(frozen=True)
class TableColumns:
    """Names of a table's columns by what they hold.

    Attributes
    ----------
    features : list of str
        x0, x1, ...; or those of a table; empty if there is one column ``context``.
    framed : bool
        Whether the features are columns of a table, whose names begin with ``context:``.
    items : dict of str to list of str
        For each of `ITEMS`, the column of each item of a slate; none if contexts alone are read.
    outcomes : dict of str to list of str
        For each other outcome the same.
    """

    features: list[str]
    items: dict[str, list[str]]
    outcomes: dict[str, list[str]]
    framed: bool = False

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
    framed = [name for name in names if name.startswith(FRAME_PREFIX) and name != FRAME_PREFIX]
    features = framed or [f"x{i}" for i in range(found)]
    outcomes = {} if contexts_only else outcomes_in(path, names, numbered)
    table = TableColumns(features, items, outcomes, framed=bool(framed))
    there = frozenset(names)
    missing = [name for name in table.needed if name not in there]
    left_aside = [
        name
        for name in names
        if contexts_only and (_ITEM.fullmatch(name) or OUTCOME.fullmatch(name))
    ]
    others = [name for several in outcomes.values() for name in several]
    known = {*table.needed, *others, "id", "time", *_BESIDE, *optional, *left_aside}
    unknown = [name for name in names if name not in known]
    if missing or unknown:
        columns = _CONTEXT_NAMES if contexts_only else ", ".join([_NAMES, *optional])
        problem = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        if missing[:1] == ["reward_0"] and "reward" in names:
            raise FileFormatError(
                f"{path} has one column 'reward' for slates of {numbered} actions: {OF_SLATES}"
            )
        index = not missing and _INDEX.fullmatch(unknown[0])
        hint = ", which may be the index of a data frame: leave it out (index=False)"
        raise FileFormatError(
            f"{path} has {problem} among {', '.join(names)}{hint if index else ''}; columns are "
            f"{columns}{advice(names, contexts_only=contexts_only) if missing else ''}"
        )
    return table


def advice(names: Sequence[str], *, contexts_only: bool = False) -> str:
    """How to say what the columns of others hold."""
    if any(sign in name for name in names for sign in ",+="):
        return (
            '; say what yours hold, in a TOML file: --map columns.toml, or columns={"action": ...} '
            "of LogFile"
        )
    return (
        "; if it is a table of your own, say what its columns hold: --map "
        f"{quote(guessed(names, contexts_only=contexts_only))}, or columns= of LogFile"
    )


class MissingColumnError(FileFormatError):
    """A file has no column of a name that a map has."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


def check_mapped(
    path: object, names: Sequence[str], wanted: Sequence[str], *, what: str = "column"
) -> None:
    """Raise unless all columns that a map names are there."""
    missing = [name for name in wanted if name not in names]
    if missing:
        close = get_close_matches(missing[0], names, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise MissingColumnError(
            missing[0],
            f"{path} has no {what} {missing[0]!r}, which the map of columns names, among "
            f"{', '.join(names)}{meant}",
        )


def check_different(path: object, names: Sequence[str], needed: Sequence[str]) -> None:
    """Raise if a column that is needed is there twice."""
    counts = Counter(names)
    twice = [name for name in needed if counts[name] > 1]
    if twice:
        raise FileFormatError(f"{path} must have different columns, {twice[0]!r} is there twice")


def keeps_missing(name: str) -> str:
    """What to do if values of a column that a map has as the context may be missing."""
    return f'; a table of contexts keeps missing values: write context = ["{name}"] in the map'


class ScalarCells:
    """One cell a round: whole numbers if all are, else numbers if all are, else strings.

    Parameters
    ----------
    mapped : str, optional
        The column that a map has as the context; by default it is one of our own.
    """

    shape: tuple[int, ...] = ()

    def __init__(self, mapped: str | None = None) -> None:
        self._name, self._mapped = mapped or "context", mapped
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
        if not context and self._mapped is not None:
            raise FileFormatError(f"{self._name}, the context, is empty{keeps_missing(self._name)}")
        if self.dtype == _WHOLE:
            return whole(self._name, context)
        return finite(self._name, context)


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
