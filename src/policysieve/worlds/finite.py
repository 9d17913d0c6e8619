"""Worlds with finitely many contexts of known probability: every value is exact."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_contexts, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.frames import Contexts, read_only
from policysieve.worlds.base import Draw, RewardsOf, World

if TYPE_CHECKING:
    from policysieve.policies import AnyPolicies, MarginalPolicy, Policies, Policy

__all__ = ["FiniteWorld", "dataset_contexts"]

_BLOCK = 1 << 21  # numbers held at once while values are summed: 16 MiB for each array


class FiniteWorld(World):
    """A world that lists its contexts.

    A subclass implements `_expected_rewards` and `_rewards_of`.

    Parameters
    ----------
    contexts : array of shape (n_contexts, ...)
        What a learner sees.
    probabilities : float array of shape (n_contexts,), optional
        How often each context comes; equally often by default.
    actions : sequence of str, optional
        Names of the actions.
    """

    def __init__(
        self,
        contexts: Contexts,
        *,
        n_actions: int,
        slate_size: int,
        sparsity: float,
        probabilities: npt.NDArray[np.float64] | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            n_actions=n_actions, slate_size=slate_size, sparsity=sparsity, actions=actions
        )
        self._contexts = contexts[:]
        read_only(self._contexts)
        self._probabilities = probabilities

    @property
    def contexts(self) -> Any:
        """All contexts, shape (n_contexts, ...), read-only."""
        return self._contexts

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return len(self._contexts)

    @abstractmethod
    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """E[r | x] at the contexts numbered `rows`, shape (len(rows), n_actions)."""

    @abstractmethod
    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        """Draw r at the contexts numbered `rows`; return what looks up the rewards of slates."""

    def _draw(self, n: int, rng: np.random.Generator) -> Draw:
        if self._probabilities is None:
            rows = rng.integers(self.n_contexts, size=n, dtype=np.intp)
        else:
            rows = rng.choice(self.n_contexts, size=n, p=self._probabilities).astype(np.intp)
        return Draw(
            self._contexts[rows],
            self._rewards_of(rows, rng),
            n_actions=self.n_actions,
            slate_size=self.slate_size,
            actions=self.actions,
        )

    def value(self, policy: "Policy | MarginalPolicy") -> float:
        """Exact expected reward per round of one policy: a sum over the contexts."""
        total = 0.0
        for rows, rewards in self._reward_blocks():
            x = self._contexts[rows]
            if hasattr(policy, "probabilities"):
                total += float((rewards * policy.probabilities(x)).sum())
            else:
                shown = policy.actions(x).astype(np.intp)
                total += float(np.take_along_axis(rewards, shown, axis=1).sum())
        return total

    def best_value(self, policies: "AnyPolicies") -> float:
        """Exact expected reward per round of the best policy of a class.

        For a class that cannot be listed, it is asked for its best policy on all contexts and
        actions, weighted by their expected rewards.
        """
        if policies.n_policies is not None or not policies.exact:
            return super().best_value(policies)
        found = []
        for rows, rewards in self._reward_blocks():
            at, actions = np.nonzero(rewards)
            found.append((rows[at], actions, rewards[at, actions]))
        rows, actions, weights = (np.concatenate(column) for column in zip(*found, strict=True))
        return self.value(policies.best(self._contexts[rows], actions, weights))

    def _reward_blocks(self) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]]:
        """Rows of contexts and P(x) E[r | x] there, some at a time."""
        block = max(1, _BLOCK // self.n_actions)
        for x in range(0, self.n_contexts, block):
            rows = np.arange(x, min(x + block, self.n_contexts), dtype=np.intp)
            chance = (
                np.full(len(rows), 1 / self.n_contexts)
                if self._probabilities is None
                else self._probabilities[rows]
            )
            yield rows, self._expected_rewards(rows) * chance[:, None]

    def _values(self, policies: "Policies") -> npt.NDArray[np.float64]:
        return self.values_among(policies, None)

    def values_among(
        self, policies: "Policies", mask: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.float64]:
        """Sum P(x) E[r(j) | x] over the contexts x and the items j that each policy shows.

        Where the same actions (n_actions,) are available at all contexts, or all actions are.
        """
        m, n_policies = self.slate_size, policies.n_policies
        policy_block = max(1, min(n_policies, _BLOCK // m))
        context_block = max(1, _BLOCK // max(policy_block * m, self.n_actions))
        values = np.zeros(n_policies)
        for p in range(0, n_policies, policy_block):
            end = min(p + policy_block, n_policies)
            which = None if end - p == n_policies else np.arange(p, end)
            for x in range(0, self.n_contexts, context_block):
                rows = np.arange(x, min(x + context_block, self.n_contexts), dtype=np.intp)
                limits = {} if mask is None else {"available": np.tile(mask, (len(rows), 1))}
                slates = policies.actions(self._contexts[rows], which=which, **limits)
                flat = slates.reshape(len(rows), -1)
                rewards = self._expected_rewards(rows)[np.arange(len(rows))[:, None], flat]
                weights = (
                    np.ones(len(rows)) if self._probabilities is None else self._probabilities[rows]
                )
                values[p:end] += (weights @ rewards).reshape(-1, m).sum(axis=1)
        return values / self.n_contexts if self._probabilities is None else values


def dataset_contexts(features: Any, n_rows: int, contexts: str) -> Contexts:
    """Contexts of a dataset with `n_rows` labelled rows: its feature rows `X`, or their numbers."""
    one_of("contexts", contexts, ("features", "rows"))
    if not n_rows:
        raise InvalidArgumentError("the dataset must have at least one row, got none")
    if features is not None:
        length = _length(features)
        if length != n_rows:
            raise InvalidArgumentError(
                f"X must have one row for each of the {n_rows} labelled rows, got {length}"
            )
    if contexts == "rows":
        return np.arange(n_rows)
    if features is None:
        raise InvalidArgumentError(
            'X must hold the feature rows, got None; pass contexts="rows" to use row numbers'
        )
    try:
        return as_contexts(features)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"X does not hold contexts: {error}") from error


def _length(features: Any) -> int:
    shape = getattr(features, "shape", None)
    try:
        return int(shape[0]) if shape is not None else len(features)
    except (TypeError, IndexError) as error:
        raise InvalidArgumentError(
            f"X must have one row per labelled row, got {type(features).__name__} without a length"
        ) from error
