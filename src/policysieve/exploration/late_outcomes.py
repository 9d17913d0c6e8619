"""Outcomes of a learner's rounds, which may come with their rewards or at any time later."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.errors import DecisionsError
from policysieve.evidence.outcomes import Outcomes, check_outcomes, told_outcomes
from policysieve.exploration.settled import Part
from policysieve.exploration.waiting_outcomes import WaitingOutcomes
from policysieve.log import Log
from policysieve.log.beside import as_outcomes
from policysieve.log.returning import chosen_rounds
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
    early : WaitingOutcomes
        Of told rounds that wait for earlier ones.
    places : Columns
        Where the rounds that count are in the log.
    left_out : Columns
        Numbers of rounds that were learnt from and do not count, from `begun` on.
    begun : int
        Rounds that were decided before these do not count.
    numbers : Columns
        Those of all rounds of the log, -1 of rounds that were asked elsewhere.
    others : dict
        Outcomes that came late, of rounds that do not count, by their numbers.
    """

    counted: Outcomes
    early: WaitingOutcomes = field(default_factory=WaitingOutcomes)
    places: Columns = field(default_factory=lambda: Columns(np.empty(0, np.int64)))
    left_out: Columns = field(default_factory=lambda: Columns(np.empty(0, np.int64)))
    begun: int = 0
    numbers: Columns = field(default_factory=lambda: Columns(np.empty(0, np.int64)))
    others: Mapping[int, Values] = field(default_factory=dict)

    @classmethod
    def of(cls, policies: AnyPolicies, problem: Problem) -> Self | None:
        """What is known before any round; None if no outcomes are declared."""
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
        """The same with outcomes of rounds whose rewards are told at the same time."""
        early = {
            number: {name: values[row] for name, values in told.items()}
            for row, number in enumerate(numbers.tolist())
        }
        return replace(self, early=self.early.plus(early))

    def with_late(self, numbers: Numbers, told: Values, learnt: int) -> Self:
        """The same with outcomes of told rounds, or raise; the first `learnt` were learnt from."""
        others, told, numbers = self._apart(told, numbers, learnt)
        places = self.counted.find(numbers)
        waits = numbers >= learnt
        for name, values in told.items():
            again = self.counted.is_told(name, places, values) & ~waits
            for row in np.flatnonzero(waits):
                before = self.early.get(int(numbers[row])).get(name)
                if before is not None:
                    again[row] = (~np.isnan(before) & ~np.isnan(values[row])).any()
            if again.any():
                raise DecisionsError(
                    f"outcomes {name!r} were told or settled before, or their rounds given up, for "
                    f"instance of round {numbers[again][0]}; each is told once"
                )
        early: dict[int, Values] = {}
        for row in np.flatnonzero(waits):
            number = int(numbers[row])
            mine = dict(self.early.get(number))
            for name, values in told.items():
                before = mine.get(name, values[row])
                mine[name] = np.where(np.isnan(values[row]), before, values[row])
            early[number] = mine
        counted, rows = self.counted, np.flatnonzero(~waits & (places >= 0))
        if len(rows):
            late = {name: values[rows] for name, values in told.items()}
            counted = counted.with_late(places[rows], late)
        return replace(self, counted=counted, early=self.early.plus(early), others=others)

    def _apart(
        self, told: Values, numbers: Numbers, learnt: int
    ) -> tuple[Mapping[int, Values], Values, Numbers]:
        """Outcomes of rounds that do not count, for the log alone, and of those that do, or may."""
        out = (numbers < self.begun) | np.isin(numbers, self.left_out.arrays[0])
        out &= numbers < learnt
        others = dict(self.others)
        for row in np.flatnonzero(out):
            number = int(numbers[row])
            mine = {name: values[row] for name, values in told.items()}
            others[number] = {**mine, **others.get(number, {})}
        rows = np.flatnonzero(~out)
        return others, {name: values[rows] for name, values in told.items()}, numbers[rows]

    def with_learnt(
        self, part: Part, answers: Answers | None, which: Any, rows: Any, *, at: int
    ) -> tuple[Self, Log]:
        """The same with rounds that are learnt from now, and these with what is known of them.

        Parameters
        ----------
        part : Part
        answers : Answers
            What the policies said in those that count,
        which : integer array or None
            and which of them were asked; None if all.
        rows : integer array or None
            Which of the rounds count; None if all.
        at : int
            Place of the first one in the log.
        """
        rounds, early = self._heard(part)
        rows = np.arange(len(rounds)) if rows is None else rows
        then = self._with_left_out(part, rows, early)
        if not len(rows):
            return then, rounds
        assert isinstance(answers, Slates)
        counted = self.counted.plus(
            rounds if len(rows) == len(rounds) else chosen_rounds(rounds, rows),
            answers,
            which=which,
            numbers=None if part.numbers is None else part.numbers[rows],
            asked=None if part.asked is None else part.asked[rows],
        )
        return replace(then, counted=counted, places=self.places.plus(at + rows)), rounds

    def _heard(self, part: Part) -> tuple[Log, WaitingOutcomes]:
        """Rounds with outcomes that were told early, and what waits then."""
        if not self.early.layers or part.numbers is None:
            return part.rounds, self.early
        mine, early = self.early.taken(part.numbers.tolist())
        return _with_outcomes(part.rounds, mine), early

    def _with_left_out(self, part: Part, rows: Any, early: WaitingOutcomes) -> Self:
        if part.numbers is None:
            elsewhere = np.full(len(part.rounds), -1)
            return replace(self, early=early, numbers=self.numbers.plus(elsewhere))
        numbers, left_out = self.numbers.plus(part.numbers), self.left_out
        if len(rows) < len(part.numbers):
            left_out = left_out.plus(np.delete(part.numbers, rows))
        return replace(self, early=early, numbers=numbers, left_out=left_out)

    def in_log(self, log: Log) -> Log:
        """A log of all rounds that were learnt from, with what is known of outcomes by now."""
        found, (places,) = dict(log.outcomes), self.places.arrays
        for name, values in self.counted.all_values().items():
            all_values = found.get(name, np.full(log.actions.shape, np.nan)).copy()
            all_values[places] = values
            found[name] = all_values
        where = {number: place for place, number in enumerate(self.numbers.arrays[0].tolist())}
        for number, told in self.others.items():
            for name, values in told.items():
                row = found[name][where[number]]
                found[name][where[number]] = np.where(np.isnan(row), values, row)
        return log.with_outcomes(found)

    def anew(self, begun: int) -> Self:
        """The same without rounds decided before; outcomes of these change nothing any more."""
        nothing = Outcomes(self.counted.policies, self.counted.problem)
        return type(self)(nothing, self.early, begun=begun, numbers=self.numbers)

    def expired(self, until: float) -> tuple[Self, dict[str, int]]:
        """The same with declared values for what was asked for until then, and how many."""
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
        reward_range=rounds.reward_range,
    )
