"""Learners in two phases: uniform rounds find a design, the design estimates every policy."""

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Events, Evidence, Record, ValueIntervals, anytime_intervals
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.exploration.designs.uniform import UniformExploration
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.forecast import Forecast, no_forecast, planned_forecast
from policysieve.exploration.learners.promises import (
    anytime_recommendation,
    certificate_recommendation,
)
from policysieve.exploration.looking import BATCH
from policysieve.log import Log
from policysieve.planning import Plan, plan
from policysieve.policies import Answers, AnyPolicies, Policies, Slates
from policysieve.problem import Problem

__all__ = ["Stop", "TwoPhaseExplorer", "WeighedPhasesExplorer"]

Stop = Literal["planned", "certified"]


class TwoPhaseExplorer(Explorer):
    """Show uniform slates, make a design of what was rewarded, then explore with the design.

    Phase 1 does not depend on the rewards, so they may come as late as they like; rounds asked for
    between the end of phase 1 and its last reward are uniform and do not enter the design. Rounds
    after the planned ones are logged but change nothing any more.

    With ``stop="certified"`` evidence of capped scores takes the rounds of both phases, each with
    its own propensities, and the learner ends at the first look that proves epsilon. The sizes of
    the phases then only say when it ends at the latest, and what is guaranteed is the certificate
    (docs/maths.md, "Two phases").

    A subclass implements `_find_design`, `_count` to hear of rounds that count, and
    `_planned_recommendation` and `_planned_intervals`.

    Parameters
    ----------
    policies, problem, rng
        As for every learner.
    sizes : Plan
        Sizes of the phases where none are given.
    explore_rounds, estimate_rounds : int or None
        Sizes of the phases.
    stop : {"planned", "certified"}
        End after the planned rounds, or as soon as epsilon is certified.

    Attributes
    ----------
    design : MixedExploration or None
        What phase 1 found; None until its last reward is in.
    evidence : Evidence or None
        What the rounds prove; None unless it decides when to stop.
    """

    design: Any

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        sizes: Plan,
        explore_rounds: int | None,
        estimate_rounds: int | None,
        stop: Stop,
        rng: Any,
    ) -> None:
        one_of("stop", stop, get_args(Stop))
        self.evidence: Evidence | None = None
        if stop == "certified" and isinstance(policies, Policies):
            self.evidence = Evidence(policies, problem)
        elif stop == "certified":
            raise InvalidArgumentError(
                "stop must be \"planned\" for a class that cannot be listed, got 'certified'; "
                "select may prove something from the log"
            )
        super().__init__(policies, problem, rng=rng)
        self.stop = stop
        self.explore_rounds = (
            sizes.explore_rounds
            if explore_rounds is None
            else integer("explore_rounds", explore_rounds, low=1)
        )
        self.estimate_rounds: Any = (  # None where a subclass finds it later
            sizes.estimate_rounds
            if estimate_rounds is None
            else integer("estimate_rounds", estimate_rounds, low=1)
        )
        self.exploration = UniformExploration(policies, problem)
        self.design = None
        self._phase_one = Record(policies, problem.unit)
        self._estimated = 0  # rounds of phase 2
        self._certified = False

    @property
    def _wanted(self) -> int:
        """Rounds of the current phase that are not done, up to the next look at the evidence."""
        if self.evidence is None:
            return self._left
        return min(self._left, self.evidence.next_look - self.evidence.rounds)

    @property
    def _left(self) -> int:
        """Rounds of the current phase that are not done."""
        if self.design is None:
            return self.explore_rounds - self._phase_one.rounds
        return (self.estimate_rounds or 0) - self._estimated

    def _batch(self, most: int | None, waiting: int) -> int:
        """Within the phase, and up to a look: what comes behind one that certifies is in vain."""
        size = BATCH if most is None else most
        if self.evidence is not None:
            size = self.evidence.up_to_look(size, waiting)
        return min(size, self._left - waiting)

    @property
    def _finished(self) -> bool:
        """Whether the planned rounds are done, or epsilon is certified and that is enough."""
        return self._certified or super()._finished

    def _takes(self, exploration: Any) -> bool:
        """Uniform ones, and the design or a copy of it."""
        if isinstance(exploration, UniformExploration):
            return exploration.problem == self.problem
        return self.design is not None and self.design.same_as(exploration)

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        if not isinstance(exploration, UniformExploration):
            rounds = rounds[: (self.estimate_rounds or 0) - self._estimated]
        if self.evidence is not None:
            taken = self._prove(self.evidence, rounds, exploration, answers)
            rounds, answers = rounds[:taken], answers.take(slice(taken))
        if not isinstance(exploration, UniformExploration):
            self._count(self._events(rounds, answers), exploration, phase=2)
            self._estimated += len(rounds)
            return
        first = rounds[: self.explore_rounds - self._phase_one.rounds]
        if len(first):
            events = self._events(first, answers)
            self._phase_one = self._phase_one.plus(events, floor=exploration.floor)
            self._count(events, exploration, phase=1)
            if self._phase_one.rounds == self.explore_rounds:
                self.design = self.exploration = self._find_design(self._phase_one.all_events())
        between = rounds[len(first) :]
        if len(between):
            later = answers.take(slice(len(first), None))
            self._count(self._events(between, later), exploration, phase=0)

    def _prove(self, before: Evidence, rounds: Log, exploration: Any, answers: Answers) -> int:
        """Take rounds into the evidence up to the first look that certifies; how many they are."""
        assert isinstance(answers, Slates)
        self.evidence = evidence = copy(before)
        taken = 0
        while taken < len(rounds) and not self._certified:
            look = evidence.next_look
            some = rounds[taken : taken + look - evidence.rounds]
            said = answers.take(slice(taken, taken + len(some)))
            evidence.take(some, said, partial(_propensities, exploration, said))
            taken += len(some)
            if evidence.next_look > look:
                self._certified = evidence.certificate().certified
        return taken

    def _forecast(self) -> Forecast:
        rounds, left = self._rounds, self._left
        if self._finished:
            return planned_forecast(0, rounds=rounds)
        if self.design is None and self.estimate_rounds is None:
            unknown = "the size of phase 2 is known when phase 1 has ended."
            return no_forecast(unknown, rounds=rounds)
        if self.design is None:
            left += self.estimate_rounds
        if self.evidence is not None:
            latest = f"it ends with a proof, at the latest after {rounds + left:,} rounds."
            return no_forecast(latest, rounds=rounds, limit=rounds + left)
        return planned_forecast(left, rounds=rounds)

    def _recommend(self) -> Recommendation:
        if self.evidence is not None:
            return certificate_recommendation(self.evidence, rounds=self._rounds)
        return self._planned_recommendation()

    def _intervals(self) -> ValueIntervals:
        if self.evidence is not None:
            return self.evidence.intervals()
        return self._planned_intervals().in_units(self.problem.scale)

    @abstractmethod
    def _planned_recommendation(self) -> Recommendation:
        """What to recommend if the learner ends after the planned rounds, in the user's units."""

    @abstractmethod
    def _planned_intervals(self) -> ValueIntervals:
        """Estimates and limits that go with it, for rewards in [0, 1]."""

    @abstractmethod
    def _count(self, events: Events, exploration: Any, *, phase: int) -> None:
        """Take in rounds of a phase; 0 stands for uniform ones asked for between the phases."""

    @abstractmethod
    def _find_design(self, events: Events) -> MixedExploration:
        """What phase 2 plays, from the rewarded rounds among the `explore_rounds` of phase 1."""


