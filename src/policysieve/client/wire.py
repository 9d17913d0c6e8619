"""What travels: contexts as JSON or Arrow, decisions and recommendations back as objects."""

import math
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from policysieve.arrays import as_list
from policysieve.availability import Available
from policysieve.errors import ServiceError
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.frames import ContextFrame, Contexts, is_tabular
from policysieve.log import Beside

__all__ = ["asked", "decided", "recommended", "slate_size_of"]

ARROW = "application/vnd.apache.arrow.stream"
_EXACT = ("float64", "int64", "object")  # types of arrays that JSON has exactly


def asked(rows: Contexts, ids: list[str], available: Any) -> tuple[Any, dict[str, str]]:
    """The body of a request for decisions, and its headers.

    Dicts, strings and numbers of 64 bits are sent as JSON; data frames and other numbers as Arrow,
    which keeps their types.
    """
    shown = None if available is None else _listed(available)
    plain = isinstance(rows, ContextFrame) and rows.dtype.made_of == "dicts"
    if plain or (isinstance(rows, np.ndarray) and str(rows.dtype) in _EXACT):
        body = {"contexts": rows.tolist(), "ids": ids}
        return body if shown is None else {**body, "available": shown}, {}
    raise NotImplementedError


def decided(answer: httpx.Response, rows: Any = None) -> Decisions:
    """The decisions in an answer; contexts are those that were sent, if they were."""
    said = answer.json()
    try:
        n = len(said["ids"])
        actions = (
            np.array(said["actions"], np.int32).reshape(n, -1) if n else np.empty((0, 1), np.int32)
        )
        return Decisions(
            contexts=rows,
            actions=actions,
            propensities=np.array(said["propensities"], float).reshape(actions.shape),
            numbers=np.array(said["numbers"], np.int64),
            asked=np.array(said["asked"], float),
            issuer=said.get("issuer", ""),
            all_actions=None,
            beside=Beside(None),
            ids=np.array(said["ids"], dtype=object),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceError(f"the service did not answer with decisions ({error})") from error


def recommended(said: dict[str, Any]) -> Recommendation:
    """The recommendation that plain values tell of."""
    policy, name = said["policy"], said["policy_name"]
    numbers = {
        key: math.nan if said[key] is None else said[key]
        for key in ("value", "lower", "upper", "suboptimality_bound")
    }
    return Recommendation(
        policy=policy,
        name=None if name == f"policy {policy}" else name,
        certified=said["certified"],
        rounds=said["rounds"],
        guarantee=said["guarantee"],
        against=said["against"],
        gain=said["gain"],
        **numbers,
    )


def slate_size_of(ids: Any, rewards: Any) -> int:
    """How many items a slate has, as far as rewards tell."""
    if rewards is None and not isinstance(ids, str | np.ndarray | Decisions) and is_tabular(ids):
        names = ContextFrame.of(ids).table.schema.names
        return max(1, sum(name.startswith("reward_") for name in names))
    return max(1, np.size(rewards)) if isinstance(ids, str) else 1


def _listed(available: Any) -> list[Any]:
    """What can be shown as JSON has it: booleans, numbers or names, a list for each round."""
    if hasattr(available, "columns") and hasattr(available, "to_numpy"):
        rows = ContextFrame.of(available).tolist()
        return [[name for name, yes in row.items() if yes] for row in rows]
    if isinstance(available, Available):
        available = available.dense()
    if isinstance(available, np.ndarray):
        found: list[Any] = available.tolist()
        return found
    outer: Sequence[Any] = as_list("available", available, "a list for each context")
    return [list(as_list("available", one, "actions of a context")) for one in outer]
