"""A policy that draws one of a class each time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import real_numbers
from policysieve.checks import as_rng, refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.policies.base import Policies

__all__ = ["RandomizedPolicy"]


class RandomizedPolicy:
    """Draw a policy of a class by fixed shares, and do what it does.

    Parameters
    ----------
    policies : Policies
    shares : float array of shape (n_policies,)
        Non-negative, with a positive sum; they are normalised.
    """

    def __init__(self, policies: Policies, shares: npt.NDArray[np.float64]) -> None:
        if not isinstance(policies, Policies):
            raise InvalidArgumentError(
                f"policies must be numbered, such as PolicyTable, got {type(policies).__name__}"
            )
        rule = f"shares must be {policies.n_policies} numbers >= 0"
        weights = real_numbers("shares", shares, f"{policies.n_policies} numbers >= 0")
        if weights.shape != (policies.n_policies,):
            raise InvalidArgumentError(f"{rule}, got shape {weights.shape}")
        refuse_rows(~(weights >= 0), rule, lambda entry: f"{weights[entry]:g}", unit="entry")
        if not 0 < weights.sum() < np.inf:
            raise InvalidArgumentError(
                f"shares must have a positive finite sum, got {weights.sum()}"
            )
        self.policies = policies
        self.shares = weights / weights.sum()

    def probabilities(self, contexts: Any, *, available: Any = None) -> npt.NDArray[np.float64]:
        """Probability of showing each action at each context, shape (n, n_actions)."""
        from policysieve.kernels.slates import marginals  # brings numba, which loads on use

        slates = self.policies.answers(contexts, available)
        support = np.flatnonzero(self.shares)
        shown = np.zeros((len(slates), self.policies.n_actions))
        marginals(slates.table, slates.rows, support, self.shares[support], shown)
        return np.minimum(shown, 1.0)

    def sample(self, contexts: Any, rng: Any = None, *, available: Any = None) -> npt.NDArray[Any]:
        """Slates for the contexts, each of a policy drawn anew, shape (n, slate_size)."""
        x = self.policies.check_contexts(contexts)
        drawn = as_rng(rng).choice(len(self.shares), size=len(x), p=self.shares)
        chosen, column = np.unique(drawn, return_inverse=True)
        slates = self.policies.actions(x, which=chosen, available=available)
        return np.asarray(slates[np.arange(len(x)), column])

    def average(self, values: npt.NDArray[np.float64]) -> float:
        """Average of one number per policy by the shares: the value of this policy from theirs."""
        return float(self.shares @ values)

    def __repr__(self) -> str:
        top, count = int(self.shares.argmax()), np.count_nonzero(self.shares)
        most = f"{self.shares[top]:.1%} {self.policies.name_of(top)}"
        return f"RandomizedPolicy({count} policies, {most})"
