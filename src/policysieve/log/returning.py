"""Who came before: of each user or session the first round, which alone is evidence."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.log.log import Log

__all__ = ["Met", "all_first_rounds", "chosen_rounds", "first_rounds", "first_rows", "mixed_units"]


class Met:
    """The units of all rounds so far, with the number of each one's first round. A value.

    `plus` takes amortised constant time for a round. A second continuation of the same value finds
    the room behind it taken, and copies; one that is abandoned half-way is never seen.

    Parameters
    ----------
    units : iterable of str
        Of rounds in the order of their decisions.
    """

    __slots__ = ("_first", "_free", "rounds")

    def __init__(self, units: Iterable[str] = ()) -> None:
        self._first: dict[str, int] = {}
        self.rounds = 0
        for unit in units:
            self._first.setdefault(unit, self.rounds)
            self.rounds += 1
        self._free = {self.rounds: True}  # who pops it may write into the dict that others read

    def __len__(self) -> int:
        """How many different units there were."""
        return sum(first < self.rounds for first in self._first.values())

    def plus(self, units: npt.NDArray[np.object_]) -> "Met":
        """The same after more rounds."""
        longer = object.__new__(Met)
        longer.rounds = self.rounds + len(units)
        if self._free.pop(self.rounds, False):
            longer._first, longer._free = self._first, self._free
        else:
            known = list(self._first.items())  # at once: another thread may be adding to it
            longer._first = {unit: first for unit, first in known if first < self.rounds}
            longer._free = {}
        for number, unit in enumerate(units, self.rounds):
            longer._first.setdefault(unit, number)
        longer._free[longer.rounds] = True
        return longer

    def first_numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the first rounds of units, in order."""
        found = (number for number in list(self._first.values()) if number < self.rounds)
        return np.fromiter(found, np.int64)

    def are_first(
        self, units: npt.NDArray[np.object_], numbers: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.bool_]:
        """Whether rounds that are among those so far, by their numbers, are the first of units."""
        first = self._first
        found = np.fromiter((first[unit] for unit in units), np.int64, len(units))
        return np.asarray(found == numbers)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Met":
        return self  # a value

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ({u: t for u, t in self._first.items() if t < self.rounds}, self.rounds)


def _restored(first: dict[str, int], rounds: int) -> Met:
    met = Met()
    met._first, met.rounds, met._free = first, rounds, {rounds: True}
    return met


def first_rounds(log: Log, met: Met | None, rounds: int) -> tuple[Log, Met | None]:
    """Those rounds of a log that are the first of their units, and who was met after it.

    A log without units is returned as it is (docs/maths.md, "One round of each unit").

    Parameters
    ----------
    log : Log
    met : Met or None
        In earlier rounds; None if their units were not named.
    rounds : int
        How many earlier rounds there are that count.

    Raises
    ------
    InvalidArgumentError
        If units are named in the earlier rounds or in these, but not in both.
    """
    rows, met = first_rows(log, met, rounds)
    return (log if rows is None else chosen_rounds(log, rows)), met


def first_rows(
    log: Log, met: Met | None, rounds: int
) -> tuple[npt.NDArray[np.intp] | None, Met | None]:
    """Rows of the same rounds, None for all of them, and who was met after the log."""
    units = log.units
    if not len(log):
        return None, met
    if rounds and (units is None) != (met is None):
        raise mixed_units()
    if units is None:
        return None, None
    before = met or Met()
    after = before.plus(units)
    first = after.are_first(units, np.arange(before.rounds, after.rounds))
    return (None if first.all() else np.flatnonzero(first)), after


def all_first_rounds(pieces: Iterable[Log]) -> Iterator[Log]:
    """The same of all pieces of a log."""
    met, rounds = None, 0
    for piece in pieces:
        counted, met = first_rounds(piece, met, rounds)
        rounds += len(counted)
        yield counted


def mixed_units() -> InvalidArgumentError:
    """The error that units are named in some rounds, and not in others."""
    return InvalidArgumentError(
        "units must be named in all rounds or in none, because who has come before must be known; "
        "say who came in the others, too, or leave units out if nobody comes back"
    )


def chosen_rounds(log: Log, rows: npt.NDArray[np.intp]) -> Log:
    """The rounds of some rows."""
    distributions = log.distributions
    return Log.trusted(
        log.contexts[rows],
        log.actions[rows],
        log.propensities[rows],
        log.rewards[rows],
        distributions=None if distributions is None else distributions[rows],
        action_names=log.action_names,
        beside=log.beside[rows],
        reward_range=log.reward_range,
    )
