"""What travels: contexts as JSON or Arrow, decisions and recommendations back as objects."""

import math
import time
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

from policysieve.arrays import as_list
from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError, ServiceError
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.frames import ContextFrame, Contexts, is_tabular

__all__ = ["asked", "decided", "recommended", "slate_size_of"]

_ARROW = "application/vnd.apache.arrow.stream"
_BESIDE = ("id", "available", "context")  # columns of a stream that are not those of a table


def asked(rows: Contexts, ids: list[str], available: Any) -> tuple[Any, dict[str, str]]:
    """The body of a request for decisions, and its headers.

    Arrays and dicts are sent as JSON. Data frames are sent as Arrow, which keeps the types of their
    columns.
    """
    shown = None if available is None else _listed(available)
    if isinstance(rows, ContextFrame) and rows.dtype.made_of != "dicts":
        return _stream(rows, ids, shown), {"Content-Type": _ARROW}
    body = {"contexts": rows.tolist(), "ids": ids}
    return body if shown is None else {**body, "available": shown}, {}


def _stream(rows: ContextFrame, ids: list[str], available: list[Any] | None) -> bytes:
    table = rows.table
    taken = [name for name in table.schema.names if name in _BESIDE]
    if taken:
        raise InvalidArgumentError(
            f"contexts must have no column {taken[0]!r} to be sent to a service; rename it"
        )
    columns = {"id": pa.array(ids, pa.string())}
    if available is not None:
        columns["available"] = pa.array(available)
    for name, column in columns.items():
        table = table.append_column(name, column)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def decided(answers: Sequence[httpx.Response], rows: Any = None) -> Decisions:
    """The decisions in some answers; contexts are those that were sent, if they were."""
    now = time.time()
    try:
        said: list[dict[str, Any]] = [
            one for answer in answers for one in answer.json()["decisions"]
        ]
        n = len(said)
        m = len(said[0]["actions"]) if n else 1
        actions = np.array([one["actions"] for one in said], np.int32).reshape(n, m)
        names = [one.get("action_names") for one in said]
        return Decisions(
            contexts=np.full(n, None, dtype=object) if rows is None else rows.copy(),
            actions=actions,
            propensities=np.array([one["propensities"] for one in said], float).reshape(n, m),
            numbers=np.full(n, -1),
            asked=np.array([one.get("asked", now) for one in said], float),
            issuer="",
            all_actions=None if None in names or not n else _named(actions, names),
            ids=np.array([str(one["id"]) for one in said], dtype=object),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ServiceError(f"the service did not answer with decisions ({error!r})") from error


def _named(actions: Any, names: list[Any]) -> tuple[str, ...]:
    """Names of actions by number; of those that were not shown none is known."""
    known = [""] * (int(actions.max()) + 1)
    for shown, said in zip(actions.tolist(), names, strict=True):
        for action, name in zip(shown, said, strict=True):
            known[action] = str(name)
    return tuple(known)


def recommended(said: dict[str, Any]) -> Recommendation:
    """The recommendation that plain values tell of."""
    policy, name = said["policy"], said["policy_name"]

    def known(key: str) -> float:
        return math.nan if said[key] is None else float(said[key])

    return Recommendation(
        policy=policy,
        name=None if name == f"policy {policy}" else name,
        certified=said["certified"],
        rounds=said["rounds"],
        guarantee=said["guarantee"],
        against=said["against"],
        gain=said["gain"],
        value=known("value"),
        lower=known("lower"),
        upper=known("upper"),
        suboptimality_bound=known("suboptimality_bound"),
    )


def slate_size_of(ids: Any, rewards: Any) -> int:
    """How many items a slate has, as far as rewards tell."""
    if rewards is None and not isinstance(ids, str | np.ndarray | Decisions) and is_tabular(ids):
        names: list[str] = ContextFrame.of(ids).table.schema.names
        return max(1, sum(name.startswith("reward_") for name in names))
    return max(1, len(np.ravel(rewards))) if isinstance(ids, str) else 1


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
    outer = as_list("available", available, "a list for each context")
    return [list(as_list("available", one, "actions of a context")) for one in outer]
