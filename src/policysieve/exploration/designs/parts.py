"""What explorations are made of: shares of policies, the uniform part, and a memory of contexts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.designs.base import Array, frozen_array
from policysieve.kernels.available import available_subsets
from policysieve.kernels.slates import alias_table, uniform_subsets
from policysieve.policies import Answers, PolicyClass
from policysieve.policies.weights import Weights
from policysieve.problem import Problem

__all__ = [
    "ContextMemory",
    "alias_of",
    "check_weights",
    "checked_numbers",
    "checked_shares",
    "even_share",
    "spread",
    "uniform_slates",
]

_BYTES = 1 << 26  # for all remembered contexts of one exploration together
_SUM_SLACK = 1e-6  # how far shares may be from summing to one


def checked_numbers(name: str, numbers: Any, policies: PolicyClass) -> npt.NDArray[np.int32]:
    """Different policies of a list, by their numbers, in a read-only array, or raise."""
    if policies.n_policies is None:
        raise InvalidArgumentError(
            f"policies must be numbered for {name}, got {type(policies).__name__}"
        )
    array = frozen_array(name, numbers, np.int32)
    if len(array) and (array.min() < 0 or array.max() >= policies.n_policies):
        raise InvalidArgumentError(
            f"{name} must hold policy numbers in [0, {policies.n_policies - 1}], got "
            f"{array.min()} to {array.max()}"
        )
    increasing = (array[1:] > array[:-1]).all()  # as they usually are
    if not increasing and len(np.unique(array)) != len(array):
        raise InvalidArgumentError(f"{name} must hold different policies, got one twice")
    return array


def checked_shares(
    support: Any,
    shares: Any,
    policies: PolicyClass,
    *,
    names: tuple[str, str] = ("support", "shares"),
) -> tuple[npt.NDArray[np.int32], Array]:
    """Policies and their shares, which are not negative and sum to one, or raise."""
    numbers = checked_numbers(names[0], support, policies)
    if not len(numbers):
        raise InvalidArgumentError(f"{names[0]} must hold at least one policy, got none")
    parts = frozen_array(names[1], shares, np.float64, len(numbers))
    if parts.min() < 0 or abs(parts.sum() - 1) > _SUM_SLACK:
        raise InvalidArgumentError(
            f"{names[1]} must not be negative and sum to one, got {parts.min():g} at least and "
            f"{parts.sum():g} in all"
        )
    return numbers, parts


def check_weights(weights: Any, policies: PolicyClass, kind: Any = Weights) -> None:
    """Raise unless these are weights of that kind on these very policies, and can be played."""
    if not isinstance(weights, kind):
        raise InvalidArgumentError(f"weights must be {kind.__name__}, got {type(weights).__name__}")
    if weights.policies is not policies:
        raise InvalidArgumentError(
            "weights must be those of the exploration's own policies, got weights of "
            f"{weights.policies!r}"
        )
    weights.check()


def alias_of(shares: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Walker's tables for drawing from the shares in constant time."""
    accept, alias = np.empty(len(shares)), np.empty(len(shares), np.int32)
    alias_table(shares, accept, alias)
    return accept, alias


def uniform_slates(
    uniforms: Array, n_actions: int, available: Available | None = None
) -> npt.NDArray[np.int32]:
    """Uniformly random sets of m different actions, from (n, m) uniform random numbers.

    Of what is available at each context, if not everything is.
    """
    if available is None and uniforms.shape[1] == 1:  # as the kernel, which need not be compiled
        return np.minimum((uniforms * n_actions).astype(np.int32), np.int32(n_actions - 1))
    slates = np.empty(uniforms.shape, dtype=np.int32)
    if available is None:
        uniform_subsets(uniforms, n_actions, slates)
    else:
        available_subsets(uniforms, available.dense(), slates)
    return slates


def spread(
    slates: npt.NDArray[np.int32],
    evenly: npt.NDArray[np.bool_],
    uniforms: Array,
    available: Available,
) -> None:
    """Put uniform slates of what is available into the rows of a mask, in place."""
    rows = np.flatnonzero(evenly)
    slates[rows] = uniform_slates(uniforms[rows], available.n_actions, available[rows])


def even_share(problem: Problem, available: Available | None, mixing: float = 1.0) -> float | Array:
    """Propensity of each item in a share `mixing` of uniform slates: mixing m/K(x).

    K(x) is the number of available items: a column with a row for each context, or one number if
    everything is available.
    """
    if available is None:
        return mixing * problem.slate_size / problem.n_actions
    shares: Array = mixing * problem.slate_size / available.counts[:, None]
    return shares


class ContextMemory:
    """What was worked out at contexts that are numbered, for as long as all fit into some bytes.

    Several threads may use it at once: they work out the same.

    Parameters
    ----------
    policies : PolicyClass
    widths : int
        Columns of each array that is worked out.
    """

    def __init__(self, policies: PolicyClass, *widths: int) -> None:
        n_contexts = policies.n_contexts if policies.looked_up else None
        self._known: tuple[Array, ...] | None = None
        if n_contexts is not None and 8 * n_contexts * sum(widths) <= _BYTES:
            self._missing = np.ones(n_contexts, dtype=np.bool_)
            self._known = tuple(np.empty((n_contexts, width)) for width in widths)

    def works(self, answers: Answers) -> bool:
        """Whether contexts are numbered, few enough, and say all: everything is available."""
        return self._known is not None and answers.available is None

    def at(
        self, rows: npt.NDArray[np.intp], work: Callable[[npt.NDArray[np.intp]], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """Arrays with a row for every context, filled at least at `rows`."""
        assert self._known is not None
        fresh = rows[self._missing[rows]]
        if len(fresh):
            fresh = np.unique(fresh)
            for known, found in zip(self._known, work(fresh), strict=True):
                known[fresh] = found
            self._missing[fresh] = False
        return self._known
