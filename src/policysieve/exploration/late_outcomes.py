"""Outcomes of a learner's rounds, which may come with their rewards or at any time later."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import DecisionsError
from policysieve.evidence.outcomes import Outcomes, check_outcomes, told_outcomes
from policysieve.exploration.ledger import Part
from policysieve.log import Log
from policysieve.log.beside import as_outcomes
from policysieve.policies import Answers, AnyPolicies, Policies, Slates
from policysieve.problem import Problem

__all__ = ["LateOutcomes"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Values = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class LateOutcomes:
    """What is known of outcomes: of rounds that were learnt from, and of some that wait. A value.

    Attributes
    ----------
    counted : Outcomes
        Of rounds that were learnt from.
    early : dict
        Outcomes of told rounds that wait for earlier ones, by their numbers.
    """

    counted: Outcomes
    early: Mapping[int, Values] = field(default_factory=dict)

    @classmethod
    def of(cls, policies: AnyPolicies, problem: Problem) -> Self | None:
        """Before any round; None if no outcomes are declared."""
        check_outcomes(policies, problem)
        if problem.outcomes is None:
            return None
        assert isinstance(policies, Policies)
        return cls(Outcomes(policies, problem))

    def checked(self, outcomes: Any, n: int) -> Values:
        """Outcomes of n rounds, or raise."""
        m = self.counted.policies.slate_size
        return told_outcomes(self.counted.problem, as_outcomes(outcomes, (n, m)))

    def with_rewards(self, numbers: Numbers, told: Values) -> Self:
        """With outcomes of rounds whose rewards are told at the same time."""
        early = dict(self.early)
        for row, number in enumerate(numbers.tolist()):
            early[number] = {name: values[row] for name, values in told.items()}
        return replace(self, early=early)

    def with_late(self, numbers: Numbers, told: Values, learnt: int) -> Self:
        """With outcomes of told rounds, of which the first `learnt` were learnt from, or raise."""
        places = self.counted.find(numbers)
        waits = numbers >= learnt
        for name, values in told.items():
            again = self.counted.is_told(name, places, values) & ~waits
            for row in np.flatnonzero(waits):
                before = self.early.get(int(numbers[row]), {}).get(name)
                if before is not None:
                    again[row] = (~np.isnan(before) & ~np.isnan(values[row])).any()
            if again.any():
                raise DecisionsError(
                    f"outcomes {name!r} were told or settled before, or their rounds given up, for "
                    f"instance of round {numbers[again][0]}; each is told once"
                )
        early = dict(self.early)
        for row in np.flatnonzero(waits):
            number = int(numbers[row])
            mine = dict(early.get(number, {}))
            for name, values in told.items():
                before = mine.get(name, values[row])
                mine[name] = np.where(np.isnan(values[row]), before, values[row])
            early[number] = mine
        counted, rows = self.counted, np.flatnonzero(~waits & (places >= 0))
        if len(rows):
            late = {name: values[rows] for name, values in told.items()}
            counted = counted.with_late(places[rows], late)
        return replace(self, counted=counted, early=early)

    def with_learnt(self, part: Part, answers: Answers, which: Any) -> Self:
        """With rounds that are learnt from now.

        Parameters
        ----------
        part : Part
        answers : Answers
            What the policies said there,
        which : integer array or None
            and which of them were asked; None if all.
        """
        assert isinstance(answers, Slates)
        rounds, early = part.rounds, self.early
        if early and part.numbers is not None:
            early = dict(early)
            mine = [early.pop(number, {}) for number in part.numbers.tolist()]
            rounds = _with_outcomes(rounds, mine)
        counted = self.counted.plus(
            rounds, answers, which=which, numbers=part.numbers, asked=part.asked
        )
        return replace(self, counted=counted, early=early)

    def expired(self, until: float) -> tuple[Self, dict[str, int]]:
        """With the declared values for what was asked for until then, and how many there were."""
        counted, found = self.counted, {}
        for name in self.counted.problem.outcomes or {}:
            places = counted.older_than(until)[name]
            found[name] = len(places)
            if len(places):
                late = (self.counted.problem.outcomes or {})[name].late
                values = counted.unknown_as(name, places, late)
                counted = counted.with_late(places, {name: values})
        return replace(self, counted=counted), found

    def __deepcopy__(self, memo: dict[int, Any]) -> "LateOutcomes":
        return self  # a value


def _with_outcomes(rounds: Log, told: list[Values]) -> Log:
    """Rounds with outcomes that were told of each."""
    found: dict[str, Array] = dict(rounds.outcomes)
    for row, outcomes in enumerate(told):
        for name, values in outcomes.items():
            if name not in found or not found[name].flags.writeable:
                found[name] = found.get(name, np.full(rounds.actions.shape, np.nan)).copy()
            found[name][row] = values
    return Log.trusted(
        rounds.contexts,
        rounds.actions,
        rounds.propensities,
        rounds.rewards,
        beside=rounds.beside.with_outcomes(found),
    )
