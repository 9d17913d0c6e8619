"""Rewards come in: again without harm, late ones kept but not counted, others refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, insert, select

from policysieve.errors import DecisionsError
from policysieve.study.ids import ids_at
from policysieve.study.ledger import DISCARDED, EXPIRED, TOLD, SqlLedger
from policysieve.study.results import Told
from policysieve.study.schema import audit

__all__ = ["RefusedRewardsError", "audited", "discard", "expire", "refuse", "tell"]

_FEW = 5  # ids that an error names
_FATES = {
    TOLD: "was told its reward before",
    EXPIRED: "has expired: it had no answer in time, which counts",
    DISCARDED: "was given up before",
}

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


class RefusedRewardsError(Exception):
    """Rewards that contradict what was told before; to be written down in a transaction anew."""

    def __init__(self, places: Places, told: Array) -> None:
        super().__init__("refused")
        self.places, self.told = places, told


def tell(
    ledger: SqlLedger,
    connection: Connection,
    places: Places,
    told: Array,
    now: float,
    *,
    new: bool,
) -> Told:
    """Settle rounds with their rewards.

    Parameters
    ----------
    ledger, connection, places, told, now
    new : bool
        Whether to take them for open, as they mostly are, without a look; if one is not, the
        database refuses the transaction.

    Raises
    ------
    RefusedRewardsError
        If a round was settled with another reward.
    DecisionsError
        If a round is told twice with different rewards.
    """
    repeated = 0
    if not new:
        places, told, repeated = _each_once(ledger, connection, places, told)
    nobody = places[:0]
    known, states, rewards = (
        (nobody, nobody, told[:0]) if new else ledger.settled_at(connection, places)
    )
    at = np.searchsorted(known, places)
    at[at == len(known)] = 0
    settled = known[at] == places if len(known) else np.zeros(len(places), np.bool_)
    late = np.zeros(len(places), np.bool_)
    again = late.copy()
    if settled.any():
        state, before = states[at[settled]], rewards[at[settled]]
        late[settled] = state != TOLD
        same = (before == told[settled]).all(axis=1)
        again[settled] = (state == TOLD) & same
        refused = np.flatnonzero(settled)[(state == TOLD) & ~same]
        if len(refused):
            raise RefusedRewardsError(places[refused], told[refused])
    fresh = ~settled
    deadline = ledger.record.deadline
    if deadline is not None and fresh.any():
        passed = np.flatnonzero(fresh)
        passed = passed[ledger.asked(connection, places[passed]) + deadline < now]
        late[passed], fresh[passed] = True, False
        _settle_expired(ledger, connection, places[passed], now)
    ledger.settle(connection, places[fresh], TOLD, told[fresh], now)
    if late.any():
        note(ledger, connection, "late", places[late], told[late], now)
    names = ids_at(connection, ledger.record.study, ledger.record.mark, places[late])
    return Told(
        counted=int(fresh.sum()), again=int(again.sum()) + repeated, late=tuple(names.tolist())
    )


def _each_once(
    ledger: SqlLedger, connection: Connection, places: Places, told: Array
) -> tuple[Places, Array, int]:
    """Different rounds with their rewards, and how many are told again in the same call."""
    _, first, back = np.unique(places, return_index=True, return_inverse=True)
    others = np.flatnonzero((told != told[first[back]]).any(axis=1))
    if len(others):
        names = ids_at(connection, ledger.record.study, ledger.record.mark, places[others[:1]])
        one, two = (told[row].tolist() for row in (first[back[others[0]]], others[0]))
        raise DecisionsError(
            f"rewards must be one for each decision, got {one} and {two} for {names[0]!r} in one "
            "call; nothing was changed"
        )
    kept = np.sort(first)
    return places[kept], told[kept], len(places) - len(kept)


def refuse(
    ledger: SqlLedger, connection: Connection, error: RefusedRewardsError, now: float
) -> DecisionsError:
    """Write refused rewards down, and say which they are."""
    note(ledger, connection, "refused", error.places, error.told, now)
    names = ids_at(connection, ledger.record.study, ledger.record.mark, error.places)
    few = ", ".join(map(repr, names[:_FEW])) + (", ..." if len(names) > _FEW else "")
    return DecisionsError(
        f"rewards must be those that were told before, got others for {few}; they are kept in the "
        "audit table, and nothing of this call counts; tell the others without these ids"
    )


def expire(
    ledger: SqlLedger, connection: Connection, low: int, before: float, now: float
) -> Places:
    """Settle open rounds from a place on that were asked for until a time.

    Up to the first batch that was asked for later. One that was asked for in the future tells of a
    clock that jumped: its rounds wait from now on.
    """
    due = [np.empty(0, np.int64)]
    for first, size, asked in ledger.times(connection, low):
        if asked > before:
            if asked > now:
                ledger.set_asked(connection, first, now)
            break
        every = np.arange(first, first + size)
        due.append(np.setdiff1d(every, ledger.settled(connection, first, first + size)[0]))
    places = np.concatenate(due)
    _settle_expired(ledger, connection, places, now)
    return places


def _settle_expired(ledger: SqlLedger, connection: Connection, places: Places, now: float) -> None:
    reward = np.full((len(places), ledger.policies.slate_size), ledger.record.problem.unanswered)
    ledger.settle(connection, places, EXPIRED, reward, now)


def discard(
    ledger: SqlLedger, connection: Connection, places: Places, reason: str, now: float
) -> None:
    """Give up on open rounds, or raise if one is settled.

    One whose deadline has passed has expired, whether anybody has written that down or not.
    """
    places = np.unique(places)
    known, states, _ = ledger.settled_at(connection, places)
    fate = dict(zip(known.tolist(), states.tolist(), strict=True))
    deadline = ledger.record.deadline
    if deadline is not None:
        overdue = places[ledger.asked(connection, places) + deadline < now]
        fate = dict.fromkeys(overdue.tolist(), EXPIRED) | fate
    settled = [place for place in places.tolist() if place in fate]
    if settled:
        names = ids_at(connection, ledger.record.study, ledger.record.mark, np.array(settled[:1]))
        raise DecisionsError(
            f"ids must be those of open decisions, but {names[0]!r} {_FATES[fate[settled[0]]]}; "
            "nothing was changed"
        )
    ledger.settle(connection, places, DISCARDED, None, now)
    note(ledger, connection, "discarded", places, None, now, reason)


def note(
    ledger: SqlLedger,
    connection: Connection,
    kind: str,
    places: Places,
    told: Array | None,
    now: float,
    reason: str | None = None,
) -> None:
    """Write down what was not counted; the same again is not written twice."""
    study, numbers = ledger.record.study, places.tolist()
    content = [b""] * len(numbers) if told is None else [row.tobytes() for row in told]
    before = select(audit.c.place, audit.c.rewards).where(
        audit.c.study == study, audit.c.kind == kind, audit.c.place.in_(numbers)
    )
    known = {(row.place, row.rewards) for row in connection.execute(before)}
    rows = [
        {"study": study, "place": p, "kind": kind, "rewards": r, "reason": reason, "time": now}
        for p, r in zip(numbers, content, strict=True)
        if (p, r) not in known
    ]
    if rows:
        connection.execute(insert(audit), rows)


def audited(ledger: SqlLedger, connection: Connection) -> dict[str, int]:
    """How many answers of each kind were written down."""
    counts: Sequence[Any] = connection.execute(
        select(audit.c.kind, func.count())
        .where(audit.c.study == ledger.record.study)
        .group_by(audit.c.kind)
    ).all()
    return {kind: int(n) for kind, n in counts}
