"""Open Bandit Pipeline's bandit feedback, a dictionary of arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.formats.format import refuse_slates
from policysieve.formats.rules import Rules, check_rounds
from policysieve.log import Layout, Log, Rounds

__all__ = ["from_bandit_feedback", "to_bandit_feedback"]

_NEEDED = ("context", "action", "reward", "pscore")


def from_bandit_feedback(
    feedback: Mapping[str, Any], *, reward_range: tuple[float, float] | None = None
) -> Log:
    """A log from Open Bandit Pipeline's bandit feedback.

    Parameters
    ----------
    feedback : mapping
        With ``context`` (n, d), ``action``, ``reward`` and ``pscore`` (n,). If ``position`` (n,)
        has several values, it becomes the last feature of the contexts. Other keys are not used.
    reward_range : (low, high), optional
        Range of the rewards, which is mapped to [0, 1]; needed when one is outside [0, 1].

    Raises
    ------
    InvalidArgumentError
        If a key is missing, or a round breaks a rule; the row is named.
    """
    missing = [key for key in _NEEDED if feedback.get(key) is None]
    if missing:
        raise InvalidArgumentError(
            f"feedback must have {', '.join(_NEEDED)}, {missing[0]!r} is missing"
        )
    contexts = np.asarray(feedback["context"])
    if contexts.ndim == 0 or contexts.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            "feedback['context'] must be numbers, a row for each round, got shape "
            f"{contexts.shape} of {contexts.dtype}"
        )
    n = len(contexts)
    action, reward, pscore = (_column(feedback, key, n) for key in _NEEDED[1:])
    if feedback.get("position") is not None:
        position = _column(feedback, "position", n)
        if len(np.unique(position)) > 1:
            contexts = np.column_stack([contexts, position])
    n_actions = feedback.get("n_actions")
    rounds = Rounds(
        contexts, action[:, None], pscore[:, None].astype(float), reward[:, None].astype(float)
    )
    if n_actions is not None:
        n_actions = integer("feedback['n_actions']", n_actions, low=1)
    rules = Rules(reward_range=reward_range, n_actions=n_actions, allow_missing=False)
    checked, reasons = check_rounds(rounds, rules)
    for row, reason in reasons.items():
        raise InvalidArgumentError(f"feedback, row {row}: {reason}")
    return checked.to_log()


def _column(feedback: Mapping[str, Any], key: str, n: int) -> npt.NDArray[Any]:
    column = np.asarray(feedback[key])
    if column.shape != (n,) or column.dtype.kind not in ("iu" if key == "action" else "biuf"):
        raise InvalidArgumentError(
            f"feedback[{key!r}] must be {n} numbers, one for each context, got shape "
            f"{column.shape} of {column.dtype}"
        )
    return column


def to_bandit_feedback(log: Log, n_actions: int) -> dict[str, Any]:
    """Open Bandit Pipeline's bandit feedback from a log.

    All rounds are at position 0, and an action's context is its indicator vector: a log knows of
    neither. Row numbers become contexts of one feature.

    Parameters
    ----------
    log : Log
        With one action a round and numbers as contexts.
    n_actions : int
        Number of actions.

    Returns
    -------
    dict
        With n_rounds, n_actions, context, action_context, action, position, reward and pscore.

    Raises
    ------
    InvalidArgumentError
        If the log has slates, strings as contexts, or an action that is not below `n_actions`.
    """
    contexts = log.contexts
    refuse_slates(
        Layout(contexts.shape[1:], contexts.dtype, log.slate_size),
        "Open Bandit Pipeline's bandit feedback",
    )
    if contexts.dtype == object:
        raise InvalidArgumentError(
            "contexts must be numbers for Open Bandit Pipeline, got strings; encode them first"
        )
    seen = int(log.actions.max(initial=-1)) + 1
    n_actions = integer("n_actions", n_actions, low=max(seen, 1), hint="the log's actions need it")
    return {
        "n_rounds": len(log),
        "n_actions": n_actions,
        "context": contexts.reshape(len(log), -1).copy(),
        "action_context": np.eye(n_actions, dtype=np.int64),
        "action": log.actions[:, 0].astype(np.int64),
        "position": np.zeros(len(log), dtype=np.int64),
        "reward": log.rewards[:, 0].copy(),
        "pscore": log.propensities[:, 0].copy(),
    }
