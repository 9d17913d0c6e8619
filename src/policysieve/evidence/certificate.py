"""Evidence: rounds in, a certificate out."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import log
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import classical
from policysieve.evidence.betting import Betting
from policysieve.evidence.estimates import Estimates
from policysieve.evidence.intervals import ValueIntervals
from policysieve.evidence.record import Record
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Certificate", "Evidence", "Method"]

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

    Parameters
    ----------
    policies : Policies
        At least two.
    problem : Problem
    method : {"betting", "empirical_bernstein", "stitched", "fixed", "checkpoints"}
        Betting is almost always the tightest. ``"fixed"`` holds at one number of rounds,
        `declared_rounds`, and can be asked once.
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
        if declared_rounds is not None:
            declared_rounds = integer("declared_rounds", declared_rounds, low=1)
        self.method = method
        self.record = Record(policies, problem)
        self.estimates = Estimates(policies.n_policies)
        self._declared = declared_rounds
        self._asked = False
        self._betting = Betting(self.record)
        self._eliminated = np.zeros(policies.n_policies, dtype=np.bool_)

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self.record.rounds

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that were not eliminated by the last certificate."""
        return np.flatnonzero(~self._eliminated)

    def add(self, log: Log, *, floor: float, ranges: npt.NDArray[np.float64] | None = None) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log
        floor : float
            Smallest propensity that any item could have in these rounds, fixed before them.
        ranges : float array of shape (n_policies,), optional
            Largest importance-weighted reward of each policy, where that is known to be smaller
            than reward_cap / floor.
        """
        self.estimates.add(self.record.add(log, floor=floor, ranges=ranges).events)

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        policies, problem = self.record.policies, self.record.problem
        threshold = log((policies.n_policies - 1) / problem.delta)
        if self.method == "fixed":
            self._check_fixed()
        leader = self._leader()
        if self.method == "betting":
            certified, find_bound = self._bet(leader, threshold)
        else:
            lower = self._classical(leader, problem.delta / (policies.n_policies - 1))
            lower = np.where(np.isfinite(lower), lower, -problem.reward_cap)
            self._eliminated |= lower > 0
            rivals = self._rivals(leader)
            bound = max(0.0, -float(lower[rivals].min())) if len(rivals) else 0.0
            certified, find_bound = (
                bound <= problem.epsilon,
                partial(min, bound, problem.reward_cap),
            )
        return Certificate(
            leader=leader,
            certified=certified,
            eliminated=self._eliminated.copy(),
            rounds=self.rounds,
            pending=pending,
            log_threshold=threshold,
            method=self.method,
            find_bound=find_bound,
        )

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Estimates are plain means; where ranges differ between blocks the limits belong to a mean
        that is weighted by them, and an estimate may lie outside.
        """
        limits = classical.value_intervals(self.record, self.record.problem.delta)
        cap = self.record.problem.reward_cap
        lower = np.nan_to_num(limits.lower, nan=0.0)
        return ValueIntervals(self.estimates.values, lower, np.nan_to_num(limits.upper, nan=cap))

    def mark(self) -> tuple[Any, ...]:
        """Where the evidence stands, for `return_to`."""
        blocks, rounds = len(self.record.blocks), self.record.rounds
        return blocks, rounds, deepcopy(self.estimates), self._eliminated.copy()

    def return_to(self, mark: tuple[Any, ...]) -> None:
        """Forget what was added and eliminated since the mark was taken."""
        blocks, self.record.rounds, self.estimates, self._eliminated = mark
        del self.record.blocks[blocks:]
        self._betting = Betting(self.record)

    def log_wealth(self, leader: int) -> npt.NDArray[np.float64]:
        """Ln E(pi) of every policy at the problem's epsilon, by betting: what is proved so far."""
        return self._betting.log_wealth(leader)[:, 0]

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

    def _rivals(self, leader: int) -> npt.NDArray[np.intp]:
        """Survivors that are not the leader, nor the same policy under another number."""
        rivals = self.survivors[self.survivors != leader]
        return np.asarray(rivals[~self.record.policies.same_as(leader, rivals)])

    def _bet(self, leader: int, threshold: float) -> tuple[bool, Callable[[], float]]:
        """Whether epsilon is proved, which costs what is new, and how to find the smallest one."""
        problem = self.record.problem
        wealth = self._betting.log_wealth(leader)
        passed = wealth[:, 1] >= threshold
        passed[leader] = False
        self._eliminated |= passed
        rivals = self._rivals(leader)
        certified = bool((wealth[rivals, 0] >= threshold).all())
        search = partial(
            self._betting.smallest_epsilon,
            leader,
            rivals,
            threshold,
            low=0.0 if certified else problem.epsilon,
            high=problem.epsilon if certified else problem.reward_cap,
            blocks=tuple(self.record.blocks),
        )
        return certified, search

    def _classical(self, leader: int, delta_each: float) -> npt.NDArray[np.float64]:
        bounds = {
            "empirical_bernstein": classical.empirical_bernstein,
            "stitched": classical.stitched,
            "fixed": classical.fixed,
            "checkpoints": classical.checkpoints,
        }[self.method]
        return bounds(self.record, leader, delta_each)

    def _check_fixed(self) -> None:
        if self._asked:
            raise InvalidArgumentError(
                'a certificate with method="fixed" can be asked for once; use method="betting" to '
                "look as often as you like"
            )
        if self.rounds != self._declared:
            raise InvalidArgumentError(
                f'method="fixed" holds at the declared {self._declared} rounds only, there are '
                f"{self.rounds}"
            )
        self._asked = True
