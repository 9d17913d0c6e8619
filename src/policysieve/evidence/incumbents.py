"""Bets on leaders since they lead, for evidence that has forgotten the past."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import log_factors
from policysieve.evidence.certificate import Proof
from policysieve.evidence.past import Past
from policysieve.evidence.standing import Standing
from policysieve.policies import Policies

__all__ = ["Incumbent"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Incumbent:
    """Bets on a leader since it leads, continued from those of the elimination. A value.

    Attributes
    ----------
    standing : Standing
        Whose leader it is, after the rounds behind the wealth.
    log_threshold : float
    number : int
        Of the leader among those that led since the past was forgotten; the first, 0, is the one
        whose bets had begun in retrospect.
    epsilons : float array
        From the problem's on, each twice the one before.
    log_wealth : float array of shape (n_survivors, n_epsilons, n_stakes)
    """

    standing: Standing
    log_threshold: float
    number: int
    epsilons: Array
    log_wealth: Array

    @classmethod
    def first(cls, standing: Standing, past: Past) -> "Incumbent":
        """The leader when the past is forgotten, with its wealth in retrospect."""
        problem = standing.problem
        epsilons, cap = [problem.epsilon], problem.reward_cap
        while 2 * epsilons[-1] < cap:
            epsilons.append(2 * epsilons[-1])
        grid, leader, survivors = np.array(epsilons), standing.leader, standing.survivors
        since = standing.cohorts.since_both(leader, survivors)
        parts = [
            log_factors(
                problem, past, leader, survivors[since == before], grid, len(past) - int(before)
            )
            for before in np.unique(since)
        ]
        wealth = np.empty((len(survivors), *parts[0].shape[1:]))
        for before, part in zip(np.unique(since), parts, strict=True):
            wealth[since == before] = part
        return cls(standing, standing.cohorts.log_retrospect(leader), 0, grid, wealth)

    def joined(self, standing: Standing) -> "Incumbent":
        """The same after policies have joined: bets against them begin now."""
        more = len(standing.survivors) - len(self.log_wealth)
        wealth = np.pad(self.log_wealth, ((0, more), (0, 0), (0, 0)))
        return replace(self, standing=standing, log_wealth=wealth)

    def after(self, past: Past, new: int, standing: Standing) -> "Incumbent":
        """The same after the last `new` rounds of the past, which `standing` has seen, too."""
        problem, before = standing.problem, self.standing
        if standing.leader != before.leader:
            number = self.number + 1
            wealth = np.empty((len(standing.survivors), *self.log_wealth.shape[1:]))
            wealth[:] = log_mean_exp(standing.log_wealth)[:, None, None]
            threshold = standing.cohorts.log_incumbent(number)
            return Incumbent(standing, threshold, number, self.epsilons, wealth)
        wealth = self.log_wealth + log_factors(
            problem, past, before.leader, before.survivors, self.epsilons, new
        )
        stays = np.isin(before.survivors, standing.survivors)
        return Incumbent(standing, self.log_threshold, self.number, self.epsilons, wealth[stays])

    def proof(self, policies: Policies) -> Proof:
        """The proof at the epsilons for which there are bets."""

        def log_wealth(some: Numbers, epsilons: Array) -> Array:
            places = np.searchsorted(self.standing.survivors, some)
            return log_mean_exp(self.log_wealth[places][:, self.epsilons.searchsorted(epsilons)])

        return Proof(self.standing.all_rivals(policies), self.log_threshold, log_wealth)

    def smallest_epsilon(self, policies: Policies) -> float:
        """Among those for which there are bets, else all a round can earn; 0 if nobody is left."""
        proof = self.proof(policies)
        if not len(proof.rivals):
            return 0.0
        cap = self.standing.problem.reward_cap
        return next((float(e) for e in self.epsilons if proof.holds(e)), cap)
