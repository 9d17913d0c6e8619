"""The betting certificate: wealth that only a good leader can earn."""

from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.record import Block, Place, Record
from policysieve.kernels.betting import Bets, bet_on_events, log_mean_wealth
from policysieve.problem import Problem

__all__ = ["Betting", "stakes_for"]

Array = npt.NDArray[np.float64]

_BETS = 8
_BOLDEST = 0.9  # of what could lose everything in one round
_LEVEL = 1.25  # ranges are rounded up to powers of this, so that policies share their bets
_MAX_LEVELS = 24
_HARDEST = 32  # policies on which a bound is searched before it is checked on all
TOLERANCE = 1e-3  # of the bound, relative


def stakes_for(problem: Problem) -> Array:
    """Bets as shares of what a policy's range allows: fixed before the data, and for good."""
    low = min(problem.epsilon / problem.reward_cap, 1.0) / 2
    odds = np.geomspace(low / (1 - low), _BOLDEST / (1 - _BOLDEST), _BETS)
    return np.asarray(odds / (1 + odds))


class Betting:
    """E(pi) = mean over g of prod_i (1 + lam_g (Z_i + eps)) with Z_i = R_i(leader) - R_i(pi).

    If the leader is worse than pi by more than eps, E(pi) is a non-negative supermartingale that
    starts at one, and ever reaches exp(threshold) with probability at most exp(-threshold). So once
    it has, for all pi, the leader is within eps of the best. The bets do not depend on eps, so one
    event covers all eps at once, also eps = 0, by which policies are eliminated (docs/maths.md,
    "Betting").

    A value: wealth up to some place of the record, for one leader, at the problem's epsilon and at
    0. `after` continues it; another leader or another epsilon is computed from the record's events.

    Parameters
    ----------
    problem : Problem
    n_policies : int
    """

    def __init__(self, problem: Problem, n_policies: int) -> None:
        self._problem = problem
        self._n_policies = n_policies
        self._stakes = stakes_for(problem)
        self._leader = -1
        self._state: _Wealth | None = None

    def after(self, record: Record, leader: int) -> Self:
        """The wealth of bets on a leader after all rounds of the record."""
        then = copy(self)
        if self._state is not None and leader == self._leader:
            then._state = self._state.copy()
        else:
            epsilons = np.array([self._problem.epsilon, 0.0])
            then._state = _Wealth(self._stakes, epsilons, leader, self._n_policies)
        then._leader = leader
        then._state.catch_up(record)
        return then

    def log_wealth(self) -> Array:
        """Ln E(pi) at the problem's epsilon and at 0, shape (n_policies, 2)."""
        assert self._state is not None
        return self._state.log_means()

    def smallest_epsilon(
        self,
        leader: int,
        rivals: npt.NDArray[np.intp],
        threshold: float,
        *,
        low: float,
        high: float,
        record: Record,
    ) -> float:
        """The smallest epsilon in (low, high] at which E of all rivals reaches the threshold.

        On the given record; `high` if there is none below. E grows with epsilon.
        """
        if not len(rivals):
            return low
        search = _Search(self._stakes, self._n_policies, leader, threshold, record)
        return search.smallest_epsilon(rivals, low, high)


