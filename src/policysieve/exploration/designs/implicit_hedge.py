"""Hedge over a class that cannot be listed, event by event."""

from copy import deepcopy

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Events
from policysieve.evidence.implicit import WeightedEvents
from policysieve.exploration.designs.unlisted import MarginalExploration
from policysieve.policies import ImplicitPolicies
from policysieve.policies.weights import UnlistedWeights
from policysieve.problem import Problem

__all__ = ["ImplicitHedge"]


class ImplicitHedge:
    """The averaged Hedge of low-variance exploration, through the weights that a class keeps.

    The same algorithm as for a list (docs/maths.md, "Low-variance exploration"): c_t(x, a) is the
    sum over earlier rounds of the marginal Q(x, a; p_s), and an event at (x, a) multiplies the
    weights of the policies that agree with it by exp(eta u).

    Parameters
    ----------
    policies : ImplicitPolicies
    mixing : float
        Share gamma of uniform exploration.
    learning_rate : float
        Step eta.
    horizon : int
        Number T of rounds.
    """

    def __init__(
        self, policies: ImplicitPolicies, *, mixing: float, learning_rate: float, horizon: int
    ) -> None:
        self.policies = policies
        self.mixing = mixing
        self.rounds = 0
        self.weights = policies.start_weights()
        self._learning_rate = learning_rate
        self._uniform = 1 / policies.n_actions
        self._floor = mixing * self._uniform
        self._scale = (1 - mixing) / horizon
        self._events: Events | None = None
        self._gains: list[npt.NDArray[np.float64]] = []

    def add(self, events: Events) -> None:
        """Take in the rounds behind these events, rewarded or not; at most T in all."""
        weights, x = self.weights, events.contexts
        actions = events.actions[:, 0]
        gains = (events.rewards**2 * (self._uniform / events.propensities))[:, 0]
        now = 0
        u = np.empty(len(x))
        for i, t in enumerate(events.rounds.tolist()):
            weights.wait(t - now)
            here = slice(i, i + 1)
            c = weights.total(x[here], int(actions[i]))
            u[i] = gains[i] / (self._floor + self._scale * c)
            weights.wait(1)  # this round's own weights are those before the update
            weights.add(x[here], actions[here], self._learning_rate * u[here])
            now = t + 1
        weights.wait(events.n_rounds - now)
        self.rounds += events.n_rounds
        self._events = events if self._events is None else self._events.plus(events)
        self._gains.append(u)

    @property
    def gains(self) -> npt.NDArray[np.float64]:
        """Largest sum over rounds of u_t(pi) in the class, shape (1,)."""
        events, u = WeightedEvents.of(self._events), np.concatenate([np.empty(0), *self._gains])
        widest = self.policies.best(events.contexts, events.actions, u)
        return np.array([u[events.hits(widest)].sum()])

    def exploration(
        self, policies: ImplicitPolicies, problem: Problem, variance_bound: float
    ) -> MarginalExploration:
        """What was found."""
        return MarginalExploration(
            policies,
            problem,
            weights=UnlistedWeights(policies, deepcopy(self.weights)),
            rounds=self.rounds,
            mixing=self.mixing,
            variance_bound=variance_bound,
        )
