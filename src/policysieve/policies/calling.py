"""Candidates that take one context and are slow: called at the same time, again, not forever."""

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown, told
from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.frames import own_copy
from policysieve.policies.base import Policies, Reply
from policysieve.progress import late_bar

__all__ = ["Asked", "Calls", "called", "checked_fallback", "is_async"]


@dataclass(frozen=True, kw_only=True)
class Calls:
    """How to call candidates that take one context each and are slow or not reliable.

    Attributes
    ----------
    at_once : int
        Calls at the same time, over all candidates and contexts of a batch.
    retries : int
        How often a call that raised or took too long is repeated, after a pause that doubles.
    timeout : float or None
        Seconds that a call may take; None for any. An ``async def`` function is cancelled then. A
        plain one runs in a thread, which cannot be stopped: it is left alone, does not count as
        one of those at once any more, and ends with the process at the latest.
    fallback : action, slate or None
        The answer where the last call failed, too. The candidate that is judged is then the one
        with this fallback. Without one, the batch fails with `PolicyFailureError`.
    """

    at_once: int = 8
    retries: int = 2
    timeout: float | None = 60.0
    fallback: Any = None

    def __post_init__(self) -> None:
        at_once = integer("at_once", self.at_once, low=1)
        retries = integer("retries", self.retries, low=0)
        timeout = self.timeout
        if timeout is not None:
            timeout = number("timeout", timeout, above=0, below=float("inf"))
        self.__dict__.update(at_once=at_once, retries=retries, timeout=timeout)


def is_async(function: Any) -> bool:
    """Whether calling it gives something to await."""
    call = getattr(function, "__call__", None)  # noqa: B004  # of an object with such a method
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def checked_fallback(calls: Calls, policies: Policies) -> npt.NDArray[Any] | None:
    """The declared fallback as a slate of these policies' actions, if there is one, or raise."""
    if calls.fallback is None:
        return None
    try:
        slate: npt.NDArray[Any] = policies._checked_slates(0, [calls.fallback], 1)[0]
    except Exception as error:  # of an object that numpy cannot read, too
        m = policies.slate_size
        rule = "an action" if m == 1 else f"a slate of {m} different actions"
        hint = "" if policies.action_names is None else ", or by name"
        raise InvalidArgumentError(
            f"fallback must be {rule} of the {policies.n_actions}, numbered from 0{hint}, got "
            f"{shown(calls.fallback)}"
        ) from error
    return slate


class Asked(NamedTuple):
    """What one policy is asked: the row of a context, the place of the policy, the context.

    And what is available there, for a function that takes it.
    """

    row: int
    column: int
    context: Any
    available: list[Any] | None = None


def called(
    policies: Policies,
    functions: Sequence[Callable[[Any], Any]],
    which: npt.NDArray[np.intp],
    asked: Sequence[Asked],
    calls: Calls,
    fallback: npt.NDArray[Any] | None,
) -> Generator[Reply, None, None]:
    """What some of the policies say, as soon as it is known; and count it.

    Parameters
    ----------
    policies : Policies
        Whose answers these are.
    functions : sequence of callables
        Of all policies.
    which : integer array
        Policies to ask.
    asked : sequence of Asked
        Which of them at which contexts, in this order.
    calls : Calls
    fallback : array or None
        The answer where calls fail.

    Raises
    ------
    PolicyFailureError
        If calls failed and there is no fallback, or if an answer is none.
    """
    from policysieve.policies.looping import Job, results_of  # brings asyncio, which loads on use

    jobs = []
    for one in asked:
        function = functions[which[one.column]]
        if one.available is not None:
            function = partial(function, available=list(one.available))
        jobs.append(Job(function, own_copy(one.context)))
    if not jobs:
        return
    with (
        late_bar("Asking the candidates", len(jobs)) as move,
        closing(results_of(jobs, calls)) as came,
    ):
        for done, result in enumerate(came, 1):
            row, column, context, _ = asked[result.job]
            policy, fell_back = int(which[column]), result.error is not None
            policies._meter.add(
                policy,
                calls=result.calls,
                contexts=1,
                seconds=result.seconds,
                retries=result.calls - 1,
                timeouts=result.timeouts,
                fallbacks=fell_back and fallback is not None,
            )
            if result.error is not None and not isinstance(result.error, Exception):
                raise result.error  # as SystemExit
            if result.error is None:
                slates = policies._checked_slates(policy, [result.answer], 1)
            elif fallback is None:
                error = result.error
                raise policies._failure(
                    policy,
                    f"gave no answer at context {row}, {shown(context)}, after "
                    f"{result.calls - 1} retries: {told(error)}; ask again, or declare a "
                    "fallback for such cases",
                ) from error
            else:
                slates = fallback[None, :]
            yield Reply(column, np.array([row]), slates)
            move(done)
