"""EXP4: exponential weights over policies, with some uniform exploration."""

from math import log, sqrt
from typing import Any

import numpy as np

from policysieve.checks import number
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.mixture import MixtureExploration
from policysieve.exploration.learners.planned import RecordedExplorer
from policysieve.exploration.learners.promises import anytime_recommendation
from policysieve.log import Log
from policysieve.policies import Answers, Policies
from policysieve.policies.weights import ListedWeights
from policysieve.problem import Problem

__all__ = ["Exp4"]


class Exp4(RecordedExplorer):
    """Play q = (1 - mixing) W|_x + mixing/K; a reward r adds learning_rate r/q to log-weights.

    Auer, Cesa-Bianchi, Freund and Schapire (2002), for rewards and finitely many policies. It
    minimises regret; what it recommends is the policy with the largest importance-weighted estimate
    on its own log. A round without reward moves no weight; within a batch the weights stand still.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; single actions only.
    rounds : int
        Rounds to play.
    mixing : float
        Share of uniform exploration.
    learning_rate : float, optional
        By default 2 sqrt(ln|Pi| / (rounds K)).
    """

    takes_slates = False
    exploration: MixtureExploration

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int = 20_000,
        mixing: float = 0.1,
        learning_rate: float | None = None,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rounds=rounds, rng=rng)
        self.mixing = number("mixing", mixing, above=0, below=1, closed=True)
        if learning_rate is None:
            spread = self.planned_rounds * problem.n_actions
            learning_rate = 2 * sqrt(max(log(policies.n_policies), 1e-9) / spread)
        self.learning_rate = number("learning_rate", learning_rate, above=0, below=float("inf"))
        self._everyone = np.arange(policies.n_policies, dtype=np.int32)
        self._everyone.flags.writeable = False  # so that explorations share it
        self._play(ListedWeights.equal(policies))

    @property
    def weights(self) -> Any:
        """Weights of the policies, shape (n_policies,); they sum to one."""
        return self.exploration.shares

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        events = self._events(rounds[: self._wanted], answers)
        self._record = self._record.plus(events, floor=exploration.floor)
        if len(events):
            steps = self.learning_rate * events.gains[:, 0]
            self._play(self._weights.plus(events.answers, events.actions[:, 0], steps))

    def _play(self, weights: ListedWeights) -> None:
        self._weights = weights
        self.exploration = MixtureExploration(
            self.policies,
            self.problem,
            support=self._everyone,
            shares=weights.shares,
            mixing=self.mixing,
        )

    def _recommend(self) -> Recommendation:
        return anytime_recommendation(
            self._record,
            self.problem,
            rounds=self._rounds,
            remark="EXP4 promises little regret, not a good final policy.",
        )
