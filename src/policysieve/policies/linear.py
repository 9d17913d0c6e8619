"""Policies that show the actions with the largest linear scores."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import real_numbers
from policysieve.availability import Available
from policysieve.checks import as_array
from policysieve.errors import InvalidArgumentError
from policysieve.policies.base import Policies, action_dtype, run_of, top_actions
from policysieve.policies.restricting import best_available

__all__ = ["LinearPolicies"]

_SCORE_BUDGET = 1 << 22  # scores held at once: 32 MiB


class LinearPolicies(Policies):
    """Each policy scores action a at features x by <weights[policy, a], x> and shows the top m.

    Where not everything is available, it shows the top m of what is. Scores are computed in blocks,
    so memory stays bounded whatever the number of contexts.

    Parameters
    ----------
    weights : float array of shape (n_policies, n_actions, n_features)
        One matrix per policy. Add a constant feature to have an intercept.
    slate_size : int
        Number m of actions shown. Ties go to the lower action number, up to the rounding of scores.
    names, actions : sequences of str, optional
        Names of the policies, and of the actions.
    """

    def __init__(
        self,
        weights: Any,
        *,
        slate_size: int = 1,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        numbers = real_numbers(
            "weights", weights, "numbers of shape (n_policies, n_actions, n_features)"
        )
        self.weights = np.ascontiguousarray(numbers)
        if self.weights.ndim != 3 or 0 in self.weights.shape[1:]:
            raise InvalidArgumentError(
                "weights must have shape (n_policies, n_actions, n_features), got "
                f"{self.weights.shape}"
            )
        finite = np.isfinite(self.weights).all(axis=(1, 2))
        if not finite.all():
            raise InvalidArgumentError(
                "weights must be finite, got NaN or infinity in policy "
                f"{np.flatnonzero(~finite)[0]}"
            )
        super().__init__(
            n_policies=self.weights.shape[0],
            n_actions=self.weights.shape[1],
            slate_size=slate_size,
            names=names,
            actions=actions,
        )

    @property
    def n_features(self) -> int:
        """Length of a context's feature row."""
        return int(self.weights.shape[2])

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as an (n, n_features) float array, or raise."""
        x = as_array(contexts)
        if x.shape == (self.n_features,):
            x = x[None, :]
        if x.ndim != 2 or x.shape[1] != self.n_features or x.dtype.kind not in "biuf":
            raise InvalidArgumentError(
                f"contexts must be feature rows of shape (n, {self.n_features}), got {x.shape} "
                f"of {x.dtype}"
            )
        return x.astype(np.float64, copy=False)

    def part(self, numbers: npt.NDArray[np.intp]) -> Self:
        """Some of the matrices, copied."""
        return self._like(numbers, weights=np.ascontiguousarray(self.weights[run_of(numbers)]))

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.weights,)

    def _evaluate(
        self, contexts: npt.NDArray[Any], which: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[Any]:
        return self._best(contexts, which, None)

    def _evaluate_among(
        self,
        contexts: npt.NDArray[Any],
        which: npt.NDArray[np.intp] | None,
        available: Available,
    ) -> npt.NDArray[Any]:
        return self._best(contexts, which, available)

    def _mended(
        self,
        contexts: npt.NDArray[Any],
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any],
        available: Available,
    ) -> npt.NDArray[Any]:
        return self._best(contexts, which, available)

    def _best(
        self,
        contexts: npt.NDArray[Any],
        which: npt.NDArray[np.intp] | None,
        available: Available | None,
    ) -> npt.NDArray[Any]:
        weights = self.weights if which is None else self.weights[which]
        n, n_policies = len(contexts), len(weights)
        out = np.empty((n, n_policies, self.slate_size), dtype=action_dtype(self.n_actions))
        policy_block = max(1, min(n_policies, _SCORE_BUDGET // self.n_actions))
        context_block = max(1, _SCORE_BUDGET // (self.n_actions * policy_block))
        for p in range(0, n_policies, policy_block):
            part = weights[p : p + policy_block]
            flat = part.reshape(-1, self.n_features).T
            for i in range(0, n, context_block):
                scores = contexts[i : i + context_block] @ flat
                scores = scores.reshape(len(scores), len(part), self.n_actions)
                if available is None:
                    best = top_actions(scores, self.slate_size)
                else:
                    mask = available[i : i + context_block].dense()
                    best = best_available(scores, mask, self.slate_size, out.dtype)
                out[i : i + context_block, p : p + policy_block] = best
        return out
