"""Policies that are plain Python functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list, shown
from policysieve.checks import flag
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame
from policysieve.policies.base import Policies

__all__ = ["FunctionPolicies"]


class FunctionPolicies(Policies):
    """Functions from contexts to actions.

    Parameters
    ----------
    functions : sequence of callables
        With ``vectorized=True`` each takes the array of n contexts and returns n actions (or an
        (n, slate_size) array). With ``vectorized=False`` each takes one context and returns one
        action (or one slate). Of a data frame the former get a data frame of the same kind, the
        latter a dict for each row, with None where a value is missing.
    n_actions : int
        Number K of actions.
    slate_size : int
        Number m of actions shown.
    vectorized : bool
        Whether the functions take many contexts at once.

    Examples
    --------
    >>> rules = FunctionPolicies([lambda x: 0, lambda x: x % 3], n_actions=3, vectorized=False)
    >>> rules.actions([4, 5])[:, :, 0].tolist()
    [[0, 1], [0, 2]]
    """

    def __init__(
        self,
        functions: Sequence[Callable[[Any], Any]],
        n_actions: int,
        *,
        slate_size: int = 1,
        vectorized: bool = True,
    ) -> None:
        self.functions = as_list("functions", functions, "a sequence of callables")
        self.vectorized = flag("vectorized", vectorized)
        super().__init__(n_policies=len(self.functions), n_actions=n_actions, slate_size=slate_size)
        for index, function in enumerate(self.functions):
            if not callable(function):
                raise InvalidArgumentError(
                    f"functions must be callable, number {index} is {shown(function)}"
                )

    def __getstate__(self) -> dict[str, Any]:
        self._check_pickles("function", self.functions)
        return self.__dict__

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        tabular = isinstance(contexts, ContextFrame)
        given = contexts.native() if tabular and self.vectorized else contexts

        def answer(policy: int) -> Any:
            function = self.functions[policy]
            if self.vectorized:
                return function(given)
            return [function(context) for context in given]

        return self._ask_each(which, len(contexts), answer)
