"""Bets on the leader at hand in all rounds, as if it had always led."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.certificate import Proof, delta_shares
from policysieve.evidence.past import Past
from policysieve.evidence.standing import (
    FIXED_STAKES,
    STAKE_SHARES,
    Standing,
    log_factors,
    sparsity_of,
)
from policysieve.kernels.capped import AGAINST, add_value_factors
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Retrospect", "proof_in_retrospect"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_FEW = 64  # rivals whose bets are made for many epsilons at once


@dataclass(frozen=True, eq=False)
class Retrospect:
    """How far bets on one leader have got, at the problem's epsilon. A value.

    Rivals are looked at from the hardest on, until one does not reach the threshold. Bets against
    each go on from where they were when it was last looked at.

    Attributes
    ----------
    problem : Problem
    log_threshold : float
    leader : int
    rivals : integer array of shape (n,)
        Those that were ever looked at, in increasing order.
    rounds : integer array of shape (n,)
        Behind the wealth.
    log_wealth : float array of shape (n, n_stakes)
    holds : bool
        Whether all rivals reach the threshold.
    """

    problem: Problem
    log_threshold: float
    leader: int
    rivals: Numbers
    rounds: npt.NDArray[np.int64]
    log_wealth: Array
    holds: bool = False

    @classmethod
    def first(cls, problem: Problem, n_policies: int, leader: int = 0) -> Self:
        """Nobody was looked at yet."""
        n_stakes = len(FIXED_STAKES) + len(STAKE_SHARES)
        nobody, none = np.empty(0, np.intp), np.empty(0, np.int64)
        threshold = delta_shares.log_retrospect(problem.delta, n_policies)
        return cls(problem, threshold, leader, nobody, none, np.empty((0, n_stakes)))

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self.rivals.nbytes + self.rounds.nbytes + self.log_wealth.nbytes

    def after(self, past: Past, standing: Standing, policies: Policies) -> "Retrospect":
        """After all rounds of the past, for the leader and the survivors of a standing."""
        leader, held = standing.leader, self
        if leader != self.leader:
            held = self.first(self.problem, standing.n_policies, leader)
        held = held._of(standing.survivors)
        for rivals in standing.rivals(policies):
            held, log_wealth = held._brought_up(past, rivals)
            if not (log_wealth >= self.log_threshold).all():
                return replace(held, holds=False)
        return replace(held, holds=True)

    def _of(self, survivors: Numbers) -> "Retrospect":
        """The same without rivals that were eliminated."""
        places = np.minimum(survivors.searchsorted(self.rivals), len(survivors) - 1)
        stay = survivors[places] == self.rivals
        if stay.all():
            return self
        return replace(
            self,
            rivals=self.rivals[stay],
            rounds=self.rounds[stay],
            log_wealth=self.log_wealth[stay],
        )

    def _brought_up(self, past: Past, rivals: Numbers) -> tuple["Retrospect", Array]:
        """With bets against some rivals in all rounds, and their log-wealth."""
        everyone = np.union1d(self.rivals, rivals)
        before = everyone.searchsorted(self.rivals)
        rounds = np.zeros(len(everyone), np.int64)
        log_wealth = np.zeros((len(everyone), self.log_wealth.shape[1]))
        rounds[before], log_wealth[before] = self.rounds, self.log_wealth
        places = everyone.searchsorted(rivals)
        for known in np.unique(rounds[places]):
            some = places[rounds[places] == known]
            log_wealth[some] += log_factors(
                self.problem,
                past,
                self.leader,
                everyone[some],
                np.array([self.problem.epsilon]),
                len(past) - int(known),
            )[:, 0]
        rounds[places] = len(past)
        held = replace(self, rivals=everyone, rounds=rounds, log_wealth=log_wealth)
        return held, log_mean_exp(log_wealth[places])


def proof_in_retrospect(past: Past, standing: Standing, policies: Policies) -> Proof:
    """The bets on the leader of a standing in all rounds of the past, for any epsilon."""
    return Proof(
        standing.all_rivals(policies),
        delta_shares.log_retrospect(standing.problem.delta, standing.n_policies),
        partial(_log_wealth, standing.problem, past, standing.leader),
    )


def _log_wealth(
    problem: Problem, past: Past, leader: int, rivals: Numbers, epsilons: Array
) -> Array:
    """Of bets against some rivals in all rounds, shape (n_rivals, n_epsilons)."""
    if len(rivals) > _FEW or not len(past):
        return log_mean_exp(log_factors(problem, past, leader, rivals, epsilons, len(past)))
    m = problem.slate_size
    wealth = np.zeros((len(rivals), len(FIXED_STAKES) + len(STAKE_SHARES), len(epsilons)))
    add_value_factors(
        *past.arrays(rivals),
        past.scales(),
        past.column(leader),
        sparsity_of(problem),
        problem.reward_cap,
        FIXED_STAKES / m,
        STAKE_SHARES / m,
        AGAINST,
        np.tile(epsilons, (len(rivals), 1)),
        past.room,
        wealth,
    )
    return log_mean_exp(wealth.swapaxes(1, 2))
