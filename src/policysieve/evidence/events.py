"""Rewarded rounds, and what the policy class would have shown there."""

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from policysieve.checks import first_rows
from policysieve.errors import InvalidArgumentError
from policysieve.log import Log
from policysieve.policies import AnyPolicies, ImplicitPolicies, Policies

__all__ = ["ContextEvents", "Events", "check_log_fits", "rewarded_events"]


@dataclass(frozen=True, eq=False)
class Events:
    """The rewarded rounds among `n_rounds`, in order; the others add nothing to any policy.

    Attributes
    ----------
    n_rounds : int
        All rounds, rewarded or not.
    rounds : integer array of shape (n,)
        Which of them were rewarded, counted from 0.
    table, rows
        The class's slates at event i are ``table[rows[i]]``, shape (n_policies, m).
    actions, propensities, rewards : arrays of shape (n, m)
        What was shown, with which probability, and what it earned.
    n_actions : int
    """

    n_rounds: int
    rounds: npt.NDArray[np.int64]
    table: npt.NDArray[Any]
    rows: npt.NDArray[np.intp]
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]
    rewards: npt.NDArray[np.float64]
    n_actions: int


@dataclass(frozen=True, eq=False)
class ContextEvents:
    """The rewarded rounds among `n_rounds`, for a class that cannot be listed.

    Attributes
    ----------
    n_rounds, rounds, actions, propensities, rewards
        As for `Events`.
    contexts : array of shape (n, ...)
    """

    n_rounds: int
    rounds: npt.NDArray[np.int64]
    contexts: npt.NDArray[Any]
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]
    rewards: npt.NDArray[np.float64]


@overload
def rewarded_events(log: Log, policies: Policies) -> Events: ...
@overload
def rewarded_events(log: Log, policies: ImplicitPolicies) -> ContextEvents: ...
@overload
def rewarded_events(log: Log, policies: AnyPolicies) -> Any: ...


def rewarded_events(log: Log, policies: AnyPolicies) -> Events | ContextEvents:
    """Pick out the rewarded rounds and, if it can be listed, what the class would show there."""
    check_log_fits(log, policies)
    actions, rewards = log.actions, log.rewards
    rounds = log.rewarded()
    if isinstance(policies, ImplicitPolicies):
        contexts = log.contexts[rounds]
        return ContextEvents(
            n_rounds=len(log),
            rounds=rounds,
            contexts=policies.check_contexts(contexts) if len(rounds) else contexts,
            actions=actions[rounds],
            propensities=log.propensities[rounds],
            rewards=rewards[rounds],
        )
    if len(rounds):
        table, rows = policies.action_rows(policies.check_contexts(log.contexts[rounds]))
    else:
        table = np.empty((0, policies.n_policies, policies.slate_size), dtype=np.uint8)
        rows = np.empty(0, dtype=np.intp)
    return Events(
        n_rounds=len(log),
        rounds=rounds,
        table=table,
        rows=rows,
        actions=actions[rounds],
        propensities=log.propensities[rounds],
        rewards=rewards[rounds],
        n_actions=policies.n_actions,
    )


def check_log_fits(log: Log, policies: AnyPolicies) -> None:
    """Raise unless a log has the slates and actions of the policies."""
    if log.slate_size != policies.slate_size:
        raise InvalidArgumentError(
            f"log and policies must agree on the slate size, got {log.slate_size} and "
            f"{policies.slate_size}"
        )
    actions = log.actions
    if actions.size and actions.max() >= policies.n_actions:
        bad = (actions >= policies.n_actions).any(axis=1)
        row = int(np.flatnonzero(bad)[0])
        from_one = actions.max() == policies.n_actions and actions.min() > 0
        hint = "; are actions numbered from 1? Here the first is 0" if from_one else ""
        raise InvalidArgumentError(
            f"actions of the log must lie in [0, {policies.n_actions - 1}], got "
            f"{actions[row].tolist()} in row {row}{first_rows(bad)}{hint}"
        )
