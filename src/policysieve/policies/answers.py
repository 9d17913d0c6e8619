"""What a class says at some contexts: asked for once, and remembered with the rounds."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.columns import Columns

if TYPE_CHECKING:
    from policysieve.policies.base import Policies

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
    def available(self) -> Available | None:
        """What can be shown at the contexts; None if everything can."""

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
    available : Available, optional
        What can be shown at these contexts, for which the slates were worked out.
    """

    __slots__ = ("_columns", "_lookup", "_n_actions", "table")

    def __init__(
        self,
        table: npt.NDArray[Any],
        rows: npt.NDArray[np.intp] | None = None,
        available: Available | None = None,
    ) -> None:
        self._lookup = rows is not None
        bits = () if available is None else (available.bits,)
        self._n_actions = None if available is None else available.n_actions
        self._columns = Columns(table if rows is None else rows, *bits)
        self.table = _read_only(table)

    @property
    def available(self) -> Available | None:
        """What can be shown at the contexts; None if everything can."""
        if self._n_actions is None:
            return None
        return Available(self._columns.arrays[1], self._n_actions)

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """Where in the table each context has its slates, shape (n,)."""
        return _read_only(self._columns.arrays[0] if self._lookup else np.arange(len(self.table)))

    def sent(self, which: npt.NDArray[np.intp] | None = None) -> "Slates":
        """The same for another process that has the class, with less to send.

        Without the table of all contexts, and without policies that are not among `which`.
        """
        if self._lookup:
            return Slates(self.table[:0], self.rows)
        return self if which is None else Slates(self.table[:, which], available=self.available)

    def received(self, policies: "Policies", which: npt.NDArray[np.intp] | None = None) -> "Slates":
        """What was sent, with the table of the class, and with room for the other policies."""
        if self._lookup:
            return policies.answers_at(self.rows)
        if which is None:
            return self
        shape = (len(self.table), policies.n_policies, policies.slate_size)
        slates = np.zeros(shape, self.table.dtype)
        slates[:, which] = self.table
        return Slates(slates, available=self.available)

    def __len__(self) -> int:
        return len(self._columns.arrays[0])

    def take(self, which: Any) -> "Slates":
        """Those at some of the contexts."""
        taken, available = self._columns.arrays[0][which], self.available
        some = None if available is None else available[which]
        return Slates(self.table, taken) if self._lookup else Slates(taken, None, some)

    def plus(self, later: "Slates") -> "Slates":
        """These, and the others behind them; everything is available where one does not say."""
        if not len(self) or not len(later):
            return self if len(self) else later
        if (self._n_actions is None) != (later._n_actions is None):
            n_actions = self._n_actions or later._n_actions or 0
            return self._restricted(n_actions).plus(later._restricted(n_actions))
        longer = object.__new__(Slates)
        new = later.rows if self._lookup else later.table[later.rows]
        longer._lookup, longer._n_actions = self._lookup, self._n_actions
        longer._columns = self._columns.plus(new, *later._columns.arrays[1:])
        longer.table = self.table if self._lookup else _read_only(longer._columns.arrays[0])
        return longer

    def _restricted(self, n_actions: int) -> "Slates":
        """The same, worked out for these contexts alone, and what is available said."""
        if self._n_actions is not None:
            return self
        everything = Available.everything(len(self), n_actions)
        return Slates(self.table[self.rows], None, everything)

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """Rows of the class's own table."""
        return self.rows

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "Slates":
        """Other rows of the class's own table."""
        return Slates(self.table, numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        table = self.table if self._lookup else None
        return self._lookup, self._columns, table, self._n_actions

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._lookup, self._columns, table, self._n_actions = state
        self.table = _read_only(table if self._lookup else self._columns.arrays[0])


class ContextAnswers(Answers):
    """The contexts themselves, for a class that cannot be listed: it is asked at each later.

    Parameters
    ----------
    contexts : array of shape (n, ...)
        Checked ones.
    available : Available, optional
        What can be shown there, for a list whose policies need not be asked.
    """

    __slots__ = ("_available", "_columns")

    def __init__(self, contexts: npt.NDArray[Any], available: Available | None = None) -> None:
        self._columns, self._available = Columns(contexts), available

    @property
    def available(self) -> Available | None:
        """What can be shown at the contexts; None if everything can."""
        return self._available

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """The contexts, shape (n, ...)."""
        return self._columns.arrays[0]

    def __len__(self) -> int:
        return len(self._columns)

    def take(self, which: Any) -> "ContextAnswers":
        """Some of the contexts."""
        some = None if self._available is None else self._available[which]
        return ContextAnswers(self.contexts[which], some)

    def plus(self, later: "ContextAnswers") -> "ContextAnswers":
        """These, and the others behind them."""
        if not len(self):
            return later
        assert self._available is None is later._available  # of a class that cannot be listed
        longer = object.__new__(ContextAnswers)
        longer._columns, longer._available = self._columns.plus(later.contexts), None
        return longer

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """The contexts."""
        return self.contexts

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "ContextAnswers":
        """Other contexts."""
        return ContextAnswers(numbers)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._columns, self._available

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._columns, self._available = state


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As kernels know it: they would be compiled anew for a table that is mapped from a file."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
