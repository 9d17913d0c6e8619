"""Evidence where only the propensities of shown actions are known, and a floor under all."""

from collections.abc import Callable
from copy import copy
from functools import partial
from math import exp, log
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import classical
from policysieve.evidence.betting import Betting
from policysieve.evidence.certificate import Certificate, Proof
from policysieve.evidence.comparing import (
    Comparison,
    chosen_among,
    compared,
    gain_over,
    least_difference,
)
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import Events, check_comparable, load_unit, rewarded_events
from policysieve.evidence.record import Record, check_floor
from policysieve.log import AnyLog
from policysieve.log.returning import Met, first_rounds
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["FloorEvidence", "FloorMethod"]

Array = npt.NDArray[np.float64]

FloorMethod = Literal["betting", "empirical_bernstein", "stitched", "fixed", "checkpoints"]


class FloorEvidence:
    """What a log proves of which only the propensities of shown actions are known.

    It counts on a floor: the smallest propensity that any action could have. That is a premise,
    which no log can prove: propensities that were possible and happened not to be met would make
    certificates false. Where the propensities of all actions are known, `Evidence` needs none.

    Give it rounds in the order of their decisions with `add`, and ask for a `certificate` as often
    as you like: betting, empirical Bernstein and stitched bounds hold at all times at once, with
    probability 1 - delta in all. The two Maurer-Pontil methods, ``"fixed"`` and ``"checkpoints"``,
    need rounds that are independent: exploration that does not learn from the rounds it counts.
    Only rewarded rounds are kept. Where a log names its units, the first round of each counts.

    Asking changes nothing. What is proved of a policy at one time may no longer be seen later, so
    `eliminate`, called at times that the user fixes, lets go of such policies for good.

    Parameters
    ----------
    policies : Policies
        At least two.
    problem : Problem
    method : {"betting", "empirical_bernstein", "stitched", "fixed", "checkpoints"}
        Betting is almost always the tightest. ``"fixed"`` holds at one number of rounds,
        `declared_rounds`.
    declared_rounds : int, optional
        For ``method="fixed"``.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        method: FloorMethod = "betting",
        declared_rounds: int | None = None,
    ) -> None:
        one_of("method", method, get_args(FloorMethod))
        if (method == "fixed") != (declared_rounds is not None):
            raise InvalidArgumentError(
                'declared_rounds goes with method="fixed", which holds at that number of rounds; '
                f"got method={method!r} and declared_rounds={declared_rounds}"
            )
        check_comparable(policies, problem)
        if declared_rounds is not None:
            declared_rounds = integer("declared_rounds", declared_rounds, low=1)
        self.method = method
        self.problem = problem
        self.record = Record(policies, problem.unit)
        self.estimates = Estimates(policies.n_policies)
        self._declared = declared_rounds
        self._betting: Betting | None = None
        self._met: Met | None = None
        self._eliminated = np.zeros(policies.n_policies, dtype=np.bool_)
        self._barred: npt.NDArray[np.intp] | None = None

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self.record.rounds

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that were not eliminated."""
        return np.flatnonzero(~self._eliminated)

    def _with_out(self, worse: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Who is out if some are worse than the leader.

        With guardrails nobody else: a leader that breaks one would throw out the best of those that
        do not.
        """
        if self.problem.guardrails is not None:
            return self._eliminated
        return self._eliminated | worse

    def bar(self, policies: npt.NDArray[np.intp]) -> None:
        """Let go of policies that are proved to break a guardrail, for good."""
        eliminated = self._eliminated.copy()
        eliminated[policies] = True
        self.__dict__.update(_eliminated=eliminated, _barred=policies)

    def add(self, log: AnyLog, *, floor: float, answers: Slates | None = None) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log, LogFile, path or paths
        floor : float
            Smallest propensity that any item could have in these rounds, fixed before them.
        answers : Slates, optional
            What the policies said at their contexts; by default they are asked now.

        Raises
        ------
        InvalidArgumentError
            If a propensity is below the floor, or the rewards of a round exceed the sparsity.
        """
        policies = self.record.policies
        log = load_unit(log, policies, self.problem)
        smallest = check_floor(log, floor)
        log, met = first_rounds(log, self._met, self.rounds)
        self._take(rewarded_events(log, policies, answers), smallest, met)

    def take(self, events: Events, *, floor: float) -> None:
        """`add` for what is known of rounds of a log without units, as a digest has it."""
        self._take(events.received(self.record.policies), floor, None)

    def _take(self, events: Events, floor: float, met: Met | None) -> None:
        record = self.record.plus(events, floor=floor)
        self.__dict__.update(record=record, estimates=self.estimates.plus(events), _met=met)

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        return self._judged(pending)[0]

    def eliminate(self, *, pending: int = 0) -> Certificate:
        """Let go of the policies that are proved to be no better than the leader, for good."""
        certificate, betting = self._judged(pending)
        self.__dict__.update(_eliminated=certificate.eliminated, _betting=betting)
        return certificate

    def _judged(self, pending: int) -> tuple[Certificate, Betting | None]:
        """The certificate, and the wealth behind it."""
        policies, problem = self.record.policies, self.record.problem
        threshold = log((policies.n_policies - 1) / problem.delta_of_best)
        self._check_declared()
        leader, betting = self._leader(), self._betting
        if self.method == "betting":
            betting = self._bets_on(leader).after(self.record)
            wealth = betting.log_wealth()
            passed = wealth[:, 1] >= threshold
            passed[leader] = False
            eliminated = self._with_out(passed)
            rivals = self._rivals(leader, eliminated)
            certified = bool((wealth[rivals, 0] >= threshold).all())
            certified |= problem.epsilon >= problem.reward_cap
            hardest = rivals[np.argsort(wealth[rivals, 0], kind="stable")]
            find_bound: Callable[[], float] = partial(
                Proof(
                    hardest, threshold, partial(_log_wealth, self.record, leader)
                ).smallest_epsilon,
                0.0 if certified else problem.epsilon,
                min(problem.epsilon if certified else problem.reward_cap, problem.reward_cap),
            )
        else:
            lower = self._classical(leader, problem.delta_of_best / (policies.n_policies - 1))
            lower = np.where(np.isfinite(lower), lower, -problem.reward_cap)
            eliminated = self._with_out(lower > 0)
            rivals = self._rivals(leader, eliminated)
            bound = max(0.0, -float(lower[rivals].min())) if len(rivals) else 0.0
            certified = bound <= problem.epsilon
            find_bound = partial(min, bound, problem.reward_cap)
        against = policies.against(problem)
        certificate = Certificate(
            leader=leader,
            certified=certified,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=threshold,
            method=self.method,
            find_bound=find_bound,
            name=None if policies.names is None else policies.names[leader],
            against=None if against is None else policies.name_of(against),
            find_gain=partial(gain_over, policies, problem, leader, copy(self)._least_difference),
            barred=self._barred,
            cleared=True if self.problem.guardrails is None else None,
        )
        return certificate.in_units(self.problem.scale), betting

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Estimates are plain means; where floors differ between blocks the limits belong to a mean
        that is weighted by them, and an estimate may lie outside.
        """
        limits = classical.value_intervals(self.record, self.record.problem.delta)
        cap = self.record.problem.reward_cap
        lower = np.nan_to_num(limits.lower, nan=0.0)
        upper, names = np.nan_to_num(limits.upper, nan=cap), self.record.policies.names
        found = ValueIntervals(self.estimates.values, lower, upper, names=names)
        return found.in_units(self.problem.scale)

    def compare(
        self, first: int | str, second: int | str, *, named_beforehand: bool = False
    ) -> Comparison:
        """How much better one policy is than another, both by number or name.

        It holds when certificates of the method hold (docs/maths.md, "Differences").

        Parameters
        ----------
        first, second : int or str
        named_beforehand : bool
            Whether this pair was chosen before the rounds were seen, and is the only one: then the
            interval is narrower. By default all pairs hold at once, so the data may have chosen.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, or both are the same.
        """
        self._check_declared()
        record, values = self.record, self.estimates.values
        when = "at the declared number of rounds" if self.method == "fixed" else "whenever you look"
        return compared(
            record.policies,
            self.problem,
            first,
            second,
            estimate_of=lambda policy: float(values[policy]),
            least=self._least_difference,
            rounds=self.rounds,
            among=chosen_among(record.policies, named_beforehand),
            when=f"{when}, provided that no action's propensity could be below its floor",
        )

    def _least_difference(self, first: int, second: int, log_term: float) -> float:
        """Lower limit on value(first) - value(second) at level exp(-log_term)."""
        if self.method != "betting":
            lower = float(self._classical(first, exp(-log_term))[second])
            return lower if np.isfinite(lower) else -self.record.problem.reward_cap
        rival = np.array([second])
        return least_difference(
            lambda differences: _log_wealth(self.record, first, rival, -differences)[0],
            self.record.problem.reward_cap,
            log_term,
        )

    def _check_declared(self) -> None:
        if self.method == "fixed" and self.rounds != self._declared:
            raise InvalidArgumentError(
                f'method="fixed" holds at the declared {self._declared:,} rounds only, got '
                f"{self.rounds:,}; add as many as were declared, or use a method that holds at any "
                "time"
            )

    def _bets_on(self, leader: int) -> Betting:
        """The bets of the last elimination if it had the same leader, else new ones."""
        problem, n_policies = self.record.problem, self.record.policies.n_policies
        if self._betting is not None and self._betting.leader == leader:
            return self._betting
        return Betting(problem, leader, np.array([problem.epsilon, 0.0]), n_policies)

    def _leader(self) -> int:
        """The surviving policy with the largest estimate."""
        if not self.rounds:
            return int(self.survivors[0])
        return int(self.survivors[self.estimates.values[self.survivors].argmax()])

    def _rivals(self, leader: int, eliminated: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """Survivors that are not the leader, nor the same policy under another number."""
        survivors = np.flatnonzero(~eliminated)
        rivals = survivors[survivors != leader]
        return np.asarray(rivals[~self.record.policies.same_as(leader, rivals)])

    def _classical(self, leader: int, delta_each: float) -> npt.NDArray[np.float64]:
        bounds = {
            "empirical_bernstein": classical.empirical_bernstein,
            "stitched": classical.stitched,
            "fixed": classical.fixed,
            "checkpoints": classical.checkpoints,
        }[self.method]
        return bounds(self.record, leader, delta_each)


def _log_wealth(
    record: Record, leader: int, rivals: npt.NDArray[np.intp], epsilons: Array
) -> Array:
    """Ln E of some rivals for each epsilon, from the events of a record."""
    problem, n_policies = record.problem, record.policies.n_policies
    most = len(rivals) > n_policies // 8  # then copies of their slates cost more than all
    bets = Betting(problem, leader, epsilons, n_policies, None if most else rivals)
    wealth = bets.after(record).log_wealth()
    return wealth[rivals] if most else wealth
