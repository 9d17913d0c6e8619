"""Epsilon-greedy: follow the leader, but now and then show something random."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number
from policysieve.evidence import Estimates, ValueIntervals
from policysieve.evidence.classical import value_intervals
from policysieve.evidence.record import Record
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.fixed_size import fixed_size_recommendation
from policysieve.exploration.ledger import Origin
from policysieve.exploration.slates import uniform_slates
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy(Explorer):
    """With probability `mixing` a uniform slate, else the slate of the leader so far.

    The leader is the policy with the largest importance-weighted estimate, and what is recommended
    in the end; it stands still within a batch. Item j is shown with propensity
    mixing m/K + (1-mixing) 1[j in leader(x)] (docs/maths.md, "Epsilon-greedy"). Only the leader is
    consulted when acting, and the class only at rewarded rounds. Rounds after the planned ones are
    logged but change nothing any more.

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

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int = 20_000,
        mixing: float = 0.7,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        self.planned_rounds = integer("rounds", rounds, low=1)
        self.mixing = number("mixing", mixing, above=0, below=1, closed=True)
        self._floor = self.mixing * problem.slate_size / problem.n_actions
        self._record = Record(policies, problem)
        self._estimates = Estimates(policies.n_policies)
        self.leader = 0

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done."""
        return self._record.rounds == self.planned_rounds

    @property
    def ask_limit(self) -> int:
        """Planned rounds that are neither done nor under way."""
        return max(0, self.planned_rounds - self._record.rounds - self._ledger.unlearnt)

    def recommend(self) -> Recommendation:
        """The leader."""
        return fixed_size_recommendation(
            self.intervals(),
            self.problem,
            rounds=self.rounds,
            planned=self.planned_rounds,
            complete=True,  # these limits hold at any time
            promise=f"All intervals hold with probability at least {1 - self.problem.delta:g}; "
            "no number of rounds of epsilon-greedy guarantees an epsilon in advance.",
            policy=self.leader,
        )

    def intervals(self) -> ValueIntervals:
        """Importance-weighted estimates with limits that hold at any time.

        Propensities follow the leader, so bounds for independent rounds would not do
        (docs/maths.md, "Intervals at any time").
        """
        return value_intervals(self._record, self.problem.delta)

    @property
    def _draws_per_round(self) -> int:
        return self.problem.slate_size + 1

    def _choose(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        followed = self.policies.actions(contexts, which=[self.leader])[:, 0]
        uniforms = self._uniforms(len(contexts))
        slates = uniform_slates(uniforms[:, 1:], self.problem.n_actions)
        follows = uniforms[:, 0] >= self.mixing
        slates[follows] = followed[follows]
        shared = (slates[:, :, None] == followed[:, None, :]).any(axis=2)
        return slates, np.minimum(self._floor + (1 - self.mixing) * shared, 1.0)

    def _learn(self, rounds: Log, origin: Origin) -> None:
        counted = rounds[: self.planned_rounds - self._record.rounds]
        events = self._record.add(counted, floor=self._floor).events
        self._estimates.add(events)
        if len(events.rounds):
            self.leader = int(self._estimates.values.argmax())
