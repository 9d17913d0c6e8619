"""Uniform exploration: the baseline that needs no assumption and no cleverness."""

from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals, estimates_of
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.designing import known_log_size
from policysieve.exploration.designs.uniform import UniformExploration
from policysieve.exploration.learners.planned import PlannedExplorer
from policysieve.exploration.learners.promises import (
    fixed_size_recommendation,
    promise_of_class,
    promise_of_size,
)
from policysieve.log import Log
from policysieve.policies import Answers, AnyPolicies
from policysieve.problem import Problem
from policysieve.sizes import uniform_rounds

__all__ = ["Uniform"]


class Uniform(PlannedExplorer):
    """Show uniformly random slates, then take the policy with the best estimate.

    Every item is shown with propensity m/K, so an estimate can be as large as K mu / m and about
    (K/eps^2) ln|Pi| rounds are needed (docs/maths.md, "Explicit sizes"). Rounds beyond the planned
    ones are logged but change nothing any more, so that what was proved stays proved.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; a class without end may be given too.
    rounds : int, optional
        Rounds to play. By default as many as guarantee the problem's epsilon and delta.
    """

    takes_implicit = True

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        rounds: int | None = None,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rounds=1 if rounds is None else rounds, rng=rng)
        if policies.log_size is None and rounds is None:
            raise InvalidArgumentError(
                "rounds must be given for a class whose size is not known, or its log_size"
            )
        self.needed_rounds = uniform_rounds(problem.unit, known_log_size(policies))
        if rounds is None:
            self.planned_rounds = self.needed_rounds
        self.exploration = UniformExploration(policies, problem)
        self._estimates = estimates_of(policies)

    @property
    def _counted(self) -> int:
        return self._estimates.rounds

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        self._estimates = self._estimates.plus(self._events(rounds[: self._wanted], answers))

    def _recommend(self) -> Recommendation:
        """The policy with the largest importance-weighted estimate."""
        return fixed_size_recommendation(
            self._estimated(),
            self.problem,
            rounds=self._rounds,
            planned=self.planned_rounds,
            complete=self._finished,
            promise=promise_of_class(self.policies, self.problem)
            or promise_of_size(
                self.problem,
                planned=self.planned_rounds,
                sufficient=self.needed_rounds,
                guaranteed=self.planned_rounds >= self.needed_rounds,
            ),
            against=self.policies.against(self.problem),
        )

    @property
    def _limits_hold(self) -> bool:
        return self._finished and promise_of_class(self.policies, self.problem) is None

    def _intervals(self) -> ValueIntervals:
        """Estimates of all policies with limits that hold at the planned number of rounds."""
        return self._estimated().in_units(self.problem.scale)

    def _estimated(self) -> ValueIntervals:
        """The same for rewards in [0, 1]."""
        cap = self.problem.unit.reward_cap
        return self._estimates.fixed_size_intervals(
            reward_cap=cap, largest=cap / self.exploration.floor, delta=self.problem.delta
        )
