"""What a class says at some contexts: asked for once, and remembered with the rounds."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.columns import Column

__all__ = ["Answers", "ContextAnswers", "Slates"]


class Answers(ABC):
    """What explorations and evidence need to know of the candidates at n contexts. A value."""

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

    __slots__ = ("_own", "_rows", "_shared")

    def __init__(self, table: npt.NDArray[Any], rows: npt.NDArray[np.intp] | None = None) -> None:
        self._shared = None if rows is None else table
        self._rows = None if rows is None else Column(rows)
        self._own = Column(table) if rows is None else None

    @property
    def table(self) -> npt.NDArray[Any]:
        """Slates, shape (., n_policies, slate_size)."""
        if self._own is not None:
            return self._own.values
        assert self._shared is not None
        return self._shared

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """Where in the table each context has its slates, shape (n,)."""
        return np.arange(len(self)) if self._rows is None else self._rows.values

    def __len__(self) -> int:
        column = self._own if self._rows is None else self._rows
        assert column is not None
        return len(column)

    def take(self, which: Any) -> "Slates":
        """Those at some of the contexts."""
        if self._rows is None:
            return Slates(self.table[which])
        return Slates(self.table, self._rows.values[which])

    def plus(self, later: "Slates") -> "Slates":
        """These, and the others behind them."""
        if not len(self):
            return later
        longer = object.__new__(Slates)
        longer._shared, longer._rows, longer._own = self._shared, None, None
        if self._rows is None:
            assert self._own is not None
            longer._own = self._own.plus(later.table[later.rows])
        else:
            longer._rows = self._rows.plus(later.rows)
        return longer

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """Rows of the class's own table."""
        return self.rows

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "Slates":
        """Other rows of the class's own table."""
        return Slates(self.table, numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._shared, self._rows, self._own

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._shared, self._rows, self._own = state


class ContextAnswers(Answers):
    """The contexts themselves, for a class that cannot be listed: it is asked at each later.

    Parameters
    ----------
    contexts : array of shape (n, ...)
        Checked ones.
    """

    __slots__ = ("_column",)

    def __init__(self, contexts: npt.NDArray[Any]) -> None:
        self._column = Column(contexts)

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """The contexts, shape (n, ...)."""
        return self._column.values

    def __len__(self) -> int:
        return len(self._column)

    def take(self, which: Any) -> "ContextAnswers":
        """Some of the contexts."""
        return ContextAnswers(self.contexts[which])

    def plus(self, later: "ContextAnswers") -> "ContextAnswers":
        """These, and the others behind them."""
        if not len(self):
            return later
        longer = object.__new__(ContextAnswers)
        longer._column = self._column.plus(later.contexts)
        return longer

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """The contexts."""
        return self.contexts

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "ContextAnswers":
        """Other contexts."""
        return ContextAnswers(numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self._column,)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (self._column,) = state
