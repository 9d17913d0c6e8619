"""How the candidates stand: estimates, who is still in the race, and what is expected of items."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.certificate import delta_shares
from policysieve.evidence.past import Model, Past
from policysieve.kernels.capped import add_log_factors, add_scores
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["BIN_EDGES", "Standing", "log_factors", "sparsity_of"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

BIN_EDGES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
_PRIOR = 0.8 * np.concatenate([[0.0], BIN_EDGES])  # the reward of an item, by its share of votes,
_PRIOR_WEIGHT = 5.0  # worth so many items that were seen
_CLOSE = 0.02  # gaps, as a share of what a round can earn, that do not count in votes
_LEAST_VARIANCE = 0.05  # of an item's score, times its propensity, as a share of the square of that

_FIXED = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 0.75])  # stakes, divided by the slate size,
_SHARES = np.array([0.1, 0.3, 0.9])  # and of a typical propensity
_N_STAKES = len(_FIXED) + len(_SHARES)


def sparsity_of(problem: Problem) -> float:
    """How much the items of a slate can earn together, as far as that is known."""
    return float(problem.slate_size) if problem.sparsity is None else problem.sparsity


@dataclass(frozen=True, eq=False)
class Standing:
    """What some rounds say of the candidates. A value.

    Attributes
    ----------
    problem : Problem
    rounds : int
        Rounds behind it.
    survivors : integer array of shape (n_survivors,)
        Policies that were not eliminated.
    log_wealth : float array of shape (n_survivors, n_stakes)
        Of bets on the leaders of the moment against each survivor.
    sums : float array of shape (7, n_policies)
        Of each policy's scores and of their squares: the doubly robust ones, weighted by how much
        their period told, what it earned, and what it missed; and of 1/W, the mean over its items,
        weighted as squares are.
    weights : float array of shape (2, n_policies)
        Sums of the weights of the doubly robust scores, and of their squares.
    counted : integer array of shape (n_policies,)
        Rounds behind the sums: all, or those until a policy was eliminated.
    leader : int
        The survivor with the largest estimate, of equals the one with the lowest number.
    model : Model
    """

    problem: Problem
    rounds: int
    survivors: Numbers
    log_wealth: Array
    sums: Array
    weights: Array
    counted: npt.NDArray[np.int64]
    leader: int
    model: Model

    @classmethod
    def first(cls, problem: Problem, n_policies: int) -> Self:
        """Before any round: all alike, and what many would show is expected to be right."""
        everyone = np.arange(n_policies)
        unseen = Model(
            voters=everyone,
            votes=np.full(n_policies, 1 / n_policies),
            edges=BIN_EDGES,
            rates=_PRIOR,
            scale=problem.slate_size / problem.n_actions,
        )
        return cls(
            problem,
            rounds=0,
            survivors=everyone,
            log_wealth=np.zeros((n_policies, _N_STAKES)),
            sums=np.zeros((7, n_policies)),
            weights=np.zeros((2, n_policies)),
            counted=np.zeros(n_policies, np.int64),
            leader=0,
            model=unseen,
        )

    @cached_property
    def values(self) -> Array:
        """Doubly robust estimates, shape (n_policies,); NaN before the first round."""
        if not self.rounds:
            return np.full(len(self.counted), np.nan)
        return np.asarray(self.sums[0] / self.weights[0])

    @property
    def gaps(self) -> Array:
        """Distance of each survivor's estimate to the leader's."""
        if not self.rounds:
            return np.zeros(len(self.survivors))
        values = self.values
        return np.asarray(values[self.leader] - values[self.survivors])

    @cached_property
    def errors(self) -> Array:
        """Standard error of each survivor's estimate; what was seldom shown is not known well."""
        if not self.rounds:
            return np.full(len(self.survivors), self.problem.reward_cap)
        weight, squared_weight = self.weights[:, self.survivors]
        variance = self.sums[1, self.survivors] - squared_weight * self.values[self.survivors] ** 2
        least = _LEAST_VARIANCE * self.problem.reward_cap**2 * self.sums[6, self.survivors]
        return np.asarray(np.sqrt(np.maximum(variance, least)) / weight)

    def rivals(self, policies: Policies) -> Numbers:
        """Survivors other than the leader under any number, the largest estimates first."""
        others = self.survivors[self.survivors != self.leader]
        others = others[~policies.same_as(self.leader, others)]
        return np.asarray(others[np.argsort(-self.values[others], kind="stable")])

    def after(self, past: Past, new: int) -> "Standing":
        """How they stand after the last `new` rounds of the past.

        A survivor is eliminated once the wealth of bets against it passes 1/delta_e. It is compared
        with the leader of this standing, which was fixed before the rounds. For the best policy the
        wealth is a supermartingale then, whoever leads, and no other policy has to be right: there
        is no union over the class (docs/maths.md, "Elimination without the union").
        """
        if not new:
            return self
        problem, survivors = self.problem, self.survivors
        scores = np.zeros((7, len(survivors)))
        add_scores(*past.arrays(survivors, len(past) - new), scores)
        weight = past.cost(len(past) - new) ** -0.5
        scores[:2] *= [[weight], [weight**2]]
        scores[6] *= weight**2 / problem.slate_size
        sums, weights, counted = self.sums.copy(), self.weights.copy(), self.counted.copy()
        sums[:, survivors] += scores
        weights[:, survivors] += [[new * weight], [new * weight**2]]
        counted[survivors] += new
        wealth = self.log_wealth + log_factors(
            problem, past, self.leader, survivors, np.zeros(1), new
        ).reshape(self.log_wealth.shape)
        stays = log_mean_exp(wealth) < delta_shares.log_elimination(problem.delta)
        stays |= survivors == self.leader
        survivors = survivors[stays]
        found = Standing(
            problem,
            rounds=self.rounds + new,
            survivors=survivors,
            log_wealth=wealth[stays],
            sums=sums,
            weights=weights,
            counted=counted,
            leader=int(survivors[sums[0, survivors].argmax()]),
            model=self.model,
        )
        return replace(found, model=found._next_model(past, new))

    def _next_model(self, past: Past, new: int) -> Model:
        """Votes by how close to the leader a survivor seems; rewards by the share of votes.

        The scale of stakes is what propensities were in the last rounds.
        """
        close = _CLOSE * self.problem.reward_cap
        votes = np.exp(-self.gaps / np.maximum(close, self.errors))
        rewards, weights = past.tally
        rates = (rewards + _PRIOR_WEIGHT * _PRIOR) / (weights + _PRIOR_WEIGHT)
        rates = np.maximum.accumulate(np.minimum(rates, 1.0))
        scale = past.typical_propensity(len(past) - new) or self.model.scale
        return Model(self.survivors, votes / votes.sum(), BIN_EDGES, rates, scale)


def log_factors(
    problem: Problem, past: Past, leader: int, rivals: Numbers, epsilons: Array, new: int
) -> Array:
    """Log-wealth that the last `new` rounds earn for bets on a leader against rivals.

    Returns
    -------
    float array of shape (n_rivals, n_epsilons, n_stakes)
    """
    m = problem.slate_size
    wealth = np.zeros((len(rivals), len(epsilons), _N_STAKES))
    if new and len(rivals):
        arrays = past.arrays(np.append(rivals, leader), len(past) - new)
        add_log_factors(
            *arrays._replace(columns=arrays.columns[:-1]),
            past.scales(len(past) - new),
            arrays.columns[-1],
            sparsity_of(problem),
            _FIXED / m,
            _SHARES / m,
            epsilons,
            wealth,
        )
    return wealth
