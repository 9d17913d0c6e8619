"""The betting certificate where only a floor under the propensities is known."""

from copy import copy
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.record import Block, Place, Record
from policysieve.kernels.betting import bet_on_events
from policysieve.problem import Problem

__all__ = ["Betting", "log_mean_exp", "log_prior", "stakes_for"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_BETS = 8
_BOLDEST = 0.9  # of what could lose everything in one round
_SLACK = 0.99  # of what could lose everything in one round, for stakes that shrink with a gain
_ON_BOLDEST = 0.5  # share of the capital that is bet so; the others have equal parts of the rest


def stakes_for(problem: Problem) -> Array:
    """Bets as shares of what the range allows: fixed before the data, and for good."""
    low = min(problem.epsilon / problem.reward_cap, 1.0) / 2
    odds = np.geomspace(low / (1 - low), _BOLDEST / (1 - _BOLDEST), _BETS)
    return np.asarray(odds / (1 + odds))


def log_prior(n_stakes: int) -> Array:
    """Logarithm of the share of the capital that each stake begins with."""
    shares = np.full(n_stakes, (1 - _ON_BOLDEST) / (n_stakes - 1))
    shares[-1] = _ON_BOLDEST
    return np.asarray(np.log(shares))


def log_mean_exp(log_wealth: Array) -> Array:
    """Ln of the mean over the last axis of what these are logarithms of."""
    top = log_wealth.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(log_wealth - top).mean(axis=-1)))


class Betting:
    """E(pi) = sum over g of p_g prod_i (1 + lam_g (Z_i + eps)) with Z_i = R_i(leader) - R_i(pi).

    If the leader is worse than pi by more than eps, E(pi) is a non-negative supermartingale that
    starts at one, and ever reaches exp(threshold) with probability at most exp(-threshold). So once
    it has, for all pi, the leader is within eps of the best. The bets do not depend on eps, so one
    event covers all eps at once, also eps = 0, by which policies are eliminated (docs/maths.md,
    "Betting"). A negative eps is a gain g that is bet on: stakes shrink to lam/(1 + lam g/.99)
    then, so that nothing is lost at once (docs/maths.md, "Differences").

    A value: wealth up to some place of the record, for one leader, some values of epsilon, and all
    policies or some. `after` continues it.

    Parameters
    ----------
    problem : Problem
    leader : int
    epsilons : float array
    n_policies : int
    which : integer array, optional
        Policies to bet against; all by default.
    """

    def __init__(
        self,
        problem: Problem,
        leader: int,
        epsilons: Array,
        n_policies: int,
        which: Numbers | None = None,
    ) -> None:
        self.leader = leader
        self._gains, self._stakes = np.maximum(-epsilons, 0.0), stakes_for(problem)
        self._epsilons = np.where(epsilons < 0, self._gains / _SLACK - self._gains, epsilons)
        self._which = None if which is None else np.append(which, leader)
        size = n_policies if self._which is None else len(self._which)
        self._place_of_leader = leader if self._which is None else size - 1
        self._wealth = np.zeros((size, len(epsilons), len(self._stakes)))
        self._common = np.zeros(self._wealth.shape[1:])
        self._place = Place()

    def after(self, record: Record) -> Self:
        """The wealth after all rounds of the record."""
        then = copy(self)
        then._wealth, then._common = self._wealth.copy(), self._common.copy()
        for block in record.since(self._place):
            then._bet(block)
        then._place = record.end
        return then

    def log_wealth(self) -> Array:
        """Ln E(pi), shape (n_policies or len(which), n_epsilons)."""
        held = self._wealth if self._which is None else self._wealth[:-1]
        prior = log_prior(len(self._stakes)) + np.log(len(self._stakes))
        return log_mean_exp(held + self._common + prior)

    def _bet(self, block: Block) -> None:
        events, bets = block.events, self._stakes / block.largest
        table, rows = events.table, events.rows
        if self._which is not None:
            table, rows = table[rows[:, None], self._which[None, :]], np.arange(len(rows))
        bet_on_events(
            np.ascontiguousarray(table),
            rows,
            events.actions,
            events.gains,
            events.n_actions,
            self._place_of_leader,
            bets,
            self._epsilons,
            self._common,
            self._wealth,
        )
        quiet = events.n_rounds - len(events.rounds)
        self._common += quiet * np.log1p(bets * self._epsilons[:, None])
        self._common -= events.n_rounds * np.log1p(bets * self._gains[:, None] / _SLACK)
