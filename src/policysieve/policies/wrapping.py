"""A class around another, whose candidates it has asked in its own way."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.policies.base import Policies

__all__ = ["WrappedPolicies"]


class WrappedPolicies(Policies):
    """The same policies, and what is known of them.

    Parameters
    ----------
    policies : Policies

    Attributes
    ----------
    policies : Policies
        As they were given.
    """

    def __init__(self, policies: Policies) -> None:
        super().__init__(
            n_policies=policies.n_policies,
            n_actions=policies.n_actions,
            slate_size=policies.slate_size,
            names=policies.names,
            actions=policies.action_names,
            fallback=policies.fallback,
        )
        self.policies, self.called = policies, policies.called

    def fingerprint(self) -> str:
        """That of the policies themselves."""
        return self.policies.fingerprint()

    def check_contexts(self, contexts: Any) -> Any:
        """As the policies themselves take them."""
        return self.policies.check_contexts(contexts)

    def same_as(self, policy: int, others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """As the policies themselves know it."""
        return self.policies.same_as(policy, others)

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        return self.policies._made_of(policy)

    @property
    def _heeds(self) -> npt.NDArray[np.bool_]:
        return self.policies._heeds
