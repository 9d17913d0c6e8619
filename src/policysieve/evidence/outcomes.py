"""What policies are worth in other outcomes than the reward: sums, and limits at any time."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from math import log
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import rewarded_events
from policysieve.evidence.values import limits_from_sums
from policysieve.log import Log
from policysieve.outcome import Outcome
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = [
    "OutcomeValue",
    "Outcomes",
    "check_outcomes",
    "of_one_outcome",
    "told_outcomes",
    "values_of",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]
Values = Mapping[str, Array]

_NOT_ASKED = -1  # the number of a round that no learner has issued


def check_outcomes(policies: Any, problem: Problem) -> None:
    """Raise if outcomes are declared of policies that cannot be listed."""
    if problem.outcomes is not None and not isinstance(policies, Policies):
        raise InvalidArgumentError(
            "outcomes need policies that can be listed, each of which has its values, got "
            f"{type(policies).__name__}; leave them out, or give a list of candidates"
        )


def told_outcomes(problem: Problem, outcomes: Values) -> Values:
    """Checked outcomes of some rounds, all of which are declared and in their ranges, or raise."""
    declared = problem.outcomes or {}
    for name, values in outcomes.items():
        if name not in declared:
            known = ", ".join(map(repr, declared)) or "none"
            raise InvalidArgumentError(
                f"outcomes must be declared by the problem, which has {known}, got {name!r}; write "
                f"Problem(..., outcomes={{{name!r}: (0, 1)}})"
            )
        declared[name].check(name, values)
    return outcomes


def of_one_outcome(problem: Problem) -> Problem:
    """What is asked of the scores of an outcome: any item of a slate may have them."""
    return replace(problem.unit.of_rewards, sparsity=None)


@dataclass(frozen=True, eq=False)
class _Sums:
    """What one outcome was in the rounds that count, and what policies have of it."""

    known: Columns  # values in the outcome's own units, shape (k, m)
    counted: npt.NDArray[np.int64]  # rounds behind each policy's sums
    earned: Array  # sums of s/W and of its squares, shape (2, n_policies),
    missed: Array  # and of (1 - s)/W

    @classmethod
    def first(cls, n_policies: int, slate_size: int) -> Self:
        nothing = np.zeros((2, n_policies))
        counted = np.zeros(n_policies, np.int64)
        return cls(Columns(np.empty((0, slate_size))), counted, nothing, nothing)

    def plus(
        self, rounds: Log, policies: Policies, answers: Slates, which: Any, of: Outcome
    ) -> "_Sums":
        """The same with the next rounds, whose rewards are the outcome, for some policies."""
        scores = of.scores(rounds.rewards)
        sums = []
        for before, kind in ((self.earned, scores), (self.missed, 1 - scores)):
            told = Log.trusted(rounds.contexts, rounds.actions, rounds.propensities, kind)
            new = Estimates(policies.n_policies).plus(rewarded_events(told, policies, answers))
            after = before.copy()
            after[0, which] += new.totals[which]
            after[1, which] += new.squares[which]
            sums.append(after)
        counted = self.counted.copy()
        counted[which] += len(rounds)
        return _Sums(self.known.plus(rounds.rewards), counted, sums[0], sums[1])


class OutcomeValue(NamedTuple):
    """A policy's value in an outcome, in its own units per round: estimate and limits."""

    value: float
    lower: float
    upper: float

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON: NaN becomes None."""
        return {**self._asdict(), "value": None if np.isnan(self.value) else self.value}


def values_of(outcomes: Mapping[str, ValueIntervals], policy: int) -> dict[str, OutcomeValue]:
    """What one policy has of each outcome."""
    return {
        name: OutcomeValue(
            *(float(column[policy]) for column in (one.values, one.lower, one.upper))
        )
        for name, one in outcomes.items()
    }


class Outcomes:
    """Values of all policies in the outcomes that a problem declares. A value.

    An outcome counts on the longest run of first rounds, in the order of decisions, in which it is
    known: what came early must not count before what is late (docs/maths.md, "Delayed rewards").
    The rounds behind it wait here with what the policies said, so that nobody is asked again.

    Parameters
    ----------
    policies : Policies
    problem : Problem
        With outcomes.
    """

    def __init__(self, policies: Policies, problem: Problem) -> None:
        m = policies.slate_size
        self.policies, self.problem = policies, problem
        self.rounds = 0
        self._sums = {name: _Sums.first(policies.n_policies, m) for name in problem.outcomes or {}}
        self._first = 0  # round that has waited longest: those from here on are kept,
        self._waiting = Columns(
            np.empty((0, m), np.int32), np.empty((0, m)), np.empty(0, np.int64), np.empty(0)
        )  # what was shown with which propensities, its number, and when it was asked for,
        self._answers: Slates | None = None
        self._values = {name: Columns(np.empty((0, m))) for name in self._sums}
        self._eras: list[tuple[int, Numbers | None]] = []  # from which round on who is asked

    def plus(
        self,
        rounds: Log,
        answers: Slates,
        *,
        which: Numbers | None = None,
        numbers: npt.NDArray[np.int64] | None = None,
        asked: Array | None = None,
    ) -> Self:
        """These, and rounds that came next; all or nothing.

        Parameters
        ----------
        rounds : Log
            Outcomes that it does not have, or has as NaN, are not known yet.
        answers : Slates
            What the policies said there,
        which : integer array, optional
            and which of them were asked; all by default. The sums of others stay as they are.
        numbers, asked : arrays of shape (n,), optional
            Places in the order of a learner's decisions, and when they were asked for.
        """
        n = len(rounds)
        if not n:
            return self
        told = {name: rounds.outcomes[name] for name in self._sums if name in rounds.outcomes}
        told_outcomes(self.problem, told)
        then, unknown = copy(self), np.full(rounds.actions.shape, np.nan)
        if numbers is None:
            numbers = np.full(n, _NOT_ASKED)
        asked = np.full(n, np.inf) if asked is None else asked
        then.rounds += n
        then._waiting = self._waiting.plus(rounds.actions, rounds.propensities, numbers, asked)
        then._answers = answers if self._answers is None else self._answers.plus(answers)
        then._values = {
            name: values.plus(told.get(name, unknown)) for name, values in self._values.items()
        }
        if not self._eras or not _same(self._eras[-1][1], which):
            then._eras = [*self._eras, (self.rounds, which)]
        then._count()
        return then

    def with_late(self, places: npt.NDArray[np.int64], outcomes: Values) -> Self:
        """The same with outcomes of rounds that wait, by their places from `find`."""
        then = copy(self)
        then._values = dict(self._values)
        for name, values in outcomes.items():
            later = self._value(name).copy()
            later[places] = np.where(np.isnan(values), later[places], values)
            then._values[name] = Columns(later)
        then._count()
        return then

    def find(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Places of waiting rounds by their numbers; -1 of those that do not wait."""
        waiting = self._waiting.arrays[2]
        mine = np.flatnonzero(waiting != _NOT_ASKED)
        if not len(mine):
            return np.full(len(numbers), -1)
        at = np.minimum(waiting[mine].searchsorted(numbers), len(mine) - 1)
        return np.where(waiting[mine[at]] == numbers, mine[at], -1)

    def is_told(
        self, name: str, places: npt.NDArray[np.int64], values: Array
    ) -> npt.NDArray[np.bool_]:
        """Whether each round, by its place from `find`, would be told one of these values again."""
        known, waits = np.ones(values.shape, np.bool_), places >= 0
        known[waits] = ~np.isnan(self._value(name)[places[waits]])
        return np.asarray((known & ~np.isnan(values)).any(axis=1))

    def older_than(self, asked: float) -> dict[str, npt.NDArray[np.int64]]:
        """Places of waiting rounds that were asked for until then and lack an outcome, by name."""
        old = self._waiting.arrays[3] <= asked
        return {
            name: np.flatnonzero(old & np.isnan(self._value(name)).any(axis=1))
            for name in self._values
        }

    def unknown_as(self, name: str, places: npt.NDArray[np.int64], late: float) -> Array:
        """A value for what is not known of some waiting rounds, and NaN for what is."""
        return np.where(np.isnan(self._value(name)[places]), late, np.nan)

    def missing(self, name: str) -> int:
        """How many rounds lack an outcome."""
        return int(np.isnan(self._value(name)).any(axis=1).sum())

    def known(self, name: str) -> Array:
        """The outcome in the rounds that count, in its own units, shape (k, m)."""
        return self._sums[name].known.arrays[0]

    def scores(self, name: str) -> Array:
        """The same from 0 to 1, larger ones better."""
        of: Outcome = self._declared[name]
        return of.scores(self.known(name))

    def all_values(self) -> dict[str, Array]:
        """All rounds of all outcomes, NaN where not known yet, shape (rounds, m)."""
        found = {}
        for name in self._values:
            known = self.known(name)
            found[name] = np.concatenate([known, self._value(name)[len(known) - self._first :]])
        return found

    def intervals(self) -> dict[str, ValueIntervals]:
        """Estimates and limits of every policy in every outcome, in its own units, by name.

        They hold for all policies and all outcomes at once, and at any time: delta is split over
        both, and over the two sides (docs/maths.md, "Other outcomes").
        """
        level = log(2 * self.policies.n_policies * len(self._sums) / self.problem.delta)
        return {name: self._limits(name, level) for name in self._sums}

    def _value(self, name: str) -> Array:
        """An outcome in the rounds that wait, NaN where not known, shape (n, m)."""
        return self._values[name].arrays[0]

    @property
    def _declared(self) -> Mapping[str, Outcome]:
        return self.problem.outcomes or {}

    def _limits(self, name: str, log_term: float) -> ValueIntervals:
        sums, m = self._sums[name], self.policies.slate_size
        some = np.flatnonzero(sums.counted)
        values = np.full(self.policies.n_policies, np.nan)
        lower, upper = np.zeros(len(values)), np.full(len(values), float(m))
        weight = sums.counted[some].astype(np.float64)
        values[some] = sums.earned[0, some] / weight
        earned, missed = ((kind[0, some], kind[1, some]) for kind in (sums.earned, sums.missed))
        lower[some], upper[some] = limits_from_sums(
            of_one_outcome(self.problem), earned, missed, weight, log_term
        )
        of = self._declared[name]
        return ValueIntervals(
            *of.in_units(values, lower, upper, m),
            names=self.policies.names,
            minimize=of.objective == "minimize",
        )

    def _count(self) -> None:
        """Count what is known by now, and let go of rounds that wait for nothing."""
        actions, propensities, _, _ = self._waiting.arrays
        assert self._answers is not None
        done = {}
        for name, sums in self._sums.items():
            begin = len(sums.known) - self._first
            values = self._value(name)
            end = begin + _first_gap(values[begin:])
            for low, high, which in self._parts(begin, end):
                rows = slice(low, high)
                rounds = Log.trusted(
                    np.arange(low, high),
                    actions[rows],
                    propensities[rows],
                    values[rows],
                )
                answers = self._answers.take(rows)
                of = self._declared[name]
                sums = sums.plus(rounds, self.policies, answers, which, of)
            done[name] = sums
        gone = min(len(sums.known) for sums in done.values()) - self._first
        self._sums = done
        if gone:
            first = self._first + gone
            self._waiting = Columns(*(array[gone:].copy() for array in self._waiting.arrays))
            self._answers = self._answers.take(slice(gone, None))
            self._values = {name: Columns(self._value(name)[gone:].copy()) for name in done}
            last = max(i for i, (start, _) in enumerate(self._eras) if start <= first)
            self._eras, self._first = self._eras[last:], first

    def _parts(self, begin: int, end: int) -> "list[tuple[int, int, Any]]":
        """Waiting rounds from one place to another, cut where others are asked."""
        starts = [start - self._first for start, _ in self._eras]
        ends = [*starts[1:], end]
        found = []
        for start, stop, (_, which) in zip(starts, ends, self._eras, strict=True):
            low, high = max(start, begin), min(stop, end)
            if low < high:
                found.append((low, high, slice(None) if which is None else which))
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> "Outcomes":
        return self  # a value


def _first_gap(values: Array) -> int:
    """The first row in which something is not known."""
    if len(values) and np.isnan(values[0]).any():
        return 0  # as it mostly is
    unknown = np.asarray(np.isnan(values).any(axis=1))
    return int(unknown.argmax()) if unknown.any() else len(values)


def _same(ours: Numbers | None, theirs: Numbers | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return np.array_equal(ours, theirs)
