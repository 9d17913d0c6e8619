"""Two policies of a list, as a list of their own."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.policies.base import Policies

__all__ = ["PolicyPair"]


class PolicyPair(Policies):
    """Two policies of a list, for questions about these alone: nobody else is asked.

    Parameters
    ----------
    policies : Policies
    numbers : pair of int
        Of the two in the list.
    """

    def __init__(self, policies: Policies, numbers: tuple[int, int]) -> None:
        super().__init__(
            n_policies=2,
            n_actions=policies.n_actions,
            slate_size=policies.slate_size,
            names=[policies.name_of(number) for number in numbers],
            actions=policies.action_names,
        )
        self.policies = policies
        self._which = np.array(numbers, np.intp)

    @property
    def n_contexts(self) -> int | None:
        """As the list has it."""
        return self.policies.n_contexts

    def check_contexts(self, contexts: Any) -> Any:
        """As the list has it."""
        return self.policies.check_contexts(contexts)

    def same_as(self, policy: int, others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """As the list has it."""
        return self.policies.same_as(int(self._which[policy]), self._which[others])

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        return self.policies._evaluate(
            contexts, self._which[slice(None) if which is None else which]
        )
