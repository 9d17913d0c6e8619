"""Two policies of a list, as a list of their own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
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
            fallback=policies.fallback,
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

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        return self.policies._made_of(int(self._which[policy]))

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        return self.policies._evaluate(contexts, self._in_the_list(which))

    def _evaluate_among(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        return self.policies._evaluate_among(contexts, self._in_the_list(which), available)

    def _in_the_list(self, which: npt.NDArray[np.intp] | None) -> npt.NDArray[np.intp]:
        """The numbers that some of the two have in the list."""
        return self._which[slice(None) if which is None else which]
