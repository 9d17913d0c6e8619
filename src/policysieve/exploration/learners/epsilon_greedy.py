"""Epsilon-greedy: follow the leader, but now and then show something random."""

from typing import Any

import numpy as np

from policysieve.checks import number
from policysieve.evidence import Estimates
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.mixture import MixtureExploration
from policysieve.exploration.learners.planned import RecordedExplorer
from policysieve.exploration.learners.promises import anytime_recommendation
from policysieve.log import Log
from policysieve.policies import Answers, Policies
from policysieve.problem import Problem

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy(RecordedExplorer):
    """With probability `mixing` a uniform slate, else the slate of the leader so far.

    The leader is the policy with the largest importance-weighted estimate, and what is recommended
    in the end; it stands still within a batch. Item j is shown with propensity
    mixing m/K + (1-mixing) 1[j in leader(x)] (docs/maths.md, "Epsilon-greedy"). Rounds after the
    planned ones are logged but change nothing any more.

    Parameters
    ----------
    policies, problem, rng
        As for every learner.
    rounds : int
        Rounds to play.
    mixing : float
        Share of uniform exploration. Of the fixed shares tried, and of shares that fall with the
        rounds, 0.7 found a good policy soonest; 0.5 was close.

    Attributes
    ----------
    leader : int
        The policy with the largest estimate, of equals the one with the lowest number.
    """

    exploration: MixtureExploration

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int = 20_000,
        mixing: float = 0.7,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rounds=rounds, rng=rng)
        self.mixing = number("mixing", mixing, above=0, below=1, closed=True)
        self._estimates = Estimates(policies.n_policies)
        self._follow(0)

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        events = self._events(rounds[: self._wanted], answers)
        self._record = self._record.plus(events, floor=exploration.floor)
        self._estimates = self._estimates.plus(events)
        if self._estimates.leader != self.leader:
            self._follow(self._estimates.leader)

    def _follow(self, leader: int) -> None:
        self.leader = leader
        self.exploration = MixtureExploration(
            self.policies,
            self.problem,
            support=np.array([leader]),
            shares=np.ones(1),
            mixing=self.mixing,
        )

    def _recommend(self) -> Recommendation:
        return anytime_recommendation(
            self._record,
            self.problem,
            rounds=self._rounds,
            remark="no number of rounds of epsilon-greedy guarantees an epsilon in advance.",
            policy=self.leader,
        )
