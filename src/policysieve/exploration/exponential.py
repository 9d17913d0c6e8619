"""Exponential weights that learners play from: on a list of policies, or on a class without end."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence import ContextEvents, Events
from policysieve.evidence.implicit import WeightedEvents
from policysieve.exploration.marginals import Marginals
from policysieve.kernels.weights import add_steps
from policysieve.policies import AnyPolicies, ClassWeights, ImplicitPolicies, Policies, Policy

__all__ = ["ImplicitWeights", "NumberedWeights", "start_exponential"]

Array = npt.NDArray[np.float64]

_FAINTEST = -600.0  # logarithm of a weight, relative to the largest


class NumberedWeights:
    """Weights of numbered policies; they sum to one.

    No weight ever vanishes: what no policy would show is never played, and could not be estimated
    any more.
    """

    def __init__(self, policies: Policies) -> None:
        n_policies = policies.n_policies
        self.shares = np.full(n_policies, 1 / n_policies)
        self._policies = policies
        self._everyone = np.arange(n_policies, dtype=np.int32)
        self._log_weights = np.zeros(n_policies)
        self._marginals = Marginals(policies)

    @property
    def remembered(self) -> bool:
        """Whether contexts keep their row in what `at` returns."""
        return self._marginals.remembered

    def at(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[Array, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Marginals (., K), the row of each context in them, and the rows computed now."""
        table, rows = self._policies.action_rows(contexts)
        return self._marginals.at(table, rows, self._everyone, self.shares)

    def add(self, events: Events, steps: Array) -> None:
        """Raise the log-weights of the policies that agree with each event."""
        add_steps(events.table, events.rows, events.actions[:, 0], steps, self._log_weights)
        gaps = self._log_weights - self._log_weights.max()
        shares = np.exp(np.maximum(gaps, _FAINTEST))
        self.shares = shares / shares.sum()
        self._marginals.forget()

    def heaviest(self) -> int:
        """The policy with the largest weight."""
        return int(self._log_weights.argmax())


class ImplicitWeights:
    """Weights on a class that cannot be listed, known by their marginals."""

    remembered = False

    def __init__(self, policies: ImplicitPolicies) -> None:
        self.state: ClassWeights = policies.start_weights()
        self._policies = policies
        self._parts: list[ContextEvents] = []
        self._steps: list[Array] = []

    def at(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[Array, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Marginals (n, K), and their row numbers twice."""
        rows = np.arange(len(contexts))
        return np.maximum(self.state.marginals(contexts), np.exp(_FAINTEST)), rows, rows

    def add(self, events: ContextEvents, steps: Array) -> None:
        """Raise the log-weights of the policies that agree with each event."""
        self.state.add(events.contexts, events.actions[:, 0], steps)
        self._parts.append(events)
        self._steps.append(steps)

    def heaviest(self) -> Policy:
        """The policy whose events have the largest sum of steps."""
        events = WeightedEvents.of(self._parts)
        steps = np.concatenate([np.empty(0), *self._steps])
        return self._policies.best(events.contexts, events.actions, steps)


def start_exponential(policies: AnyPolicies) -> NumberedWeights | ImplicitWeights:
    """Weights before the first event, of the kind that fits the class."""
    if isinstance(policies, ImplicitPolicies):
        return ImplicitWeights(policies)
    return NumberedWeights(policies)
