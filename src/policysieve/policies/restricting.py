"""Policies where not every action can be shown: their answers are slates of those that can."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError, PolicyFailureError
from policysieve.naming import labels_of, looked_up

if TYPE_CHECKING:
    from policysieve.policies.base import Policies

__all__ = ["as_order", "best_available", "named_available", "with_fallback"]


def as_order(
    fallback: Any, n_actions: int, names: Sequence[str] | None
) -> npt.NDArray[np.intp] | None:
    """Different actions in the order in which they stand in for others, or raise."""
    if fallback is None:
        return None
    rule = "different actions, by number or name, the first choice first"
    order = looked_up("fallback", labels_of("fallback", fallback, rule), names)
    good = order.ndim == 1 and order.size and order.dtype.kind in "iu"
    if good and (order.min() < 0 or order.max() >= n_actions):
        raise InvalidArgumentError(
            f"fallback must hold actions in [0, {n_actions - 1}], got {shown(order.tolist())}; "
            "actions are numbered from 0"
        )
    if not good or len(np.unique(order)) != len(order):
        raise InvalidArgumentError(f"fallback must be {rule}, got {shown(fallback)}")
    found = order.astype(np.intp)
    found.flags.writeable = False
    return found


def best_available(
    scores: npt.NDArray[Any], mask: npt.NDArray[np.bool_], slate_size: int, dtype: Any
) -> npt.NDArray[Any]:
    """The `slate_size` best available actions by scores (n, ., n_actions), ties to the lower."""
    from policysieve.kernels.available import top_available  # brings numba, which loads on use

    slates = np.empty((*scores.shape[:2], slate_size), dtype)
    top_available(scores, mask, slates)
    return slates


def with_fallback(
    policies: "Policies",
    which: npt.NDArray[np.intp] | None,
    slates: npt.NDArray[Any],
    available: Available,
) -> npt.NDArray[Any]:
    """Slates (n, ., m) of some policies, their fallback in place of what is not available.

    Raises
    ------
    PolicyFailureError
        If there is no fallback, or not enough of it is available; nothing is changed.
    """
    from policysieve.kernels.available import mend_slates  # brings numba, which loads on use

    order, n_columns = policies.fallback, slates.shape[1]
    nothing = np.empty(0, np.intp)
    found = slates.copy()
    failed = mend_slates(found, available.dense(), nothing if order is None else order)
    if failed >= 0:
        row, column = divmod(int(failed), n_columns)
        policy = column if which is None else int(which[column])
        raise _stuck(policies, policy, row, slates[row, column], available[row : row + 1])
    return found


def _stuck(
    policies: "Policies",
    policy: int,
    row: int,
    slate: npt.NDArray[Any],
    available: Available,
) -> PolicyFailureError:
    """The error of a policy that shows what cannot be shown."""
    missing = slate[~available.has(slate[None, :].astype(np.intp))[0]]
    names = policies.action_names
    what = [int(a) if names is None else names[a] for a in missing]
    if policies.fallback is None:
        order = "[...]" if names is None else shown(list(names))
        advice = f"declare what takes its place: fallback={order} with all actions, in order"
    else:
        advice = "its fallback has not enough that is available: list all actions there"
    return policies._failure(
        policy, f"shows {shown(what)} at context {row}, which is not available there; {advice}"
    )


def named_available(available: Available, names: Sequence[str] | None) -> list[list[Any]]:
    """For each context what is available, by number, or by name if actions have names."""
    lists = available.lists()
    return lists if names is None else [[names[a] for a in one] for one in lists]
