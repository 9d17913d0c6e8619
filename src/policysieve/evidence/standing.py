"""How the candidates stand: estimates, who is still in the race, and what is expected of items."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import N_STAKES, N_SUMS, add_rounds
from policysieve.evidence.cohorts import Cohorts
from policysieve.evidence.past import Model, Past
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["BIN_EDGES", "Standing"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

BIN_EDGES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
_PRIOR = 0.8 * np.concatenate([[0.0], BIN_EDGES])  # the reward of an item, by its share of votes,
_PRIOR_WEIGHT = 5.0  # worth so many items that were seen
_CLOSE = 0.02  # gaps, as a share of what a round can earn, that do not count in votes
_LEAST_VARIANCE = 0.05  # of an item's score, times its propensity, as a share of the square of that

_HARDEST = (4, 32)  # rivals that are looked at before the others,
_BLOCK = 1 << 13  # and so many of these at once


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
    totals : float array of shape (n_survivors, n_stakes + 7)
        Log-wealth of bets on the leaders of the moment against each survivor. Then sums of its
        scores and of their squares: the doubly robust ones, weighted by how much their period told,
        what it earned, and what it missed; and of 1/W, the mean over its items, weighted as squares
        are.
    cohorts : Cohorts
        All policies by when they joined, with the weights of the survivors' doubly robust scores.
    gone : Columns
        Of each eliminated policy its number, its seven sums, the two weights, and the rounds that
        counted until then.
    leader : int
        The survivor with the largest estimate, of equals the one with the lowest number. Of those
        who joined later, and have fewer rounds, a standard error is taken off.
    model : Model
    kept : integer array
        Policies that are never eliminated.
    comparator : int or None
        Whom others are eliminated by, if not by the leader: it must not be better than the best.
    """

    problem: Problem
    rounds: int
    survivors: Numbers
    totals: Array
    cohorts: Cohorts
    gone: Columns
    leader: int
    model: Model
    kept: Numbers
    comparator: int | None = None

    @classmethod
    def first(cls, problem: Problem, n_policies: int, kept: Numbers, additions: int = 0) -> Self:
        """All alike, before any round: what many would show is expected to be right."""
        everyone = np.arange(n_policies)
        unseen = Model(
            voters=everyone,
            votes=_frozen(np.full(n_policies, 1 / n_policies)),
            edges=BIN_EDGES,
            rates=_PRIOR,
            scale=problem.slate_size / problem.n_actions,
        )
        nothing = cls.of_some(problem, n_policies, everyone, additions)
        return replace(nothing, model=unseen, kept=kept)

    @classmethod
    def of_some(cls, problem: Problem, n_policies: int, some: Numbers, additions: int = 0) -> Self:
        """Some of so many policies, before any round and without a model."""
        nobody = np.empty(0, np.intp)
        return cls(
            problem,
            rounds=0,
            survivors=some,
            totals=np.zeros((len(some), N_STAKES + N_SUMS)),
            cohorts=Cohorts.first(problem, n_policies, additions),
            gone=Columns(nobody, np.empty((0, N_SUMS)), np.empty((0, 2)), np.empty(0, np.int64)),
            leader=0,
            model=Model(nobody, np.empty(0), BIN_EDGES, _PRIOR, 0.0),
            kept=nobody,
        )

    @property
    def n_policies(self) -> int:
        """All policies, eliminated or not."""
        return self.cohorts.n_policies

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        model = self.model.votes.nbytes
        arrays = (self.totals, self.survivors, *self.gone.arrays)
        return model + sum(array.nbytes for array in arrays)

    @property
    def scores(self) -> Array:
        """Sums of the survivors' weighted doubly robust scores."""
        return self.totals[:, N_STAKES]

    @property
    def log_wealth(self) -> Array:
        """Log-wealth of the bets against each survivor, shape (n_survivors, n_stakes)."""
        return self.totals[:, :N_STAKES]

    @property
    def estimates(self) -> Array:
        """Doubly robust estimates of the survivors; 0 before their first round."""
        weights = [one.weights[0] or 1.0 for one in self.cohorts.every]
        weight = self.cohorts.spread(self.survivors, weights)
        return np.asarray(self.totals[:, N_STAKES] / weight)

    @property
    def gaps(self) -> Array:
        """Distance of each survivor's estimate to the leader's."""
        gaps = self.estimates
        np.subtract(gaps[self.survivors.searchsorted(self.leader)], gaps, out=gaps)
        return gaps

    @property
    def errors(self) -> Array:
        """Standard error of each survivor's estimate; what was seldom shown is not known well."""
        cap = self.problem.reward_cap
        if not self.rounds:
            return np.full(len(self.survivors), cap)
        (weight, squared_weight), sums = self._weights, self.totals[:, N_STAKES:]
        variance = self.estimates  # in place: of a large class there are no spare copies
        variance **= 2
        variance *= -squared_weight
        variance += sums[:, 1]
        np.maximum(variance, _LEAST_VARIANCE * cap**2 * sums[:, 6], out=variance)
        np.sqrt(variance, out=variance)
        if np.ndim(weight):
            variance[weight == 0] = cap
            weight[weight == 0] = 1.0
        variance /= weight
        return variance

    @property
    def _weights(self) -> tuple[Any, Any]:
        """Sums of the survivors' weights and of their squares: numbers if all have the same."""
        return self.cohorts.weights_of(self.survivors)

    @property
    def values(self) -> Array:
        """Doubly robust estimates, shape (n_policies,); NaN before their first round."""
        if not self.rounds:
            return np.full(self.n_policies, np.nan)
        _, sums, weights, _ = self.gone.arrays
        estimates, weight = self.estimates, self._weights[0]
        if np.ndim(weight):
            estimates[weight == 0] = np.nan
        return self._of_all(estimates, sums[:, 0] / weights[:, 0])

    @property
    def counted(self) -> npt.NDArray[np.int64]:
        """Rounds behind each policy's sums: all that count, or those until it was eliminated."""
        counted = self.rounds - self.cohorts.since(self.survivors)
        return self._of_all(counted, self.gone.arrays[3])

    @property
    def sums(self) -> Array:
        """The seven sums of each policy, shape (7, n_policies)."""
        return self._of_all(self.totals[:, N_STAKES:], self.gone.arrays[1]).T

    def _of_all(self, survivors: npt.NDArray[Any], gone: npt.NDArray[Any]) -> npt.NDArray[Any]:
        everyone = np.empty((self.n_policies, *survivors.shape[1:]), survivors.dtype)
        everyone[self.survivors], everyone[self.gone.arrays[0]] = survivors, gone
        return everyone

    def of_one(self, policy: int) -> tuple[float, Array, int]:
        """The estimate of a policy, its seven sums, and the rounds behind them."""
        place = int(self.survivors.searchsorted(policy))
        if place < len(self.survivors) and self.survivors[place] == policy:
            cohort = self.cohorts.of(policy)
            sums, weight = self.totals[place, N_STAKES:], cohort.weights[0]
            counted = self.rounds - cohort.since
        else:
            out = int(np.flatnonzero(self.gone.arrays[0] == policy)[0])
            _, all_sums, weights, rounds = self.gone.arrays
            sums, weight, counted = all_sums[out], weights[out, 0], int(rounds[out])
        return float(sums[0] / weight) if counted else np.nan, sums, counted

    def rivals(self, policies: Policies) -> Iterator[Numbers]:
        """Survivors other than the leader under any number.

        In parts, first those of the largest estimates, in this order, then the rest.
        """
        survivors, estimates = self.survivors, self.estimates
        rest = survivors != self.leader
        estimates[~rest] = -np.inf
        few = min(sum(_HARDEST), len(survivors) - 1)
        hardest = np.sort(np.argpartition(estimates, -few - 1)[len(survivors) - few :])
        hardest = hardest[np.argsort(-estimates[hardest], kind="stable")]
        rest[hardest] = False
        parts = [survivors[hardest[: _HARDEST[0]]], survivors[hardest[_HARDEST[0] :]]]
        del estimates
        for start in range(0, len(survivors), _BLOCK):
            some = slice(start, start + _BLOCK)
            parts.append(survivors[some][rest[some]])
        for others in parts:
            rivals = others[~policies.same_as(self.leader, others)]
            if len(rivals):
                yield rivals

    def all_rivals(self, policies: Policies) -> Numbers:
        """The same as one array."""
        return np.concatenate([np.empty(0, np.intp), *self.rivals(policies)])

    def after(self, past: Past, new: int, own: bool = False) -> "Standing":
        """How they stand after the last `new` rounds of the past.

        If it is the caller's `own`, this one is used up: of a large class there is no third then.

        A survivor is eliminated once the wealth of bets against it passes 1/delta_e. It is compared
        with the leader of this standing, which was fixed before the rounds. For the best policy the
        wealth is a supermartingale then, whoever leads, and no other policy has to be right: there
        is no union over the class (docs/maths.md, "Elimination without the union").
        """
        return self.judged(past, new, own)._led_anew(past, new) if new else self

    def judged(self, past: Past, new: int, own: bool = False) -> "Standing":
        """`after` some rounds, with the leader and the model that they were judged by."""
        problem, survivors = self.problem, self.survivors
        weight = past.cost(len(past) - new) ** -0.5
        cohorts = self.cohorts.after(new, weight)
        rounds, totals = self.rounds + new, self.totals if own else self.totals.copy()
        best = self.leader if self.comparator is None else self.comparator
        add_rounds(totals, problem, past, best, survivors, np.zeros(1), new, weight)
        leaves = _reaches(totals, cohorts.log_elimination)
        leaves &= survivors != best
        leaves[survivors.searchsorted(self.kept)] = False
        found = replace(self, rounds=rounds, totals=totals, cohorts=cohorts)
        if leaves.any():
            found = replace(
                found,
                gone=self.gone.plus(*found._of_those(leaves)),
                survivors=survivors[~leaves],
                totals=_left(totals, ~leaves),
            )
        return found

    def _of_those(self, leaves: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[Any], ...]:
        """What is remembered of some survivors that leave."""
        out = self.survivors[leaves]
        weights = np.empty((len(out), 2))
        weights[:, 0], weights[:, 1] = self.cohorts.weights_of(out)
        counted = self.rounds - self.cohorts.since(out)
        return out, self.totals[leaves, N_STAKES:], weights, counted

    def joined(self, past: Past, size: int, *, unseen: bool) -> "Standing":
        """How they stand once so many policies have joined, behind all rounds of the past.

        Bets against them begin now. Only if they are `unseen`, not fitted on earlier rounds nor
        chosen by them, do these count for their estimates, all with one weight.
        """
        new = np.arange(self.n_policies, self.n_policies + size)
        since, weights = self.rounds, (0.0, 0.0)
        sums = np.zeros((size, N_STAKES + N_SUMS))
        if unseen and len(past):
            weight, n = past.cost(0) ** -0.5, len(past)
            since, weights = 0, (n * weight, n * weight**2)
            add_rounds(sums, self.problem, past, int(new[0]), new, np.zeros(1), n, weight)
            sums[:, :N_STAKES] = 0.0
        found = replace(
            self,
            survivors=np.concatenate([self.survivors, new]),
            totals=np.concatenate([self.totals, sums]),
            cohorts=self.cohorts.joined(size, since, weights),
        )
        if unseen:
            return found._led_anew(past, 0)
        return replace(found, model=found._next_model(past, 0))

    def _led_anew(self, past: Past, new: int) -> "Standing":
        """The same with the leader and the model that follow from its sums."""
        scores = self.scores
        if len(self.cohorts.every) > 1:
            later = self.cohorts.since(self.survivors) > 0
            scores = self.estimates - np.where(later, self.errors, 0.0)
        found = replace(self, leader=int(self.survivors[scores.argmax()]))
        return replace(found, model=found._next_model(past, new))

    def without(self, leaves: npt.NDArray[np.bool_]) -> "Standing":
        """The same without some survivors, for good; one of them at least stays."""
        if not leaves.any():
            return self
        stays = ~leaves
        survivors, totals = self.survivors[stays], self.totals[stays]
        votes = self.model.votes[np.isin(self.model.voters, survivors)]
        votes = votes + np.finfo(np.float64).tiny  # all of them may have gone to those that leave
        model = self.model._replace(voters=survivors, votes=_frozen(votes / votes.sum()))
        return replace(
            self,
            survivors=survivors,
            totals=totals,
            gone=self.gone.plus(*self._of_those(leaves)),
            leader=int(survivors[totals[:, N_STAKES].argmax()]),
            model=model,
        )

    def _next_model(self, past: Past, new: int) -> Model:
        """Votes by how close to the leader a survivor seems; rewards by the share of votes.

        The scale of stakes is what propensities were in the last rounds.
        """
        votes, errors = self.gaps, self.errors
        votes /= -np.maximum(errors, _CLOSE * self.problem.reward_cap, out=errors)
        np.exp(votes, out=votes)
        votes /= votes.sum()
        rewards, weights = past.tally
        rates = (rewards + _PRIOR_WEIGHT * _PRIOR) / (weights + _PRIOR_WEIGHT)
        rates = np.maximum.accumulate(np.minimum(rates, 1.0))
        scale = past.typical_propensity(len(past) - new) or self.model.scale
        return Model(self.survivors, _frozen(votes), BIN_EDGES, rates, scale)


def _frozen(votes: Array) -> Array:
    """Read-only, so that explorations need no copy."""
    votes.flags.writeable = False
    return votes


def _reaches(totals: Array, threshold: float) -> npt.NDArray[np.bool_]:
    """Whether the mean wealth over the stakes is so large, which the largest of them must be."""
    log_wealth = totals[:, :N_STAKES]
    reaches = np.asarray(log_wealth.max(axis=1) >= threshold)
    reaches[reaches] = log_mean_exp(log_wealth[reaches]) >= threshold
    return reaches


def _left(totals: Array, stays: npt.NDArray[np.bool_]) -> Array:
    """The rows that stay, moved together within the array: of a large class there is no second."""
    end = 0
    for start in range(0, len(totals), _BLOCK):
        part = totals[start : start + _BLOCK][stays[start : start + _BLOCK]]
        totals[end : end + len(part)] = part
        end += len(part)
    return totals[:end] if 2 * end > len(totals) else totals[:end].copy()