@dataclass(frozen=True, eq=False)
class _Search:
    """For the smallest epsilon at which rivals of a leader reach the threshold, on a record."""

    stakes: Array
    n_policies: int
    leader: int
    threshold: float
    record: Record

    def smallest_epsilon(self, rivals: npt.NDArray[np.intp], low: float, high: float) -> float:
        """Search on the hardest rivals, and check on all: those that fail join the search."""
        hard = self.hardest(rivals, high)
        while True:
            low = self.bisected(hard, low, high)
            if low >= high:
                return high
            others = np.setdiff1d(rivals, hard)
            failed = others[~(self.log_wealth(others, low) >= self.threshold)]
            if not len(failed):
                return low
            hard = self.hardest(failed, low)

    def bisected(self, rivals: npt.NDArray[np.intp], low: float, high: float) -> float:
        """Bisect for some rivals; `high` unless something smaller is enough."""

        def passes(epsilon: float) -> bool:
            return bool((self.log_wealth(rivals, epsilon) >= self.threshold).all())

        if passes(low):
            return low
        while high - low > TOLERANCE * high:
            middle = (low + high) / 2
            if passes(middle):
                high = middle
            else:
                low = middle
        return high

    def hardest(self, rivals: npt.NDArray[np.intp], epsilon: float) -> npt.NDArray[np.intp]:
        """The rivals with the smallest wealth."""
        if len(rivals) <= _HARDEST:
            return rivals
        wealth = np.nan_to_num(self.log_wealth(rivals, epsilon), nan=-np.inf)
        order = np.argsort(wealth, kind="stable")
        return np.asarray(rivals[order[:_HARDEST]])

    def log_wealth(self, rivals: npt.NDArray[np.intp], epsilon: float) -> Array:
        """Ln E of some rivals at one epsilon, from the events."""
        if not len(rivals):
            return np.empty(0)
        whole = len(rivals) > self.n_policies // 8
        which = None if whole else np.append(rivals, self.leader)
        size = self.n_policies if which is None else len(which)
        place = self.leader if which is None else len(rivals)
        wealth = _Wealth(self.stakes, np.array([epsilon]), place, size, which)
        wealth.catch_up(self.record)
        means = wealth.log_means()[:, 0]
        return means[rivals] if which is None else means[:-1]


class _Wealth:
    """Log-wealth against one leader, for some values of epsilon and all policies or some."""

    def __init__(
        self,
        stakes: Array,
        epsilons: Array,
        leader: int,
        size: int,
        which: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self._stakes, self._leader, self._which = stakes, leader, which
        self._wealth = np.zeros((size, len(epsilons), len(stakes)))
        self._common = np.zeros((1, len(epsilons), len(stakes)))
        self._bets = Bets(np.zeros((1, len(stakes))), np.zeros(size, dtype=np.uint8), epsilons)
        self._range: tuple[float, Array | None] | None = None  # what the bets were set for
        self._place = Place()

    def copy(self) -> "_Wealth":
        """The same wealth; betting on does not change this one."""
        twin = copy(self)
        twin._wealth, twin._common = self._wealth.copy(), self._common.copy()
        return twin

    def catch_up(self, record: Record) -> None:
        """Bet on what was not bet on yet."""
        for block in record.since(self._place):
            self._bet(block)
        self._place = record.end

    def log_means(self) -> Array:
        """Ln of the mean over bets, shape (size, n_epsilons)."""
        out = np.empty(self._wealth.shape[:2])
        log_mean_wealth(self._common, self._bets.level, self._wealth, out)
        return out

    def _bet(self, block: Block) -> None:
        known = self._range
        if known is None or known[0] != block.largest or known[1] is not block.ranges:
            self._set_bets(block)
            self._range = (block.largest, block.ranges)
        events = block.events
        table, rows = events.table, events.rows
        if self._which is not None:
            table, rows = table[rows[:, None], self._which[None, :]], np.arange(len(rows))
        shown = (np.ascontiguousarray(table), rows, events.actions, events.gains, events.n_actions)
        bet_on_events(*shown, self._leader, self._bets, self._common, self._wealth)
        quiet, bets = events.n_rounds - len(events.rounds), self._bets
        self._common += quiet * np.log1p(bets.lam[:, None, :] * bets.epsilons[None, :, None])

    def _set_bets(self, block: Block) -> None:
        """New ranges: fold what was common into each policy, then set levels and bets."""
        self._wealth += self._common[self._bets.level]
        level = np.zeros(len(self._bets.level))
        if block.ranges is not None:
            ranges = block.ranges
            if self._which is not None:
                ranges = ranges[self._which]
            level = np.floor(np.log(block.largest / ranges) / np.log(_LEVEL) + 1e-12)
            level = np.clip(level, 0, _MAX_LEVELS - 1)
        largest = block.largest / _LEVEL ** np.arange(int(level.max()) + 1)
        self._bets = Bets(
            self._stakes[None, :] / largest[:, None], level.astype(np.uint8), self._bets.epsilons
        )
        self._common = np.zeros((len(largest), *self._wealth.shape[1:]))
