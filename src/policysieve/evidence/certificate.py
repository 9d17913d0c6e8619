"""Evidence: rounds in, a certificate out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import log
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import classical
from policysieve.evidence.betting import Betting
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import Events, rewarded_events
from policysieve.evidence.record import Record, check_floor
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Certificate", "Evidence", "Method"]

Array = npt.NDArray[np.float64]

Method = Literal["betting", "empirical_bernstein", "stitched", "fixed", "checkpoints"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """What the rounds so far prove about one policy, the leader.

    Attributes
    ----------
    leader : int or Policy
        The policy with the largest estimate among the surviving ones.
    certified : bool
        Whether, with probability at least 1 - delta, the leader is within epsilon of the best.
    eliminated : bool array of shape (n_policies,)
        Policies that are proved to be no better than a leader, now or earlier. Empty for a class
        that cannot be listed, of which none are eliminated.
    rounds : int
        Rounds behind it.
    pending : int
        Rounds whose rewards were not known yet; they are left out.
    log_threshold : float
        ln((|Pi| - 1)/delta), what the evidence against each rival has to reach.
    method : str
        How it was proved, or "none".
    """

    leader: Any
    certified: bool
    eliminated: npt.NDArray[np.bool_]
    rounds: int
    pending: int
    log_threshold: float
    method: str
    find_bound: Callable[[], float] = field(repr=False)

    @cached_property
    def suboptimality_bound(self) -> float:
        """With probability at least 1 - delta no policy is better than the leader by more.

        The smallest epsilon that is proved, at most the most a round can earn. It is searched for
        when it is first asked for, on the rounds that the certificate has seen.
        """
        return self.find_bound()

    def __getstate__(self) -> dict[str, Any]:
        """Find the bound before travelling: the search needs the evidence."""
        bound = self.suboptimality_bound
        return {**self.__dict__, "suboptimality_bound": bound, "find_bound": None}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; of the eliminated policies only their number."""
        return {
            "leader": self.leader if isinstance(self.leader, int) else repr(self.leader),
            "suboptimality_bound": self.suboptimality_bound,
            "certified": self.certified,
            "n_eliminated": int(self.eliminated.sum()),
            "rounds": self.rounds,
            "pending": self.pending,
            "log_threshold": None if self.method == "none" else self.log_threshold,
            "method": self.method,
        }


