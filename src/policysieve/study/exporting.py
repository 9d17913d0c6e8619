"""The rounds of a study out again: as a log, or to a file of any format as they are read."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection

from policysieve.availability import Available
from policysieve.checks import as_path
from policysieve.errors import InvalidArgumentError
from policysieve.formats.registry import find_format
from policysieve.frames import ContextFrame, common_type, concatenated
from policysieve.log import Beside, Layout, Log, Rounds
from policysieve.policies.policy_class import names_of_actions
from policysieve.scaling import usual_range
from policysieve.study.ids import ids_at
from policysieve.study.ledger import DISCARDED, SqlLedger
from policysieve.study.packing import Batch, beside_of

__all__ = ["log_of", "write_log"]

_AT_ONCE = 1 << 14  # rounds that are handed on together


def log_of(ledger: SqlLedger, connection: Connection, learnt: int) -> Log:
    """The first rounds as a log, in the order of their decisions."""
    logs = [rounds.to_log() for rounds in _rounds(ledger, connection, learnt)]
    if logs:
        return Log.concatenate(logs)
    m = ledger.policies.slate_size
    units = ledger.record.problem.reward_range
    return Log.empty(contexts=np.empty(0, np.int64), slate_size=m, reward_range=units)


def write_log(
    ledger: SqlLedger,
    connection: Connection,
    learnt: int,
    path: str | os.PathLike[str],
    format: str | None,
    *,
    overwrite: bool,
) -> int:
    """Write the first rounds with ids and times to a file; how many they are.

    They are read twice: first to find what the contexts of all of them have in common.
    """
    out: Path = as_path(path)
    if out.exists() and not overwrite:
        raise InvalidArgumentError(f"{out} exists; name another file, or pass overwrite=True")
    chosen = find_format(out, format)
    layout: Layout | None = None
    written = 0
    for rounds in _rounds(ledger, connection, learnt):
        written += len(rounds)
        if layout is None:
            layout = rounds.layout
        else:
            dtype = common_type(layout.context_dtype, rounds.contexts.dtype)
            some = layout.has_available or rounds.beside.available is not None
            layout = replace(layout, context_dtype=dtype, has_available=some)
    if layout is None:
        raise InvalidArgumentError(
            f"study {ledger.record.name!r} has no rounds to write: those that are settled were "
            "given up, or their contexts erased"
        )
    chosen.not_held(layout)
    found = layout
    k = ledger.policies.n_actions
    pieces = (_as_type(rounds, found, k) for rounds in _rounds(ledger, connection, learnt))
    chosen.save(out, pieces, layout, k, new=not overwrite)
    return written


def _rounds(ledger: SqlLedger, connection: Connection, learnt: int) -> Iterator[Rounds]:
    """Settled rounds whose contexts were not erased, without those that were given up."""
    waiting: list[Batch] = []
    for batch in ledger.all_batches(connection):
        if batch.first >= learnt:
            break
        waiting.append(batch)
        if batch.end - waiting[0].first >= _AT_ONCE:
            yield from _together(ledger, connection, waiting)
            waiting = []
    if waiting:
        yield from _together(ledger, connection, waiting)


def _together(ledger: SqlLedger, connection: Connection, batches: list[Batch]) -> Iterator[Rounds]:
    first, end = batches[0].first, batches[-1].end
    _, states, told = ledger.settled(connection, first, end)
    erased = np.zeros(end - first, np.bool_)
    for batch in batches:
        if batch.forgotten is not None:
            erased[batch.first - first : batch.end - first] = batch.forgotten
    kept = ~erased & (states != DISCARDED)
    if not kept.any():
        return
    contexts: Any = concatenated([batch.contexts for batch in batches])
    record = ledger.record
    yield Rounds(
        contexts[kept[~erased]],
        np.concatenate([batch.actions for batch in batches])[kept],
        np.concatenate([batch.propensities for batch in batches])[kept],
        told[kept],
        ids_at(connection, record.study, record.mark, np.arange(first, end)[kept]),
        np.repeat([batch.asked for batch in batches], [len(b) for b in batches])[kept],
        action_names=_names(ledger),
        beside=beside_of([(batch.available, len(batch)) for batch in batches])[kept],
        reward_range=usual_range(record.problem.reward_range),
    )


def _names(ledger: SqlLedger) -> tuple[str, ...] | None:
    names = names_of_actions(ledger.policies, ledger.record.problem)
    return None if names is None else tuple(names)


def _as_type(rounds: Rounds, layout: Layout, n_actions: int) -> Rounds:
    """The same rounds with what others of the log have, too."""
    contexts, beside = rounds.contexts, rounds.beside
    if isinstance(contexts, ContextFrame):
        contexts = contexts.as_type(layout.context_dtype)
    else:
        contexts = contexts.astype(layout.context_dtype, copy=False)
    if layout.has_available and beside.available is None:
        beside = Beside(Available.everything(len(rounds), n_actions))
    return replace(rounds, contexts=contexts, beside=beside)
