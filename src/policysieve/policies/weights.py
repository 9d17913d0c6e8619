"""Exponential weights on a class, listed or not, as values."""

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.kernels.slates import marginals
from policysieve.kernels.weights import FAINTEST, add_steps
from policysieve.policies.answers import Answers, ContextAnswers, Slates
from policysieve.policies.base import Policies
from policysieve.policies.implicit import (
    ClassWeights,
    ImplicitPolicies,
    MarginalPolicy,
    Policy,
    checked_arrays,
)
from policysieve.policies.policy_class import PolicyClass
from policysieve.policies.randomized import RandomizedPolicy

__all__ = ["ListedWeights", "UnlistedWeights", "Weights", "checked_marginals"]

Array = npt.NDArray[np.float64]

_SUM_SLACK = 1e-6  # how far weights may be from summing to one


class Weights(ABC):
    """p(pi) ~ p1(pi) exp(sum of the steps of the events that pi agrees with). A value.

    No weight ever vanishes: what no policy would show is never played, and could not be estimated
    any more.
    """

    policies: PolicyClass

    def __deepcopy__(self, memo: dict[int, Any]) -> "Weights":
        return self  # a value

    @abstractmethod
    def marginals(self, answers: Answers) -> Array:
        """Q(x, a), the share of the weights that shows action a, shape (n, n_actions)."""

    @abstractmethod
    def plus(self, answers: Answers, actions: npt.NDArray[Any], steps: Array) -> Self:
        """The weights after events: steps (n,) for showing actions (n,) where the answers are."""

    @abstractmethod
    def with_rounds(self, played: Any, rounds: int, late: int) -> Self:
        """The same weights, with rounds that were played with `played` counted in the average.

        Of the rounds `late` count in the average of the last half.
        """

    @abstractmethod
    def average(self, *, last_half: bool = False) -> RandomizedPolicy | MarginalPolicy:
        """Draw a policy from the average of the weights over the rounds that were counted."""

    @abstractmethod
    def heaviest(self) -> int | Policy:
        """The policy with the largest weight."""

    @abstractmethod
    def check(self) -> None:
        """Raise `InvalidArgumentError` unless they are weights that can be played."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `marginals` depends on, for a file."""

    @abstractmethod
    def restored(self, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The weights whose `arrays` these are, or `InvalidArgumentError`."""


@dataclass(frozen=True, eq=False)
class ListedWeights(Weights):
    """Weights of numbered policies.

    Attributes
    ----------
    policies : Policies
    log_weights : float array of shape (n_policies,)
    shares : float array of shape (n_policies,)
        The weights; they sum to one.
    """

    policies: Policies
    log_weights: Array
    shares: Array
    _sums: Array | None = None  # over counted rounds: of all, of the last half; (2, n_policies)
    _last: Array | None = None  # shares of the latest run of counted rounds, not summed yet
    _run: tuple[int, int] = (0, 0)

    @classmethod
    def equal(cls, policies: Policies) -> Self:
        """The same weight for all."""
        zeros = np.zeros(policies.n_policies)
        return cls(policies, zeros, _shares(zeros))

    def marginals(self, answers: Answers) -> Array:
        """Q(x, a) at the contexts of the answers."""
        assert isinstance(answers, Slates)
        out = np.zeros((len(answers), self.policies.n_actions))
        everyone = np.arange(self.policies.n_policies, dtype=np.int32)
        marginals(answers.table, answers.rows, everyone, self.shares, out)
        return out

    def plus(self, answers: Answers, actions: npt.NDArray[Any], steps: Array) -> Self:
        """The weights after events."""
        assert isinstance(answers, Slates)
        log_weights = self.log_weights.copy()
        add_steps(answers.table, answers.rows, actions, steps, log_weights)
        return replace(self, log_weights=log_weights, shares=_shares(log_weights))

    def with_rounds(self, played: Self, rounds: int, late: int) -> Self:
        """Rounds in a row that were played with the same weights are only counted."""
        if played.shares is self._last:
            return replace(self, _run=(self._run[0] + rounds, self._run[1] + late))
        return replace(self, _sums=self._summed(), _last=played.shares, _run=(rounds, late))

    def average(self, *, last_half: bool = False) -> RandomizedPolicy:
        """The average over counted rounds; before the first the weights as they are."""
        sums = self._summed()
        if sums is None:
            return RandomizedPolicy(self.policies, self.shares)
        chosen = sums[1] if last_half and sums[1].any() else sums[0]
        return RandomizedPolicy(self.policies, chosen if chosen.any() else self.shares)

    def heaviest(self) -> int:
        """The policy with the largest weight."""
        return int(self.log_weights.argmax())

    def check(self) -> None:
        """Raise unless there is a share for every policy, and they sum to one."""
        for array in (self.log_weights, self.shares):
            if np.shape(array) != (self.policies.n_policies,) or array.dtype != np.float64:
                raise InvalidArgumentError(
                    f"weights must be {self.policies.n_policies} floats, one for each policy, got "
                    f"shape {np.shape(array)}"
                )
        checked_marginals(self.shares[None, :])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The log-weights."""
        return {"log_weights": self.log_weights}

    def restored(self, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The weights with these log-weights."""
        (log_weights,) = checked_arrays(arrays, {"log_weights": self.log_weights.shape})
        return replace(self, log_weights=log_weights, shares=_shares(log_weights))

    def _summed(self) -> Array | None:
        if self._last is None:
            return self._sums
        latest = np.array(self._run)[:, None] * self._last
        return latest if self._sums is None else self._sums + latest


@dataclass(frozen=True, eq=False)
class UnlistedWeights(Weights):
    """Weights on a class that cannot be listed, known by their marginals.

    The average is over the rounds as they were counted, not as they were played.
    """

    policies: ImplicitPolicies
    _state: ClassWeights
    _rounds: int = 0  # counted
    _waited: int = 0  # of those, how many the state knows of
    _seen: tuple[ContextAnswers, Columns] | None = None  # events: actions and steps

    @classmethod
    def start(cls, policies: ImplicitPolicies) -> Self:
        """The weights p1."""
        return cls(policies, policies.start_weights())

    @property
    def rounds(self) -> float:
        """How many rounds the class's own weights have waited for."""
        return self._state.rounds

    def marginals(self, answers: Answers) -> Array:
        """Q(x, a) at the contexts of the answers."""
        assert isinstance(answers, ContextAnswers)
        found = checked_marginals(self._state.marginals(answers.contexts))
        return np.maximum(found, np.exp(FAINTEST))

    def totals(self, answers: ContextAnswers) -> Array:
        """Sum of Q(x, a) over the rounds that the class's own weights have waited for."""
        return self._state.totals(answers.contexts)

    def plus(self, answers: Answers, actions: npt.NDArray[Any], steps: Array) -> Self:
        """The weights after events."""
        assert isinstance(answers, ContextAnswers)
        state = self._up_to_date()
        state.add(answers.contexts, actions, steps)
        seen = (answers, Columns(actions, steps))
        if self._seen is not None:
            seen = (self._seen[0].plus(answers), self._seen[1].plus(actions, steps))
        return replace(self, _state=state, _waited=self._rounds, _seen=seen)

    def with_rounds(self, played: Self, rounds: int, late: int) -> Self:
        """Count rounds; whoever asks for an average lets the state wait for them."""
        return replace(self, _rounds=self._rounds + rounds)

    def average(self, *, last_half: bool = False) -> MarginalPolicy:
        """The average over counted rounds; before the first the weights as they are."""
        if last_half:
            raise InvalidArgumentError(
                "last_half goes with a class that can be listed; of this one only the average over "
                "all rounds is known"
            )
        return MarginalPolicy(self.policies, self._up_to_date(), self._rounds)

    def heaviest(self) -> Policy:
        """The policy whose events have the largest sum of steps."""
        if self._seen is None:
            return self.policies.best([], [], [])
        answers, columns = self._seen
        return self.policies.best(answers.contexts, *columns.arrays)

    def check(self) -> None:
        """Raise unless there are weights of the class; what they say is checked when asked."""
        if not isinstance(self._state, ClassWeights):
            raise InvalidArgumentError(
                f"weights must be made of ClassWeights, got {type(self._state).__name__}"
            )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of the class's own weights."""
        return self._state.arrays()

    def restored(self, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The weights whose `arrays` these are."""
        state = self.policies.start_weights()
        state.restore(arrays)
        return replace(self, _state=state)

    def _up_to_date(self) -> ClassWeights:
        """A state of one's own that knows of all counted rounds."""
        state = deepcopy(self._state)
        state.wait(self._rounds - self._waited)
        return state


def checked_marginals(marginals: Array) -> Array:
    """Rows that are not negative and sum to one, or raise: nothing could be drawn from others."""
    good = (marginals >= 0).all() and (abs(marginals.sum(axis=1) - 1) <= _SUM_SLACK).all()
    if not good:  # NaN compares false
        sums = marginals.sum(axis=1)
        raise InvalidArgumentError(
            "weights must be those of probabilities, which sum to one, got "
            f"{marginals.min():g} at least and sums from {sums.min():g} to {sums.max():g}"
        )
    return marginals


def _shares(log_weights: Array) -> Array:
    shares = np.exp(np.maximum(log_weights - log_weights.max(), FAINTEST))
    shares /= shares.sum()
    shares.flags.writeable = False
    return np.asarray(shares)