class Evidence:
    """What a log with predictable propensities proves about the policies of a class.

    Give it rounds in the order of their decisions with `add`, and ask for a `certificate` as often
    as you like: betting, empirical Bernstein and stitched bounds hold at all times at once, with
    probability 1 - delta in all. The two Maurer-Pontil methods, ``"fixed"`` and ``"checkpoints"``,
    need rounds that are independent: exploration that does not learn from the rounds it counts.
    Only rewarded rounds are kept.

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
        method: Method = "betting",
        declared_rounds: int | None = None,
    ) -> None:
        if method not in get_args(Method):
            raise InvalidArgumentError(f"method must be one of {get_args(Method)}, got {method!r}")
        if (method == "fixed") != (declared_rounds is not None):
            raise InvalidArgumentError(
                'declared_rounds goes with method="fixed", which holds at that number of rounds; '
                f"got method={method!r} and declared_rounds={declared_rounds}"
            )
        if not isinstance(policies, Policies):
            raise InvalidArgumentError(
                f"policies must be numbered, got {type(policies).__name__}; for a class that "
                "cannot be listed there are select and policysieve.evidence.ImplicitEvidence"
            )
        if policies.n_policies < 2:
            raise InvalidArgumentError("evidence compares policies: give at least two, got one")
        policies.check_fits(problem)
        if declared_rounds is not None:
            declared_rounds = integer("declared_rounds", declared_rounds, low=1)
        self.method = method
        self.record = Record(policies, problem)
        self.estimates = Estimates(policies.n_policies)
        self._declared = declared_rounds
        self._betting = Betting(problem, policies.n_policies)
        self._eliminated = np.zeros(policies.n_policies, dtype=np.bool_)

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self.record.rounds

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that were not eliminated."""
        return np.flatnonzero(~self._eliminated)

    def add(self, log: Log, *, floor: float, ranges: Array | None = None) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log
        floor : float
            Smallest propensity that any item could have in these rounds, fixed before them.
        ranges : float array of shape (n_policies,), optional
            Largest importance-weighted reward of each policy, where that is known to be smaller
            than reward_cap / floor.

        Raises
        ------
        InvalidArgumentError
            If a propensity is below the floor, or the rewards of a round exceed the sparsity.
        """
        policies, problem = self.record.policies, self.record.problem
        smallest = check_floor(log, floor)
        as_rewards(log.rewards, len(log), log.slate_size, problem.sparsity)
        if ranges is not None:
            ranges = np.array(ranges, dtype=np.float64)
            if ranges.shape != (policies.n_policies,) or not (ranges > 0).all():
                raise InvalidArgumentError(
                    f"ranges must be {policies.n_policies} positive numbers, one for each policy, "
                    f"got shape {ranges.shape}"
                )
        self.take(rewarded_events(log, policies), floor=smallest, ranges=ranges)

    def take(self, events: Events, *, floor: float, ranges: Array | None = None) -> None:
        """`add` for rounds that are known to keep its rules."""
        record = self.record.plus(events, floor=floor, ranges=ranges)
        self.__dict__.update(record=record, estimates=self.estimates.plus(events))

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        return self._judged(pending)[0]

    def eliminate(self, *, pending: int = 0) -> Certificate:
        """Let go of the policies that are proved to be no better than the leader, for good."""
        certificate, betting = self._judged(pending)
        self.__dict__.update(_eliminated=certificate.eliminated, _betting=betting)
        return certificate

    def _judged(self, pending: int) -> tuple[Certificate, Betting]:
        """The certificate, and the wealth behind it."""
        policies, problem = self.record.policies, self.record.problem
        threshold = log((policies.n_policies - 1) / problem.delta)
        if self.method == "fixed" and self.rounds != self._declared:
            raise InvalidArgumentError(
                f'method="fixed" holds at the declared {self._declared} rounds only, there are '
                f"{self.rounds}"
            )
        leader, betting = self._leader(), self._betting
        if self.method == "betting":
            betting = betting.after(self.record, leader)
            wealth = betting.log_wealth()
            passed = wealth[:, 1] >= threshold
            passed[leader] = False
            eliminated = self._eliminated | passed
            rivals = self._rivals(leader, eliminated)
            certified = bool((wealth[rivals, 0] >= threshold).all())
            find_bound: Callable[[], float] = partial(
                betting.smallest_epsilon,
                leader,
                rivals,
                threshold,
                low=0.0 if certified else problem.epsilon,
                high=problem.epsilon if certified else problem.reward_cap,
                record=self.record,
            )
        else:
            lower = self._classical(leader, problem.delta / (policies.n_policies - 1))
            lower = np.where(np.isfinite(lower), lower, -problem.reward_cap)
            eliminated = self._eliminated | (lower > 0)
            rivals = self._rivals(leader, eliminated)
            bound = max(0.0, -float(lower[rivals].min())) if len(rivals) else 0.0
            certified = bound <= problem.epsilon
            find_bound = partial(min, bound, problem.reward_cap)
        certificate = Certificate(
            leader=leader,
            certified=certified,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=threshold,
            method=self.method,
            find_bound=find_bound,
        )
        return certificate, betting

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Estimates are plain means; where ranges differ between blocks the limits belong to a mean
        that is weighted by them, and an estimate may lie outside.
        """
        limits = classical.value_intervals(self.record, self.record.problem.delta)
        cap = self.record.problem.reward_cap
        lower = np.nan_to_num(limits.lower, nan=0.0)
        return ValueIntervals(self.estimates.values, lower, np.nan_to_num(limits.upper, nan=cap))

    def log_wealth(self, leader: int) -> Array:
        """Ln E(pi) of every policy at the problem's epsilon, by betting: what is proved so far."""
        return self._betting.after(self.record, leader).log_wealth()[:, 0]

    def surviving_actions(self, contexts: Any) -> npt.NDArray[np.bool_]:
        """Mask (n, n_actions): which actions any surviving policy would show at the contexts."""
        slates = self.record.policies.actions(contexts, which=self.survivors)
        mask = np.zeros((len(slates), self.record.policies.n_actions), dtype=np.bool_)
        mask[np.arange(len(slates))[:, None], slates.reshape(len(slates), -1)] = True
        return mask

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
