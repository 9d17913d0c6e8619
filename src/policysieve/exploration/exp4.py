"""EXP4: exponential weights over policies, with some uniform exploration."""

from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import number
from policysieve.evidence import Events
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.fixed_size import fixed_size_recommendation
from policysieve.exploration.weighted import Array, WeightedExplorer
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Exp4"]


class Exp4(WeightedExplorer):
    """Play q = (1 - mixing) W|_x + mixing/K; a reward r adds learning_rate r/q to log-weights.

    Auer, Cesa-Bianchi, Freund and Schapire (2002), for rewards and finitely many policies. It
    minimises regret; what it recommends is the policy with the largest importance-weighted estimate
    on its own log.

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

    def recommend(self) -> Recommendation:
        """The policy with the largest importance-weighted estimate."""
        return fixed_size_recommendation(
            self.intervals(),
            self.problem,
            rounds=self.rounds,
            planned=self.planned_rounds,
            complete=True,  # these limits hold at any time
            promise=f"All intervals hold with probability at least {1 - self.problem.delta:g}; "
            "EXP4 promises little regret, not a good final policy.",
        )

    @property
    def _largest_weight(self) -> float:
        return self.problem.n_actions / self.mixing

    def _solve(self, w: Array, rows: npt.NDArray[np.intp], q: Array, aside: Array) -> None:
        q[rows] = (1 - self.mixing) * w[rows] + self.mixing / self.problem.n_actions
        aside[rows] = 0.0

    def _steps(self, events: Events, w_a: Array, aside: Array) -> Array:
        return np.asarray(self.learning_rate * events.rewards[:, 0] / events.propensities[:, 0])