def _propensities(exploration: Any, answers: Slates, rows: slice) -> npt.NDArray[np.float64]:
    return np.asarray(exploration.propensities(answers.take(rows)))


def _on_traffic(sizes: Plan, problem: Problem) -> Plan:
    """As many exploring rounds as planned, on average, if only a share of the rounds explores."""
    phases = (sizes.explore_rounds, sizes.estimate_rounds)
    explore, estimate = (ceil(rounds / problem.traffic) for rounds in phases)
    return replace(sizes, explore_rounds=explore, estimate_rounds=estimate)


class WeighedPhasesExplorer(TwoPhaseExplorer):
    """Two phases, whose rounds all count in the estimates, each with its own propensity.

    That is m/K for a uniform round, which is worth less than a designed one and weighs less
    (docs/maths.md, "Two phases").

    A subclass implements `_find_design` and `_expected_variance`. Its parameters `explore_rounds`
    and `estimate_rounds` (the sizes of the phases) and `mixing` (the share of uniform exploration
    in phase 2) are by default those of `plan`, which guarantee epsilon and delta for
    LowVarianceExploration.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        explore_rounds: int | None,
        estimate_rounds: int | None,
        mixing: float | None,
        stop: Stop,
        rng: Any,
    ) -> None:
        self._check_problem(policies, problem)
        sizes = _on_traffic(plan(replace(problem, traffic=1.0), policies.n_policies), problem)
        super().__init__(
            policies,
            problem,
            sizes=sizes,
            explore_rounds=explore_rounds,
            estimate_rounds=estimate_rounds,
            stop=stop,
            rng=rng,
        )
        self.mixing = sizes.mixing if mixing is None else number("mixing", mixing, above=0, below=1)
        self._record = Record(policies, problem.unit)

    @property
    @abstractmethod
    def _expected_variance(self) -> float:
        """Variance term that the design is meant to have, for a policy that is always rewarded."""

    def _count(self, events: Events, exploration: Any, *, phase: int) -> None:
        floor = exploration.floor
        if phase != 2:  # lower than it need be, because intervals weigh rounds by their floors
            floor *= self.mixing * min(1.0, self._expected_variance * floor)
        self._record = self._record.plus(events, floor=floor)

    def _planned_recommendation(self) -> Recommendation:
        return anytime_recommendation(
            self._record,
            self.problem,
            rounds=self._rounds,
            remark="these sizes of the phases guarantee no epsilon in advance.",
        )

    def _planned_intervals(self) -> ValueIntervals:
        return anytime_intervals(self._record)
