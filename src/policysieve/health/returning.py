"""Whether users come back: by their names, or by contexts that come again too soon."""

from math import lgamma, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.log.returning import Met

__all__ = ["Returning", "SoonAgain"]

_MOST = 1 << 14  # contexts that are followed
_LEAST = 50  # rounds by which contexts come again too soon, and their share of those followed
_SHARE = 0.05
_SURE = 6.0  # standard errors
_SOON = 100  # this part of the log is soon


class SoonAgain(NamedTuple):
    """How often a context comes again soon after it was there.

    Attributes
    ----------
    rounds : int
        Rounds that were looked at.
    again : int
        Those whose context was there at most `within` rounds before.
    expected : float
        How many there would be if the same rounds were in random order.
    within : int
    """

    rounds: int
    again: int
    expected: float
    within: int

    @property
    def too_often(self) -> bool:
        """Whether that is no chance, and matters."""
        excess = self.again - self.expected
        least = max(_LEAST, _SHARE * self.rounds, _SURE * sqrt(self.expected))
        return excess > least


class Returning:
    """Who came back, batch by batch.

    With units, memory grows with their number. Without, some contexts are followed: all if they
    are not many, else those of some hashes, which says nothing of what is in them.

    Attributes
    ----------
    met : Met or None
        The units; None if they are not named.
    largest : (str, int)
        The unit with the most rounds, and how many these are.
    """

    def __init__(self) -> None:
        self.met: Met | None = None
        self._visits: dict[str, int] = {}
        self._rounds = 0
        self._share = 0  # contexts whose hash has so many zeros at its end are followed
        self._places: dict[int, tuple[int, list[int]]] = {}  # the last round, and gaps before it

    @property
    def largest(self) -> tuple[str, int]:
        """The unit with the most rounds, and how many these are."""
        return max(self._visits.items(), key=lambda pair: pair[1])

    def add(
        self, units: npt.NDArray[np.object_] | None, codes: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.bool_] | None:
        """Take in rounds by their units and hashes of their contexts.

        Returns which of them are the first of their units, if these are named.
        """
        n, first = len(codes), None
        if units is not None:
            before = self.met or Met()
            self.met = before.plus(units)
            first = self.met.are_first(units, np.arange(before.rounds, before.rounds + n))
            for unit in units:
                self._visits[unit] = self._visits.get(unit, 0) + 1
        else:
            self._follow(_mixed(codes))
        self._rounds += n
        return first

    def soon_again(self) -> SoonAgain:
        """How often contexts come again soon (docs/maths.md, "Contexts that come again")."""
        n = self._rounds
        power = max(0, (n // _SOON).bit_length() - 1)
        again, expected, looked = 0, 0.0, 0
        for _, gaps in self._places.values():
            count = sum(gaps) + 1
            looked += count
            again += sum(gaps[: power + 1])
            expected += (count - 1) * _soon(n, count, (1 << power))
        return SoonAgain(looked, again, expected, 1 << power)

    def _follow(self, hashes: npt.NDArray[np.uint64]) -> None:
        mask = np.uint64((1 << self._share) - 1)
        rows = np.flatnonzero((hashes & mask) == 0)
        for row, key in zip(rows.tolist(), hashes[rows].tolist(), strict=True):
            place, known = self._rounds + row, self._places.get(key)
            if known is None:
                self._places[key] = (place, [])
                continue
            last, gaps = known
            size = (place - last - 1).bit_length()  # gaps of at most 2^size
            gaps.extend([0] * (size + 1 - len(gaps)))
            gaps[size] += 1
            self._places[key] = (place, gaps)
        while len(self._places) > _MOST:
            self._share += 1
            low = (1 << self._share) - 1
            self._places = {key: one for key, one in self._places.items() if not key & low}


def _mixed(codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hashes whose lower bits are as good as the upper ones."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        codes = (codes ^ (codes >> np.uint64(33))) * np.uint64(factor)
    return codes ^ (codes >> np.uint64(33))


def _soon(n: int, count: int, within: int) -> float:
    """Probability that the next of `count` places, at random among n, is at most so far away.

    1 - C(n - w, c) / C(n, c), the same for all gaps between neighbours.
    """
    if n - within < count:
        return 1.0
    log_none = lgamma(n - within + 1) - lgamma(n - within - count + 1)
    return 1.0 - float(np.exp(log_none - lgamma(n + 1) + lgamma(n - count + 1)))
