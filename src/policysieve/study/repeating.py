"""Asking again with the same ids, where the answer was lost: what was decided then."""

from typing import Any

import numpy as np
from sqlalchemy import Connection

from policysieve.availability import Available
from policysieve.errors import DecisionsError
from policysieve.exploration.decisions import Decisions
from policysieve.frames import ContextFrame
from policysieve.policies.digests import context_digests
from policysieve.study.ids import places_of
from policysieve.study.ledger import SqlLedger
from policysieve.study.looking import decided

__all__ = ["decided_before"]


def decided_before(
    ledger: SqlLedger,
    connection: Connection,
    ids: list[str],
    contexts: Any,
    available: Available | None,
    error: DecisionsError,
) -> Decisions | DecisionsError:
    """What was decided for these ids, if all of them were, at these contexts; else an error.

    Parameters
    ----------
    ledger, connection, ids
    contexts, available
        As they were checked.
    error : DecisionsError
        That of ids which are not new, for those of which only some are known.
    """
    record = ledger.record
    rounds, _ = ledger.counters(connection)
    try:
        places = places_of(connection, record.study, record.mark, ids, rounds)
    except DecisionsError:
        return error
    found = decided(ledger, connection, places)
    if available == found.available and _same(contexts, found.contexts, record.keep_contexts):
        return found
    return DecisionsError(
        f"ids must be new in this study, or come again with the contexts and the available actions "
        f"that they came with, got {ids[0]!r} with others, or its context was erased"
    )


def _same(mine: Any, kept: Any, keep_contexts: bool) -> bool:
    """Whether contexts are those that were kept, or that hashes were kept of."""
    if not keep_contexts:
        return [one.hex() for one in context_digests(mine)] == list(kept)
    if isinstance(mine, ContextFrame) and isinstance(kept, ContextFrame):
        common = mine.dtype.joined(kept.dtype)
        mine, kept = mine.as_type(common), kept.as_type(common)
    elif isinstance(kept, np.ndarray) and any(one is None for one in kept.ravel()[:1]):
        return False
    return context_digests(mine) == context_digests(kept)
