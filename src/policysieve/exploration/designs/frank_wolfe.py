"""Designs from weighted fits, for classes that cannot be hedged over."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Events
from policysieve.evidence.implicit import WeightedEvents
from policysieve.exploration.designs.mixture import MixtureExploration
from policysieve.policies import Answers, FunctionPolicies, ImplicitPolicies, Policy
from policysieve.problem import Problem

__all__ = ["FrankWolfe"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedMixture(MixtureExploration):
    """A mixture of fitted policies, which only this process has."""

    def _answers_at(self, contexts: Any, available: Available | None) -> Answers:
        if available is not None:
            raise InvalidArgumentError(
                "available must be left out with policies that were fitted for an exploration, "
                "which know nothing of what is available; design it for a list of candidates"
            )
        return super()._answers_at(contexts, None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Raise: fitted models could only be kept as pickles, which run code when they are read."""
        raise InvalidArgumentError(
            "an exploration of policies that were fitted for it cannot be kept in a file; keep the "
            "log, and design it anew where it is needed"
        )


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
        self._events: Events | None = None

    def add(self, events: Events) -> None:
        """Take in the rounds behind these events, rewarded or not."""
        self._events = events if self._events is None else self._events.plus(events)
        self.rounds += events.n_rounds
        self.__dict__.pop("_found", None)

    @property
    def gains(self) -> Array:
        """The largest sum over rounds of g(r)/W that was found, shape (1,)."""
        return self._found[2]

    def exploration(
        self, policies: ImplicitPolicies, problem: Problem, variance_bound: float
    ) -> FittedMixture:
        """What was found: a mixture of fitted policies."""
        listed, shares, _ = self._found
        return FittedMixture(
            listed,
            problem,
            support=np.arange(len(shares), dtype=np.int32),
            shares=shares / shares.sum(),
            mixing=self.mixing,
            variance_bound=variance_bound,
        )

    @cached_property
    def _found(self) -> tuple[FunctionPolicies, Array, Array]:
        """The policies, their shares, and the largest sum of g(r)/W found, shape (1,)."""
        events, gains = WeightedEvents.of(self._events), self._variances()
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
        if self._events is None:
            return np.empty(0)
        events = self._events
        return np.asarray(
            (events.rewards**2 / (events.propensities * self.policies.n_actions))[:, 0]
        )
