"""Ids and rewards in the forms that users have them in."""

from typing import Any

import numpy as np

from policysieve.errors import InvalidArgumentError
from policysieve.exploration.decisions import Decisions
from policysieve.frames import ContextFrame, is_tabular
from policysieve.study.ids import as_ids

__all__ = ["as_told"]


def as_told(ids: Any, rewards: Any, slate_size: int) -> tuple[list[str], Any]:
    """Ids and rewards, which a frame may hold both, or raise."""
    if isinstance(ids, Decisions):
        if ids.ids is None:
            raise InvalidArgumentError("ids must be decisions of a study: these have no ids")
        ids = ids.ids
    elif not isinstance(ids, str | np.ndarray) and is_tabular(ids):
        if rewards is not None:
            raise InvalidArgumentError(
                "rewards must be left out where ids is a frame, whose column reward has them"
            )
        return _columns(ids, slate_size)
    if rewards is None:
        raise InvalidArgumentError("rewards must be given, one row for each id")
    if isinstance(ids, str) and np.ndim(rewards) < 2 and slate_size == np.size(rewards):
        rewards = np.reshape(rewards, (1, slate_size))
    return as_ids(ids, different=False), rewards


def _columns(frame: Any, slate_size: int) -> tuple[list[str], Any]:
    table = ContextFrame.of(frame).table
    names = ["reward"] if slate_size == 1 else [f"reward_{k}" for k in range(slate_size)]
    missing = [name for name in ("id", *names) if name not in table.schema.names]
    if missing:
        raise InvalidArgumentError(
            f"a frame of rewards must have the columns id, {', '.join(names)}, got "
            f"{', '.join(table.schema.names)}"
        )
    columns = [table[name].to_pylist() for name in names]
    for name, column in zip(names, columns, strict=True):
        if None in column:
            raise InvalidArgumentError(
                f"rewards must be known, but column {name} has none in row {column.index(None)}; "
                "leave out rounds that have no answer yet"
            )
    return as_ids(table["id"].to_pylist(), different=False), np.array(columns).T
