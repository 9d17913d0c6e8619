"""What rows of text say beside contexts and items: what was available, who came, other outcomes."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.availability import Available
from policysieve.errors import FileFormatError
from policysieve.formats.rules import Rules, too_large
from policysieve.log import Beside

if TYPE_CHECKING:
    from policysieve.formats.text import TextRow

__all__ = ["BesideRows"]

_NOTHING = False, False  # is said of what was available and who came
_BYTES = 1 << 26  # of the bits of what is available, in a batch


class BesideRows:
    """Finds out from all rows of a log what they have beside contexts and items.

    What was available and who came is said in all rows or in none, as in the first one.

    Parameters
    ----------
    rules : Rules
    implied : bool
        Whether files have sets of actions anyway, which say something only if all rows have them
        and they differ.

    Attributes
    ----------
    has_available, has_units : bool
    outcomes : dict with keys that are str
        Names of all outcomes that were seen.
    n_actions : int
        Largest number of an available action, plus one.
    """

    def __init__(self, rules: Rules, *, implied: bool) -> None:
        self._rules, self._implied = rules, implied
        self._first: tuple[bool, bool] | None = None
        self._same: Any = None  # the set of all rows so far
        self._differ = self._unknown = False
        self.outcomes: dict[str, None] = {}
        self.n_actions = 0

    @property
    def has_available(self) -> bool:
        """Whether rows say what was available."""
        if self._implied:
            return self._differ and not self._unknown
        return bool(self._first and self._first[0])

    @property
    def has_units(self) -> bool:
        """Whether rows say who came."""
        return bool(self._first and self._first[1])

    def checked(
        self, row: "TextRow", numbered: Callable[[Iterable[Any], str], list[int]], slate_size: int
    ) -> "TextRow":
        """A row whose available actions are numbers, or raise."""
        said = row.available is not None and not self._implied, row.unit is not None
        self._first = self._first or said
        if said == self._first == _NOTHING and not row.outcomes and row.available is None:
            return row
        for what, mine, theirs in zip(("available", "unit"), said, self._first, strict=True):
            if mine != theirs:
                raise FileFormatError(
                    f"there is {'a value' if mine else 'nothing'} for {what}, unlike in the rounds "
                    "before; all rounds of a log must have it, or none"
                )
        if row.unit is not None and not row.unit:
            raise FileFormatError(
                "unit must name the user or session, got nothing; a round whose user is not known "
                "needs a name of its own"
            )
        for name, values in (row.outcomes or {}).items():
            if len(values) != slate_size or any(map(math.isinf, values)):
                raise FileFormatError(
                    f"outcome {name!r} must be {slate_size} finite numbers, one for each shown "
                    f"item, got {list(values)}"
                )
        if row.available is None:
            return row
        return row._replace(available=self._numbers(row.available, numbered, max(1, slate_size)))

    def see(self, rows: "Sequence[TextRow]") -> set[int]:
        """Take rows that keep to the rules into account; returns the numbers of what is there."""
        used: set[int] = set()
        for row in rows:
            if row.outcomes:
                self.outcomes.update(dict.fromkeys(row.outcomes))
            if row.available is None:
                self._unknown = True
                continue
            self._same = row.available if self._same is None else self._same
            self._differ = self._differ or row.available != self._same
            if self._implied:
                self.n_actions = max(self.n_actions, *(int(one) + 1 for one in row.available[-1:]))
            else:
                used.update(map(int, row.available))
        self.n_actions = max(self.n_actions, max(used, default=-1) + 1)
        return used

    def most_rows(self, where: object, n_actions: int) -> int:
        """How many rounds may be read at once, or raise if one is too long."""
        if not self.has_available:
            return 1 << 62
        size, limit = -(-n_actions // 8), self._rules.max_bytes
        if size > limit:
            raise too_large(where, "what is available in a round is too long", size, limit)
        return max(1, min(_BYTES, limit) // max(1, size))

    def of(self, rows: "Sequence[TextRow]", n_actions: int, slate_size: int) -> Beside:
        """What checked rows have beside contexts and items."""
        available = units = None
        if self.has_available:
            lists: list[Any] = [row.available for row in rows]
            ends = np.append([0], np.cumsum([len(one) for one in lists], dtype=np.int64))
            flat = np.fromiter((action for one in lists for action in one), np.int64, int(ends[-1]))
            available = Available.of_lists(ends, flat, n_actions)
        if self.has_units:
            units = np.array([*(row.unit for row in rows), None], dtype=object)[:-1]
        nothing = [math.nan] * slate_size
        outcomes = {
            name: np.array(
                [(row.outcomes or {}).get(name, nothing) for row in rows], dtype=np.float64
            ).reshape(len(rows), slate_size)
            for name in self.outcomes
        }
        return Beside(available, units, outcomes)

    def _numbers(
        self, given: Sequence[Any], numbered: Callable[[Iterable[Any], str], list[int]], least: int
    ) -> Sequence[int]:
        """Different numbers of what is available in order, or raise."""
        limit = self._rules.largest_action
        if self._implied:
            if isinstance(given, range):
                return range(min(len(given), limit + 1))
            return [action for action in given if action <= limit]
        actions = sorted(set(numbered(given, "an action that is available")))
        if len(actions) < least:
            raise FileFormatError(
                f"available must have at least {least} action{'s' * (least > 1)} to show, got "
                f"{len(actions)}"
            )
        for action in (actions[0], actions[-1]):
            if not 0 <= action <= limit:
                raise FileFormatError(
                    f"an action that is available must be a number from 0 to {limit}, got {action}"
                )
        return actions
