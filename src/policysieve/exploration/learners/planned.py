"""Learners that play a number of rounds fixed in advance."""

from abc import abstractmethod
from typing import Any

from policysieve.checks import integer
from policysieve.evidence import Record, ValueIntervals, anytime_intervals
from policysieve.exploration.explorer import Explorer
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem

__all__ = ["PlannedExplorer", "RecordedExplorer"]


class PlannedExplorer(Explorer):
    """Rounds after the planned ones are logged but change nothing any more.

    A subclass implements `_counted` beside what every learner does.

    Parameters
    ----------
    policies, problem, rng
        As for every learner.
    rounds : int
        Rounds to play.
    """

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rounds: int, rng: Any) -> None:
        super().__init__(policies, problem, rng=rng)
        self.planned_rounds = integer("rounds", rounds, low=1)

    @property
    @abstractmethod
    def _counted(self) -> int:
        """Planned rounds that are done."""

    @property
    def _wanted(self) -> int:
        return self.planned_rounds - self._counted


class RecordedExplorer(PlannedExplorer):
    """A learner whose estimates are made of the record of its planned rounds.

    Such a learner adapts its propensities to rewards, so its intervals hold at any time; bounds for
    independent rounds would not do.
    """

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rounds: int, rng: Any) -> None:
        super().__init__(policies, problem, rounds=rounds, rng=rng)
        self._record = Record(policies, problem.unit)

    @property
    def _counted(self) -> int:
        return self._record.rounds

    def _intervals(self) -> ValueIntervals:
        return anytime_intervals(self._record).in_units(self.problem.scale)
