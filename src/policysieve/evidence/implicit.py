"""Estimates in a class that cannot be listed: of the policy with the largest one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import ContextEvents
from policysieve.evidence.intervals import ValueIntervals
from policysieve.policies import AnyPolicies, ImplicitPolicies, MarginalPolicy, Policies, Policy

__all__ = ["ImplicitEstimates", "LeaderIntervals", "WeightedEvents", "estimates_of"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeaderIntervals(ValueIntervals):
    """Estimate and limits of one policy of a class without end, arrays of shape (1,).

    Attributes
    ----------
    leading : Policy or MarginalPolicy
        The policy they are about; its limits hold although it was chosen by the data.
    best_upper : float
        Upper limit on the value of every policy of the class.
    """

    leading: Policy | MarginalPolicy
    best_upper: float

    def policy(self, row: int) -> Any:
        """The policy itself."""
        return self.leading

    @property
    def candidates(self) -> str:
        """Whom the leader was chosen from, in words."""
        return "a class without end"

    def suboptimality_bound(self, policy: int | None, lower: float) -> float:
        """How much better any policy can be than one whose value is at least `lower`."""
        return max(0.0, self.best_upper - lower)


@dataclass(frozen=True, eq=False)
class WeightedEvents:
    """Contexts, actions (n,) and gains r/W (n,) of rewarded rounds."""

    contexts: npt.NDArray[Any]
    actions: npt.NDArray[np.int64]
    gains: Array

    @classmethod
    def of(cls, parts: Sequence[ContextEvents]) -> "WeightedEvents":
        """All events of the parts, in order."""
        parts = [part for part in parts if len(part.rounds)]
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(
            np.concatenate([part.contexts for part in parts]),
            np.concatenate([part.actions[:, 0] for part in parts]).astype(np.int64),
            np.concatenate([(part.rewards / part.propensities)[:, 0] for part in parts]),
        )

    def hits(self, policy: Policy) -> npt.NDArray[np.bool_]:
        """Which events the policy agrees with."""
        if not len(self.actions):
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(policy.actions(self.contexts)[:, 0] == self.actions)


class ImplicitEstimates:
    """Rewarded rounds, and the policy that earned the most importance-weighted reward in them.

    Parameters
    ----------
    policies : ImplicitPolicies
    """

    def __init__(self, policies: ImplicitPolicies) -> None:
        self.policies = policies
        self.rounds = 0
        self._parts: list[ContextEvents] = []

    def add(self, events: ContextEvents) -> None:
        """Take in the rounds behind these events, rewarded or not."""
        if len(events.rounds):
            self._parts.append(events)
        self.rounds += events.n_rounds
        self.__dict__.pop("events", None)
        self.__dict__.pop("leader", None)

    @cached_property
    def events(self) -> WeightedEvents:
        """All rewarded rounds."""
        return WeightedEvents.of(self._parts)

    @cached_property
    def leader(self) -> Policy:
        """The policy with the largest estimate."""
        return self.policies.best(self.events.contexts, self.events.actions, self.events.gains)

    def empirical_bernstein(
        self, *, reward_cap: float, largest: float, delta: float
    ) -> LeaderIntervals:
        """Limits of the leader, and one on all values, as `evidence.empirical_bernstein` has them.

        ln|Pi| takes the place of the union over a list (docs/maths.md, "Classes without end"). The
        limit on all values is that of a policy with both the largest sum and the largest sum of
        squares, so only an exact class has one.
        """
        n, log_size, events = self.rounds, self.policies.log_size, self.events
        gains = events.gains[events.hits(self.leader)]
        value = float(gains.sum()) / n if n else np.nan
        if n < 2 or log_size is None:
            return LeaderIntervals(
                np.array([value]), np.zeros(1), np.array([reward_cap]), self.leader, reward_cap
            )
        log_term = log_size + log(4 / delta)

        def radius(variance: float) -> float:
            return sqrt(2 * variance * log_term / n) + 7 * largest * log_term / (3 * (n - 1))

        own = radius(max(float((gains**2).sum()) - n * value**2, 0.0) / (n - 1))
        best_upper = reward_cap
        if self.policies.exact:
            best_upper = min(best_upper, value + radius(self.largest_square() / (n - 1)))
        return LeaderIntervals(
            np.array([value]),
            np.clip([value - own], 0.0, reward_cap),
            np.clip([value + own], 0.0, reward_cap),
            self.leader,
            best_upper,
        )

    def largest_square(self) -> float:
        """The largest sum of squared gains that a policy of the class has."""
        events, squares = self.events, self.events.gains**2
        widest = self.policies.best(events.contexts, events.actions, squares)
        return float(squares[events.hits(widest)].sum())


def estimates_of(policies: AnyPolicies) -> "Estimates | ImplicitEstimates":
    """No estimates yet, of the kind that fits the class."""
    if isinstance(policies, Policies):
        return Estimates(policies.n_policies)
    return ImplicitEstimates(policies)
