"""Estimates in a class that cannot be listed: of the policy with the largest one."""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.events import Events
from policysieve.evidence.intervals import ValueIntervals
from policysieve.policies import ImplicitPolicies, MarginalPolicy, Policy

__all__ = ["ImplicitEstimates", "LeaderIntervals", "WeightedEvents"]

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

    def about(self, policy: Any) -> tuple[Any, float, float, float, float]:
        """The policy they are about, its estimate, limits, and bound on its suboptimality."""
        value, lower, upper = (float(c[0]) for c in (self.values, self.lower, self.upper))
        return self.leading, value, lower, upper, max(0.0, self.best_upper - lower)

    @property
    def candidates(self) -> str:
        """Whom the leader was chosen from, in words."""
        return "a class without end"


@dataclass(frozen=True, eq=False)
class WeightedEvents:
    """Contexts, actions (n,) and gains r/W (n,) of rewarded rounds."""

    contexts: npt.NDArray[Any]
    actions: npt.NDArray[np.int64]
    gains: Array

    @classmethod
    def of(cls, events: Events | None) -> "WeightedEvents":
        """Of single actions."""
        if events is None or not len(events):
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(events.contexts, events.actions[:, 0].astype(np.int64), events.gains[:, 0])

    def hits(self, policy: Policy) -> npt.NDArray[np.bool_]:
        """Which events the policy agrees with."""
        if not len(self.actions):
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(policy.actions(self.contexts)[:, 0] == self.actions)


class ImplicitEstimates:
    """Rewarded rounds, and the policy that earned the most importance-weighted reward. A value.

    Parameters
    ----------
    policies : ImplicitPolicies
    """

    def __init__(self, policies: ImplicitPolicies) -> None:
        self.policies = policies
        self._events: Events | None = None

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return 0 if self._events is None else self._events.n_rounds

    def plus(self, events: Events) -> "ImplicitEstimates":
        """The estimates with the rounds behind these events, rewarded or not."""
        longer = ImplicitEstimates(self.policies)
        longer._events = events if self._events is None else self._events.plus(events)
        return longer

    @cached_property
    def events(self) -> WeightedEvents:
        """All rewarded rounds."""
        return WeightedEvents.of(self._events)

    @cached_property
    def leader(self) -> Policy:
        """The policy with the largest estimate."""
        return self.policies.best(self.events.contexts, self.events.actions, self.events.gains)

    def fixed_size_intervals(
        self, *, reward_cap: float, largest: float, delta: float
    ) -> LeaderIntervals:
        """Limits of the leader, and one on all values, as `Estimates` of a list have them.

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
