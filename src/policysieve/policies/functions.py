"""Policies that are plain Python functions."""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.checks import flag
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame, own_copy
from policysieve.naming import named_parts
from policysieve.policies.base import Policies, Reply, action_dtype
from policysieve.policies.calling import Asked, Calls, called, checked_fallback, is_async
from policysieve.policies.restricting import named_available

__all__ = ["FunctionPolicies"]


class FunctionPolicies(Policies):
    """Functions from contexts to actions, by number or by name.

    Parameters
    ----------
    functions : sequence of callables, or dict of them by name
        With ``vectorized=True`` each takes the array of n contexts and returns n actions (or an
        (n, slate_size) array). With ``vectorized=False`` each takes one context and returns one
        action (or one slate). Of a data frame the former get a data frame of the same kind, the
        latter a dict for each row, with None where a value is missing. Each function may change
        what it gets: the others do not see that. One with a parameter ``available`` is told what
        can be shown, where that is said: with ``vectorized=True`` an array of booleans of shape
        (n, n_actions), else the list of available actions, by name if they have names.
    n_actions : int
        Number K of actions. May be left out where they are named.
    slate_size : int
        Number m of actions shown.
    vectorized : bool
        Whether the functions take many contexts at once.
    calls : Calls, optional
        For functions that are slow: how many calls at once, how often again, how long. They take
        one context each, as ``async def`` functions or with ``vectorized=False``.
    names : sequence of str, optional
        Names of the functions.
    actions : sequence of str, optional
        Names of the actions, in the order of their numbers: functions may return them.
    fallback : sequence of actions, optional
        What takes the place of actions that are not available, the first choice first, by number
        or name.

    Examples
    --------
    >>> rules = FunctionPolicies([lambda x: 0, lambda x: x % 3], n_actions=3, vectorized=False)
    >>> rules.actions([4, 5])[:, :, 0].tolist()
    [[0, 1], [0, 2]]
    >>> rules = FunctionPolicies(
    ...     {"always": lambda x: "hats", "by age": lambda x: "hats" if x > 40 else "shoes"},
    ...     actions=["shoes", "hats"],
    ...     vectorized=False,
    ... )
    >>> rules.actions([30, 50], which=["by age"])[:, :, 0].tolist()
    [[0], [1]]
    """

    called = True

    def __init__(
        self,
        functions: Sequence[Callable[[Any], Any]] | Mapping[str, Callable[[Any], Any]],
        n_actions: int | None = None,
        *,
        slate_size: int = 1,
        vectorized: bool = True,
        calls: Calls | None = None,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        fallback: Sequence[int | str] | None = None,
    ) -> None:
        self.functions, known = named_parts(
            "functions", functions, "a sequence of callables", names
        )
        self.vectorized = flag("vectorized", vectorized)
        super().__init__(
            n_policies=len(self.functions),
            n_actions=n_actions,
            slate_size=slate_size,
            names=known,
            actions=actions,
            fallback=fallback,
        )
        for index, function in enumerate(self.functions):
            if not callable(function):
                which = f"number {index}" if self.names is None else repr(self.names[index])
                raise InvalidArgumentError(
                    f"functions must be callable, {which} is {shown(function)}"
                )
        self.calls = self._checked_calls(calls)
        self._fallback = None if calls is None else checked_fallback(calls, self)

    def _checked_calls(self, calls: Any) -> Calls | None:
        """Return how to call functions that take one context, or raise."""
        if calls is not None and not isinstance(calls, Calls):
            raise InvalidArgumentError(
                f"calls must be such as ps.Calls(at_once=8, timeout=30), got {shown(calls)}"
            )
        for index, function in enumerate(self.functions):
            if calls is None and is_async(function):
                raise InvalidArgumentError(
                    f"calls must say how functions are called that are async, as "
                    f"{self.name_of(index)} is: pass calls=ps.Calls()"
                )
            if calls is not None and self.vectorized and not is_async(function):
                raise InvalidArgumentError(
                    "calls are made with one context each: pass vectorized=False, and functions "
                    f"that take one context; {self.name_of(index)} is {shown(function)}"
                )
        return calls

    def __getstate__(self) -> dict[str, Any]:
        self._check_pickles("function", self.functions)
        return self.__dict__

    def part(self, numbers: npt.NDArray[np.intp]) -> Self:
        """Some of the functions."""
        return self._like(numbers, functions=[self.functions[p] for p in numbers.tolist()])

    @cached_property
    def _heeds(self) -> npt.NDArray[np.bool_]:
        return np.array([_takes_available(function) for function in self.functions])

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        return self._said(contexts, which, None)

    def _asked(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        return self._said(contexts, which, available)

    def _said(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available | None
    ) -> npt.NDArray[Any]:
        """What the functions answer, those who take it being told what is available."""
        if self.calls is not None:
            everyone = np.arange(self.n_policies) if which is None else which
            shape = (len(contexts), len(everyone), self.slate_size)
            slates = np.empty(shape, action_dtype(self.n_actions))
            wanted = np.ones(shape[:2], np.bool_)
            with closing(self._replies(contexts, everyone, wanted, available)) as replies:
                for reply in replies:
                    slates[reply.rows, reply.column] = reply.slates
            return slates
        tabular = isinstance(contexts, ContextFrame)
        given = contexts.native() if tabular and self.vectorized else contexts

        def answer(policy: int) -> Any:
            function = self.functions[policy]
            told = None if available is None or not self._heeds[policy] else available
            if self.vectorized:
                rows = own_copy(given) if tabular else given
                return function(rows) if told is None else function(rows, available=told.dense())
            if told is None:
                return [function(context) for context in given]
            lists = named_available(told, self.action_names)
            pairs = zip(given, lists, strict=True)
            return [function(context, available=one) for context, one in pairs]

        calls = 1 if self.vectorized else len(contexts)
        return self._ask_each(which, len(contexts), answer, calls=calls)

    def _replies(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp],
        wanted: npt.NDArray[np.bool_],
        available: Available | None = None,
    ) -> Generator[Reply, None, None]:
        if self.calls is None:
            return super()._replies(contexts, which, wanted, available)
        rows = np.flatnonzero(wanted.any(axis=1))
        given = dict(zip(rows.tolist(), contexts[rows], strict=True))
        lists: dict[int, list[Any]] = {}
        if available is not None and self._heeds[which].any():
            named = named_available(available[rows], self.action_names)
            lists = dict(zip(rows.tolist(), named, strict=True))
        heeds = self._heeds[which] if lists else np.zeros(len(which), np.bool_)
        asked = [
            Asked(row, column, given[row], lists[row] if heeds[column] else None)
            for row, column in np.argwhere(wanted).tolist()
        ]
        return called(self, self.functions, which, asked, self.calls, self._fallback)


def _takes_available(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter of that name."""
    try:
        found = inspect.signature(function).parameters.get("available")
    except (TypeError, ValueError):  # of compiled functions nothing is known
        return False
    return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)
