"""Bets on the leader at hand in all rounds, as if it had always led."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import N_STAKES, log_factors, log_factors_of_few
from policysieve.evidence.certificate import Proof
from policysieve.evidence.cohorts import Cohorts
from policysieve.evidence.pace import times_as_long
from policysieve.evidence.past import Past
from policysieve.evidence.standing import Standing
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["FEW", "Retrospect", "log_wealth_in_retrospect", "proof_in_retrospect"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

FEW = 64  # rivals whose bets are made for many epsilons at once
_HARD_PARTS = 2  # parts of the rivals that a forecast looks at, at least


@dataclass(frozen=True, eq=False)
class Retrospect:
    """How far bets on one leader have got, at the problem's epsilon. A value.

    Rivals are looked at from the hardest on, until one does not reach the threshold. Bets against
    each go on from where they were when it was last looked at.

    Attributes
    ----------
    cohorts : Cohorts
    log_threshold : float
    leader : int
    rivals : integer array of shape (n,)
        Those that were ever looked at, in increasing order.
    counted : integer array of shape (n,)
        Rounds up to which their wealth was followed.
    log_wealth : float array of shape (n, n_stakes)
    rounds : int
        After which it was last asked whether all rivals reach the threshold,
    holds : bool
        and whether they did.
    """

    cohorts: Cohorts
    log_threshold: float
    leader: int
    rivals: Numbers
    counted: npt.NDArray[np.int64]
    log_wealth: Array
    rounds: int = -1
    holds: bool = False

    @classmethod
    def first(cls, cohorts: Cohorts, leader: int = 0) -> Self:
        """Nobody was looked at yet."""
        nobody, none = np.empty(0, np.intp), np.empty(0, np.int64)
        threshold = cohorts.log_retrospect(leader)
        return cls(cohorts, threshold, leader, nobody, none, np.empty((0, N_STAKES)))

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self.rivals.nbytes + self.counted.nbytes + self.log_wealth.nbytes

    def joined(self, cohorts: Cohorts) -> "Retrospect":
        """The same after policies have joined: new rivals were not looked at yet."""
        return replace(self, cohorts=cohorts, rounds=-1, holds=False)

    def after(self, past: Past, standing: Standing, policies: Policies) -> "Retrospect":
        """The same after all rounds of the past, for the leader and survivors of a standing."""
        if (self.leader, self.rounds) == (standing.leader, standing.rounds):
            return self
        held = self._of_leader(standing)
        numbers, wealth, holds = [], [], True
        for rivals in standing.rivals(policies):
            numbers.append(rivals)
            wealth.append(held._log_wealth_of(rivals, past))
            if not (log_mean_exp(wealth[-1]) >= held.log_threshold).all():
                holds = False
                break
        held = held._with(numbers, wealth, len(past), standing.survivors)
        return replace(held, rounds=standing.rounds, holds=holds)

    def times_to_proof(self, past: Past, standing: Standing, policies: Policies) -> float | None:
        """How many times the rounds of the past it takes until all rivals reach the threshold.

        As `times_as_long` has it, for the hardest rivals, and for others once these reach it.
        """
        held, wealth = self._of_leader(standing), [np.empty((0, self.log_wealth.shape[1]))]
        for count, rivals in enumerate(standing.rivals(policies), start=1):
            wealth.append(held._log_wealth_of(rivals, past))
            failing = (log_mean_exp(wealth[-1]) < held.log_threshold).any()
            if failing and count >= _HARD_PARTS:
                break
        return times_as_long(np.concatenate(wealth), held.log_threshold)

    def _of_leader(self, standing: Standing) -> "Retrospect":
        """The same, or none yet if another one leads."""
        if standing.leader == self.leader:
            return self
        return self.first(standing.cohorts, standing.leader)

    def _log_wealth_of(self, rivals: Numbers, past: Past) -> Array:
        """Log-wealth of bets in all rounds that count, shape (n_rivals, n_stakes)."""
        counted, problem = self.cohorts.since_both(self.leader, rivals), self.cohorts.problem
        log_wealth = np.zeros((len(rivals), self.log_wealth.shape[1]))
        if len(self.rivals):
            places = np.minimum(self.rivals.searchsorted(rivals), len(self.rivals) - 1)
            known = self.rivals[places] == rivals
            counted[known] = self.counted[places[known]]
            log_wealth[known] = self.log_wealth[places[known]]
        for before in np.unique(counted):
            some = counted == before
            log_wealth[some] += log_factors(
                problem,
                past,
                self.leader,
                rivals[some],
                np.array([problem.epsilon]),
                len(past) - int(before),
            )[:, 0]
        return log_wealth

    def _with(
        self, numbers: list[Numbers], wealth: list[Array], counted: int, survivors: Numbers
    ) -> "Retrospect":
        """The same with some rivals after so many rounds, without those that do not survive."""
        looked_at = np.concatenate([self.rivals[:0], *numbers])
        others = np.isin(self.rivals, survivors) & ~np.isin(self.rivals, looked_at)
        rivals = np.concatenate([self.rivals[others], looked_at])
        order = np.argsort(rivals)
        rounds = np.concatenate([self.counted[others], np.full(len(looked_at), counted)])
        log_wealth = np.concatenate([self.log_wealth[others], *wealth])
        return replace(
            self, rivals=rivals[order], counted=rounds[order], log_wealth=log_wealth[order]
        )


def proof_in_retrospect(past: Past, standing: Standing, policies: Policies) -> Proof:
    """The bets on the leader of a standing in all rounds that count, for any epsilon."""
    return Proof(
        standing.all_rivals(policies),
        standing.cohorts.log_retrospect(standing.leader),
        partial(log_wealth_in_retrospect, standing.cohorts, past, standing.leader),
    )


def log_wealth_in_retrospect(
    cohorts: Cohorts, past: Past, leader: int, rivals: Numbers, epsilons: Array
) -> Array:
    """Log-wealth of bets in all rounds that count, shape (n_rivals, n_epsilons)."""
    since, found = cohorts.since_both(leader, rivals), np.empty((len(rivals), len(epsilons)))
    for before in np.unique(since):
        some = since == before
        given = cohorts.problem, past, leader, rivals[some], epsilons, int(before)
        found[some] = _log_wealth_since(*given)
    return found


def _log_wealth_since(
    problem: Problem, past: Past, leader: int, rivals: Numbers, epsilons: Array, since: int
) -> Array:
    """The same if so many rounds do not count."""
    new = len(past) - since
    if len(rivals) > FEW or not new:
        return log_mean_exp(log_factors(problem, past, leader, rivals, epsilons, new))
    grid = np.tile(epsilons, (len(rivals), 1))
    wealth = log_factors_of_few(problem, past, leader, rivals, grid, since)
    return log_mean_exp(wealth.swapaxes(1, 2))
