"""Classes that nobody can list: how one is hedged over, and its best policy for weighted events."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import real_numbers
from policysieve.availability import Available
from policysieve.checks import as_rng, context_array, refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.naming import labels_of, looked_up
from policysieve.policies.answers import ContextAnswers
from policysieve.policies.base import Policies
from policysieve.policies.policy_class import PolicyClass

if TYPE_CHECKING:
    from policysieve.policies.weights import Weights

__all__ = [
    "AnyPolicies",
    "Array",
    "ClassWeights",
    "ConstantPolicy",
    "ImplicitPolicies",
    "MarginalPolicy",
    "Policy",
    "check_class",
    "checked_arrays",
]

Array = npt.NDArray[np.float64]


class Policy(ABC):
    """One policy of a class without end: a map from contexts to actions that never changes."""

    @abstractmethod
    def actions(self, contexts: Any) -> npt.NDArray[Any]:
        """The action at each context, shape (n, 1)."""


@dataclass(frozen=True)
class ConstantPolicy(Policy):
    """The same action everywhere.

    Attributes
    ----------
    action : int
    """

    action: int

    def actions(self, contexts: Any) -> npt.NDArray[Any]:
        """The action at each context, shape (n, 1)."""
        return np.full((len(contexts), 1), self.action)


class ClassWeights(ABC):
    """Exponential weights: p(pi) ~ p1(pi) exp(sum of the steps of the events pi agrees with).

    Contexts are checked ones. Time runs by `wait`; the weights move by `add`, and p_s are those of
    the s-th round that was waited for (docs/maths.md, "Classes without end").
    """

    @abstractmethod
    def add(self, contexts: npt.NDArray[Any], actions: npt.NDArray[Any], steps: Array) -> None:
        """Multiply the weight of all pi with pi(contexts[i]) = actions[i] by exp(steps[i])."""

    @abstractmethod
    def marginals(self, contexts: npt.NDArray[Any]) -> Array:
        """Q(x, a; p) of the weights as they stand, shape (n, n_actions); rows sum to one."""

    @abstractmethod
    def wait(self, rounds: int) -> None:
        """Let so many rounds pass without an event."""

    @property
    @abstractmethod
    def rounds(self) -> float:
        """How many rounds were waited for, up to rounding."""

    @abstractmethod
    def totals(self, contexts: npt.NDArray[Any]) -> Array:
        """Sum over the rounds so far of Q(x, a; p_s), shape (n, n_actions); rows sum to them."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that distinguishes them from those of another time, for a file."""

    @abstractmethod
    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Become the weights whose `arrays` these are, or raise `InvalidArgumentError`."""

    def total(self, context: npt.NDArray[Any], action: int) -> float:
        """The same at one context, an array of length one, for one action."""
        return float(self.totals(context)[0, action])


class ImplicitPolicies(PolicyClass):
    """A class given by what can be done with it, not by a list; single actions only.

    A new class implements `log_size`, `_best` and `start_weights`, and `check_contexts` if its
    contexts are special.
    """

    looked_up = True
    hedged = True
    """Whether weights can be kept; else designs are mixtures of `fits` best policies."""
    fits = 1

    def __init__(self, *, n_actions: int | None, actions: Any = None) -> None:
        super().__init__(n_actions=n_actions, slate_size=1, actions=actions)

    def best(self, contexts: Any, actions: Any, weights: Any) -> Policy:
        """The policy with the largest sum of the weights of the events that it agrees with.

        Without events that is the one that always shows action 0.

        Parameters
        ----------
        contexts : array of shape (n, ...)
        actions : array of shape (n,)
            Numbers of actions, or names where these are known.
        weights : float array of shape (n,)
            Not negative. Policy pi collects weights[i] where pi(contexts[i]) = actions[i].
        """
        if context_array(contexts).shape[:1] == (0,):
            return ConstantPolicy(0)
        x = self.check_contexts(contexts)
        a = labels_of("actions", actions, "whole numbers, one for each context")
        a = looked_up("actions", a, self.action_names)
        w = real_numbers("weights", weights, "numbers, one for each context")
        if a.shape != (len(x),) or w.shape != (len(x),):
            raise InvalidArgumentError(
                f"actions and weights must have shape ({len(x)},), one for each context, got "
                f"{a.shape} and {w.shape}"
            )
        if a.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"actions must be whole numbers in [0, {self.n_actions - 1}], got dtype {a.dtype}"
            )
        if a.min() < 0 or a.max() >= self.n_actions:
            raise InvalidArgumentError(
                f"actions must be whole numbers in [0, {self.n_actions - 1}], got {a.min()} to "
                f"{a.max()}"
            )
        bad = ~((w >= 0) & np.isfinite(w))
        rule = "weights must be finite and not negative"
        refuse_rows(bad, rule, lambda entry: f"{w[entry]:g}", unit="entry")
        return self._best(x, a.astype(np.int64), w)

    @abstractmethod
    def _best(
        self, contexts: npt.NDArray[Any], actions: npt.NDArray[np.int64], weights: Array
    ) -> Policy:
        """`best` of checked events."""

    @abstractmethod
    def start_weights(self) -> ClassWeights:
        """Weights p1 before any event."""

    @property
    def size_in_words(self) -> str:
        """The name of the class: its size says little."""
        return type(self).__name__

    def answers(self, contexts: Any, available: Any = None) -> ContextAnswers:
        """The contexts themselves: the class is asked about them when it is known what for."""
        if isinstance(contexts, ContextAnswers):
            return contexts
        self.check_available(available, 0)
        return self.answers_at(self.check_contexts(contexts))

    def answers_at(
        self,
        contexts: npt.NDArray[Any],
        which: npt.NDArray[np.integer] | None = None,
        available: Available | None = None,
    ) -> ContextAnswers:
        """`answers` at contexts that `check_contexts` has returned."""
        self.check_available(available, 0)
        return ContextAnswers(contexts)

    def check_available(self, available: Any, n: int, names: Sequence[str] | None = None) -> None:
        """Raise unless everything can be shown everywhere."""
        if available is not None:
            raise InvalidArgumentError(
                f"available must be left out with {type(self).__name__}: its policies cannot be "
                "listed, and are found and weighed as maps from contexts to actions, which know "
                "nothing of what is available; give a list of candidates, as LinearPolicies or "
                "EstimatorPolicies"
            )

    def prior(self) -> "Weights":
        """The weights p1 that the class starts with."""
        from policysieve.policies.weights import UnlistedWeights  # brings numba, loaded on use

        return UnlistedWeights.start(self)


class MarginalPolicy:
    """Draw a policy from the average of weights over rounds, and do what it does.

    Parameters
    ----------
    policies : ImplicitPolicies
    weights : ClassWeights
        Not used elsewhere.
    rounds : int
        How many the weights have waited for; before the first the weights as they stand are meant.
    """

    def __init__(self, policies: ImplicitPolicies, weights: ClassWeights, rounds: int) -> None:
        self.policies = policies
        self._weights = weights
        self._rounds = rounds

    def probabilities(self, contexts: Any) -> Array:
        """Probability of showing each action at each context, shape (n, n_actions)."""
        x = self.policies.check_contexts(contexts)
        if not self._rounds:
            return self._weights.marginals(x)
        return self._weights.totals(x) / self._rounds

    def sample(self, contexts: Any, rng: Any = None) -> npt.NDArray[Any]:
        """Actions for the contexts, drawn anew for each, shape (n, 1)."""
        cumulative = np.cumsum(self.probabilities(contexts), axis=1)
        places = as_rng(rng).random((len(cumulative), 1)) * cumulative[:, -1:]
        drawn = (cumulative <= places).sum(axis=1, keepdims=True)
        return np.asarray(np.minimum(drawn, self.policies.n_actions - 1))

    def __repr__(self) -> str:
        return f"MarginalPolicy({self.policies!r}, {self._rounds:,} rounds)"


def checked_arrays(
    arrays: dict[str, npt.NDArray[Any]], shapes: dict[str, tuple[int, ...]]
) -> list[Array]:
    """The named arrays and no others, each of its shape and of finite floats, or raise."""
    if arrays.keys() != shapes.keys():
        raise InvalidArgumentError(
            f"weights must have the arrays {sorted(shapes)}, got {sorted(arrays)}"
        )
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise InvalidArgumentError(
                f"{name} must be finite floats of shape {shape}, got shape {array.shape} of "
                f"{array.dtype}, or some that are not finite"
            )
    return [np.ascontiguousarray(arrays[name]) for name in shapes]


AnyPolicies = Policies | ImplicitPolicies
"""Numbered policies, or a class without end."""


def check_class(policies: Any) -> None:
    """Raise unless it is a class of policies."""
    if not isinstance(policies, AnyPolicies):
        raise InvalidArgumentError(
            f"policies must be a policy class, got {type(policies).__name__}; for fitted models: "
            "EstimatorPolicies(models, n_actions=...)"
        )
