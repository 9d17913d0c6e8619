"""Actions of text files: numbers, or names whose numbers are found out from all of a log."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.cells import as_number, whole
from policysieve.log.named import Names
from policysieve.naming import number_of

__all__ = ["MANY_NAMES", "ActionCell", "Actions", "available_in", "seem_numbers"]

MANY_NAMES = 1 << 20  # different names that a log may have, more are ids
_GIVE = (
    "if actions are names, say which there are (--actions hats,shoes,... or actions=[...] of "
    "LogFile)"
)


class ActionCell(str):
    """A text that may be the number of an action or its name; another text is a name."""

    __slots__ = ()


def available_in(name: str, cell: str) -> list[ActionCell]:
    """The actions that a cell such as ``3 7``, ``hats red%20shoes`` or ``["hats"]`` lists."""
    if not cell.lstrip().startswith("["):
        return [ActionCell(unquote(word)) for word in cell.split()]
    try:
        listed: Any = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{name} is not a list of JSON ({error}), got {cell[:60]!r}"
        ) from error
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise FileFormatError(
                f"{name} must list numbers or names of actions, got {json.dumps(one)[:60]}"
            )
    return [ActionCell(one) for one in listed]


class Actions:
    """What actions of one log are: numbers or names, as the first one is.

    A cell of text that is one of the declared names is that name, also if it looks like a number.
    Where there are such cells, those that are no names are refused, whichever came first.

    Parameters
    ----------
    declared : tuple of str, optional
        All names that there are, in the order of their numbers; by default those that are met, in
        alphabetical order once `settle` was called.
    """

    def __init__(self, declared: Names) -> None:
        self._declared = declared
        self._numbers = {name: number for number, name in enumerate(declared or ())}
        self._named: bool | None = None
        self._cells: set[str] = set()

    @property
    def are_numbers(self) -> bool:
        """Whether those that were met are numbers."""
        return self._named is False

    @property
    def cells(self) -> frozenset[str]:
        """Texts that were taken for numbers, and would be names if anybody had named them."""
        return frozenset(self._cells if self._declared is None else ())

    @property
    def names(self) -> Names:
        """Names by their numbers; None if actions are numbers and none were declared."""
        return tuple(self._numbers) if self._named else self._declared

    def numbered(self, entries: Iterable[int | str], what: str = "an action") -> list[int]:
        """The numbers of some actions, or `FileFormatError` that says `what` must be one."""
        return [self._number(entry, what) for entry in entries]

    def settle(self, used: set[int]) -> None:
        """Number the names that were used in alphabetical order, unless they were declared."""
        if self._named and self._declared is None:
            names = sorted(name for name, number in self._numbers.items() if number in used)
            self._numbers = {name: number for number, name in enumerate(names)}

    def _number(self, entry: int | str, what: str) -> int:
        if self._named is None:
            self._named = self._is_name(entry)
        if not self._named:
            if isinstance(entry, ActionCell):
                return self._whole(entry, what)
            if isinstance(entry, str):
                raise FileFormatError(
                    f"{what} must be a whole number as in the rounds before, got {entry!r}"
                )
            return entry
        if not isinstance(entry, str):
            raise FileFormatError(
                f"{what} must be a name as in the rounds before, got {entry}; write it as text"
            )
        return self._number_of_name(str(entry), what)

    def _is_name(self, entry: int | str) -> bool:
        if isinstance(entry, ActionCell) and entry not in self._numbers:
            return _is_text(entry)
        return isinstance(entry, str)

    def _whole(self, cell: ActionCell, what: str) -> int:
        """The number that a cell is; names that look like numbers are not taken for them."""
        if cell in self._numbers:
            raise FileFormatError(
                f"{what} must be a whole number as in the rounds before, which are no names of "
                f"actions, got the name {str(cell)!r}; write names in all rounds, or in none"
            )
        number = _whole(cell, what)
        if self._declared is None and len(self._cells) < MANY_NAMES:
            self._cells.add(str(cell))
        return number

    def _number_of_name(self, name: str, what: str) -> int:
        number = self._numbers.get(name)
        if number is not None:
            return number
        if self._declared is not None:
            try:
                return number_of(what, name, self._declared)
            except InvalidArgumentError as error:
                raise FileFormatError(str(error)) from None
        if not name.strip():
            raise FileFormatError(f"{what} must be a name, got {name!r}")
        if len(self._numbers) >= MANY_NAMES:
            raise FileFormatError(
                f"actions must have at most {MANY_NAMES:,} different names, got {name!r} in "
                "addition; is this a column of ids?"
            )
        self._numbers[name] = len(self._numbers)
        return self._numbers[name]


def seem_numbers(names: Names) -> list[str]:
    """The names that a file of text cannot tell from numbers."""
    return [name for name in names or () if not _is_text(name)]


def _is_text(cell: str) -> bool:
    """Whether a cell is neither empty nor a number of any kind."""
    return bool(cell.strip()) and as_number(cell) is None


def _whole(cell: str, what: str) -> int:
    if _is_text(cell):
        raise FileFormatError(
            f"{what} must be a whole number as in the rounds before, got {str(cell)!r}; {_GIVE}"
        )
    return whole(what, str(cell))
