"""Designs from weighted fits, for classes that cannot be hedged over."""

from copy import copy

import numpy as np
import numpy.typing as npt

from policysieve.evidence import ContextEvents
from policysieve.evidence.implicit import WeightedEvents
from policysieve.policies import FunctionPolicies, ImplicitPolicies, Policy

__all__ = ["FrankWolfe"]

Array = npt.NDArray[np.float64]


class FrankWolfe:
    """A mixture of best policies under which no policy should be estimated with a large variance.

    The k-th one is the best for the events weighted by g(r)/W, with W = gamma/K + (1-gamma) Q the
    propensity in the mixture so far, and gets the share 2/(k+2): Frank-Wolfe steps towards the
    largest mean of g(r) ln W, whose gradient is each policy's variance (docs/maths.md, "Oracles").

    Parameters
    ----------
    policies : ImplicitPolicies
    mixing : float
        Share gamma of uniform exploration.
    steps : int
        How many policies are mixed.
    """

    def __init__(self, policies: ImplicitPolicies, *, mixing: float, steps: int) -> None:
        self.policies = policies
        self.mixing = mixing
        self.rounds = 0
        self._steps = steps
        self._parts: list[ContextEvents] = []

    def add(self, events: ContextEvents) -> None:
        """Take in the rounds behind these events, rewarded or not."""
        if len(events.rounds):
            self._parts.append(events)
        self.rounds += events.n_rounds

    def copy(self) -> "FrankWolfe":
        """The same rounds; what is added to one is not added to the other."""
        twin = copy(self)
        twin._parts = self._parts.copy()
        return twin

    def design(self) -> tuple[FunctionPolicies, Array, Array]:
        """The policies, their shares, and the largest sum of g(r)/W found, shape (1,)."""
        events, gains = WeightedEvents.of(self._parts), self._variances()
        chosen: list[Policy] = []
        shares, followed = np.empty(0), np.zeros(len(gains))
        uniform = self.mixing / self.policies.n_actions
        for k in range(self._steps):
            weights = gains / (uniform + (1 - self.mixing) * followed)
            best = self.policies.best(events.contexts, events.actions, weights)
            step = 2 / (k + 2)
            chosen.append(best)
            shares = np.append((1 - step) * shares, step)
            followed = (1 - step) * followed + step * events.hits(best)
        weights = gains / (uniform + (1 - self.mixing) * followed)
        best = self.policies.best(events.contexts, events.actions, weights)
        largest = np.array([weights[events.hits(best)].sum()])
        listed = FunctionPolicies([one.actions for one in chosen], self.policies.n_actions)
        return listed, shares, largest

    def _variances(self) -> Array:
        """g(r) = r^2, times (1/K) / propensity for data that was not explored uniformly."""
        return np.concatenate(
            [np.empty(0)]
            + [
                (part.rewards**2 / (part.propensities * self.policies.n_actions))[:, 0]
                for part in self._parts
            ]
        )
