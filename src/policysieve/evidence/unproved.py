"""What a log says where nothing is known of the propensities that it did not meet."""

from copy import copy
from functools import partial
from math import inf, log

import numpy as np
import numpy.typing as npt

from policysieve.evidence.certificate import Certificate
from policysieve.evidence.comparing import Comparison, chosen_among, compared, gain_over
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import (
    check_comparable,
    check_log_fits,
    load_unit,
    rewarded_events,
)
from policysieve.evidence.values import limits_from_sums
from policysieve.log import AnyLog, Log
from policysieve.log.returning import Met, first_rounds
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["UnprovedEvidence", "earned_and_missed"]

Array = npt.NDArray[np.float64]


class UnprovedEvidence:
    """Estimates and their limits from a log that has only the propensities of what was shown.

    How policies differ is not proved: that would need a floor under all propensities, or those of
    all actions. Limits on single values need neither, because what a policy earned and what it
    missed are not negative (docs/maths.md, "Values of single policies").

    Parameters
    ----------
    policies : Policies
    problem : Problem
    """

    def __init__(self, policies: Policies, problem: Problem) -> None:
        check_comparable(policies, problem)
        self.policies = policies
        self.problem = problem
        self._earned = self._missed = Estimates(policies.n_policies)
        self._met: Met | None = None
        self._barred: npt.NDArray[np.intp] | None = None

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self._earned.rounds

    def bar(self, policies: npt.NDArray[np.intp]) -> None:
        """Let none of these policies lead."""
        self._barred = policies

    def add(self, log: AnyLog, answers: Slates | None = None) -> None:
        """Take in the next rounds, of a log or of files; all or nothing.

        Policies are asked at its contexts, unless their answers are given.
        """
        log = load_unit(log, self.policies, self.problem)
        check_log_fits(log, self.policies)
        log, met = first_rounds(log, self._met, self.rounds)
        self._take(*earned_and_missed(log, self.policies, answers), met)

    def take(self, earned: Estimates, missed: Estimates) -> None:
        """`add` for the sums of rounds of a log without units, as a digest has them."""
        self._take(earned, missed, None)

    def _take(self, earned: Estimates, missed: Estimates, met: Met | None) -> None:
        earned, missed = self._earned.merge(earned), self._missed.merge(missed)
        self.__dict__.update(_earned=earned, _missed=missed, _met=met)

    def certificate(self, *, pending: int = 0) -> Certificate:
        """Nothing is proved about the leader."""
        names, leader = self.policies.names, self._earned.leader
        unit = self.problem.unit
        eliminated = np.zeros(self.policies.n_policies, dtype=np.bool_)
        if self._barred is not None:
            eliminated[self._barred] = True
            leader = int(np.where(eliminated, -inf, self._earned.totals).argmax())
        against = self.policies.against(unit)
        return Certificate(
            leader=leader,
            certified=False,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=inf,
            method="none",
            find_bound=partial(float, unit.reward_cap),
            name=None if names is None else names[leader],
            against=None if against is None else self.policies.name_of(against),
            find_gain=partial(gain_over, self.policies, unit, leader, copy(self)._least),
            barred=self._barred,
            cleared=True if self.problem.guardrails is None else None,
        ).in_units(self.problem.scale)

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time."""
        limits = self._limits(log(2 * self.policies.n_policies / self.problem.delta))
        found = ValueIntervals(self._earned.values, *limits, names=self.policies.names)
        return found.in_units(self.problem.scale)

    def compare(
        self, first: int | str, second: int | str, *, named_beforehand: bool = False
    ) -> Comparison:
        """How much better one policy is than another, from limits on their values.

        Parameters
        ----------
        first, second : int or str
            Numbers or names.
        named_beforehand : bool
            As for `Evidence`.
        """
        values = self._earned.values
        return compared(
            self.policies,
            self.problem,
            first,
            second,
            estimate_of=lambda policy: float(values[policy]),
            least=self._least,
            rounds=self.rounds,
            among=chosen_among(self.policies, named_beforehand),
            when="whenever you look",
        )

    def _least(self, first: int, second: int, log_term: float) -> float:
        """Lower limit on value(first) - value(second) at level exp(-log_term)."""
        lower, upper = self._limits(log_term + log(2))  # one limit of each of the two
        return float(lower[first] - upper[second])

    def _limits(self, log_term: float) -> tuple[Array, Array]:
        """Limits of all policies, each at level exp(-log_term)."""
        problem, n_policies = self.problem.unit, self.policies.n_policies
        if not self.rounds:
            return np.zeros(n_policies), np.full(n_policies, problem.reward_cap)
        weight = np.full(n_policies, float(self.rounds))
        earned, missed = ((kind.totals, kind.squares) for kind in (self._earned, self._missed))
        return limits_from_sums(problem, earned, missed, weight, log_term)


def earned_and_missed(
    log: Log, policies: Policies, answers: Slates | None = None
) -> tuple[Estimates, Estimates]:
    """Sums over checked rounds of what each policy earned, and of what it missed."""
    if answers is None:
        answers = policies.answers(log.contexts, log.available)
    lost = Log.trusted(log.contexts, log.actions, log.propensities, 1 - log.rewards)
    none = Estimates(policies.n_policies)
    earned, missed = (none.plus(rewarded_events(one, policies, answers)) for one in (log, lost))
    return earned, missed
