"""What a class says at some contexts: asked for once, and remembered with the rounds."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns

__all__ = ["Answers", "ContextAnswers", "Slates"]


class Answers(ABC):
    """What explorations and evidence need to know of the candidates at n contexts. A value."""

    grows = True
    """Whether `plus` takes amortised constant time for each context."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, which: Any) -> "Answers":
        """Those at some of the contexts, by a slice, a mask or row numbers."""

    @abstractmethod
    def plus(self, later: Any) -> "Answers":
        """These, and the others behind them; amortised constant time for each."""

    @property
    @abstractmethod
    def numbers(self) -> npt.NDArray[np.intp]:
        """The contexts, of a class that numbers them and only looks its answers up."""

    @abstractmethod
    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "Answers":
        """Answers of such a class at other contexts."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Answers":
        return self  # a value


class Slates(Answers):
    """The slates of all policies of a list.

    Parameters
    ----------
    table : integer array of shape (., n_policies, slate_size)
        The table of the whole class, or slates that were worked out for these contexts alone.
    rows : integer array of shape (n,), optional
        The slates at context i are ``table[rows[i]]``; by default ``table[i]``.
    """

    __slots__ = ("_columns", "_lookup", "table")

    def __init__(self, table: npt.NDArray[Any], rows: npt.NDArray[np.intp] | None = None) -> None:
        self._lookup = rows is not None
        self._columns = Columns(table if rows is None else rows)
        self.table = _read_only(table)

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """Where in the table each context has its slates, shape (n,)."""
        return _read_only(self._columns.arrays[0] if self._lookup else np.arange(len(self.table)))

    def __len__(self) -> int:
        return len(self._columns.arrays[0])

    def take(self, which: Any) -> "Slates":
        """Those at some of the contexts."""
        taken = self._columns.arrays[0][which]
        return Slates(self.table, taken) if self._lookup else Slates(taken)

    def plus(self, later: "Slates") -> "Slates":
        """These, and the others behind them."""
        if not len(self):
            return later
        longer = object.__new__(Slates)
        new = later.rows if self._lookup else later.table[later.rows]
        longer._lookup, longer._columns = self._lookup, self._columns.plus(new)
        longer.table = self.table if self._lookup else _read_only(longer._columns.arrays[0])
        return longer

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """Rows of the class's own table."""
        return self.rows

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "Slates":
        """Other rows of the class's own table."""
        return Slates(self.table, numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._lookup, self._columns, self.table if self._lookup else None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._lookup, self._columns, table = state
        self.table = _read_only(table if self._lookup else self._columns.arrays[0])


class ContextAnswers(Answers):
    """The contexts themselves, for a class that cannot be listed: it is asked at each later.

    Parameters
    ----------
    contexts : array of shape (n, ...)
        Checked ones.
    """

    __slots__ = ("_columns",)

    def __init__(self, contexts: npt.NDArray[Any]) -> None:
        self._columns = Columns(contexts)

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """The contexts, shape (n, ...)."""
        return self._columns.arrays[0]

    def __len__(self) -> int:
        return len(self._columns)

    def take(self, which: Any) -> "ContextAnswers":
        """Some of the contexts."""
        return ContextAnswers(self.contexts[which])

    def plus(self, later: "ContextAnswers") -> "ContextAnswers":
        """These, and the others behind them."""
        if not len(self):
            return later
        longer = object.__new__(ContextAnswers)
        longer._columns = self._columns.plus(later.contexts)
        return longer

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """The contexts."""
        return self.contexts

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "ContextAnswers":
        """Other contexts."""
        return ContextAnswers(numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self._columns,)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (self._columns,) = state


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As kernels know it: they would be compiled anew for a table that is mapped from a file."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
