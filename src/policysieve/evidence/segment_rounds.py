"""Limits on values and on one difference, from the rounds of a segment."""

from abc import ABC, abstractmethod
from functools import partial
from math import log

import numpy as np
import numpy.typing as npt

from policysieve.evidence.comparing import capped_difference
from policysieve.evidence.deciders import Decider
from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import rewarded_events
from policysieve.evidence.evidence import Evidence
from policysieve.evidence.paired import least_of_pair, paired_scores
from policysieve.evidence.values import limits_from_sums, policy_interval
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["CappedRounds", "SegmentRounds", "ShownRounds"]

Array = npt.NDArray[np.float64]


class SegmentRounds(ABC):
    """Rounds of one segment, in the order of their decisions.

    Parameters
    ----------
    policies, problem
    pair : pair of int
        The policies that are compared.
    exploration : Exploration, optional
        What decided them.
    """

    rounds = 0

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        pair: tuple[int, int],
        exploration: Decider | None,
    ) -> None:
        self.slate_size = policies.slate_size
        self._policies, self._problem, self._pair = policies, problem, pair
        self._exploration = exploration

    @abstractmethod
    def add(self, rounds: Log, slates: Slates) -> None:
        """Take in the next rounds, and what the policies said there."""

    @abstractmethod
    def limits(self, log_term: float) -> tuple[Array, Array, Array]:
        """Estimates of all policies, and limits each at level exp(-log_term)."""

    def difference(self, log_term: float) -> tuple[float, float]:
        """Limits on the difference of the pair, each at level exp(-log_term)."""
        first, second = self._pair
        cap = self._problem.reward_cap
        lower = max(self._least(first, second, log_term), -cap)
        return lower, min(max(lower, -self._least(second, first, log_term)), cap)

    @abstractmethod
    def _least(self, first: int, second: int, log_term: float) -> float:
        """Lower limit on value(first) - value(second)."""


class ShownRounds(SegmentRounds):
    """Where the propensities of what was shown are known, and no others."""

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        pair: tuple[int, int],
        exploration: Decider | None,
    ) -> None:
        super().__init__(policies, problem, pair, exploration)
        self._earned = self._missed = Estimates(policies.n_policies)
        self._scores: dict[tuple[int, int], list[Array]] = {pair: [], pair[::-1]: []}

    def add(self, rounds: Log, slates: Slates) -> None:
        """Add to the sums of all policies, and keep the scores of the pair."""
        lost = Log.trusted(rounds.contexts, rounds.actions, rounds.propensities, 1 - rounds.rewards)
        self._earned = self._earned.plus(rewarded_events(rounds, self._policies, slates))
        self._missed = self._missed.plus(rewarded_events(lost, self._policies, slates))
        self.rounds += len(rounds)
        told = rounds.actions, rounds.propensities, rounds.rewards
        for (a, b), scores in self._scores.items():
            ours, theirs = (slates.table[slates.rows, p][:, None] for p in (a, b))
            scores.append(paired_scores(ours, theirs, *told)[:, 0])

    def limits(self, log_term: float) -> tuple[Array, Array, Array]:
        """Estimates and limits from the sums of what a policy earned and missed."""
        earned, missed = ((kind.totals, kind.squares) for kind in (self._earned, self._missed))
        weight = np.full(self._policies.n_policies, float(self.rounds))
        lower, upper = limits_from_sums(self._problem, earned, missed, weight, log_term)
        return self._earned.values, lower, upper

    def _least(self, first: int, second: int, log_term: float) -> float:
        scores = np.concatenate(self._scores[first, second])
        return least_of_pair(scores, self.slate_size, log_term)


class CappedRounds(SegmentRounds):
    """Where the propensities of all actions are known."""

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        pair: tuple[int, int],
        exploration: Decider | None,
    ) -> None:
        super().__init__(policies, problem, pair, exploration)
        self._evidence = Evidence(policies, problem, keep=range(policies.n_policies))

    def add(self, rounds: Log, slates: Slates) -> None:
        """Add to the evidence."""
        self._evidence.add(rounds, self._exploration, slates)
        self.rounds += len(rounds)

    def limits(self, log_term: float) -> tuple[Array, Array, Array]:
        """Estimates and limits by betting and from sums, each of which has half of the level."""
        evidence = self._evidence.now()
        of_one = partial(policy_interval, evidence.standing, evidence._past)
        found = [of_one(p, log_term + log(2)) for p in range(self._policies.n_policies)]
        values, lower, upper = (np.array(column) for column in zip(*found, strict=True))
        return values, lower, upper

    def _least(self, first: int, second: int, log_term: float) -> float:
        evidence = self._evidence.now()
        kept = evidence.survivors
        return capped_difference(evidence.standing, evidence._past, kept, first, second, log_term)
