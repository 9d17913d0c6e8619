"""What is in a study: decisions by id, open ones, and where it stands."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select

from policysieve.availability import Available
from policysieve.exploration.decisions import Decisions
from policysieve.frames import concatenated
from policysieve.policies.policy_class import names_of_actions
from policysieve.study.ids import ids_at
from policysieve.study.learning import Learning
from policysieve.study.ledger import DISCARDED, EXPIRED, TOLD, SqlLedger
from policysieve.study.packing import Batch, beside_of
from policysieve.study.record import StudyRecord
from policysieve.study.results import Pulse, StudyStatus, StudySummary
from policysieve.study.schema import batches, counters, leases, rewards, studies
from policysieve.study.settling import audited
from policysieve.study.storage import Storage

__all__ = [
    "decided",
    "open_places",
    "pulse_of",
    "record_of",
    "status_of",
    "summaries",
    "summaries_in",
]

Places = npt.NDArray[np.int64]


def open_places(ledger: SqlLedger, connection: Connection, low: int) -> Places:
    """Rounds from a place on that are not settled, in order."""
    rounds, _ = ledger.counters(connection)
    known, _, _ = ledger.settled(connection, low, rounds)
    return np.setdiff1d(np.arange(low, rounds), known)


def decided(ledger: SqlLedger, connection: Connection, places: Places) -> Decisions:
    """Rounds as `ask` returned them.

    Contexts are None if one of them was erased, and hashes if they are not kept.
    """
    record, m = ledger.record, ledger.policies.slate_size
    contexts: list[Any] = []
    said: list[tuple[Available | None, int]] = []
    actions = np.empty((len(places), m), np.int32)
    propensities, asked = np.empty((len(places), m)), np.empty(len(places))
    order = np.argsort(places, kind="stable")
    start = 0
    for batch in ledger.holding(connection, places) if len(places) else ():
        stop = int(np.searchsorted(places[order], batch.end))
        rows, into = places[order[start:stop]] - batch.first, order[start:stop]
        actions[into], propensities[into] = batch.actions[rows], batch.propensities[rows]
        asked[into] = batch.asked
        contexts.append(_kept(batch, rows))
        said.append((None if batch.available is None else batch.available[rows], len(rows)))
        start = stop
    last = None if contexts else ledger.last(connection)
    if last is not None:  # none, but of the kind that others are
        contexts.append(last.contexts[:0])
    if not contexts or any(part is None for part in contexts):
        x: Any = np.full(len(places), None, dtype=object)
    else:
        x = concatenated(contexts)[np.argsort(order)]
    return Decisions(
        contexts=x,
        actions=actions,
        propensities=propensities,
        numbers=places,
        asked=asked,
        issuer=record.mark,
        all_actions=names_of_actions(ledger.policies, record.problem),
        beside=beside_of(said)[np.argsort(order)],
        ids=ids_at(connection, record.study, record.mark, places),
    )


def _kept(batch: Batch, rows: Places) -> Any:
    """Contexts of some rounds of a batch; None if one of them was erased."""
    if batch.forgotten is None:
        return batch.contexts[rows]
    if batch.forgotten[rows].any():
        return None
    return batch.contexts[(np.cumsum(~batch.forgotten) - 1)[rows]]


def _n_forgotten(ledger: SqlLedger, connection: Connection) -> int:
    """How many contexts were erased."""
    rows = connection.execute(
        select(batches.c.forgotten, batches.c.size).where(
            batches.c.study == ledger.record.study, batches.c.forgotten.is_not(None)
        )
    )
    return sum(
        int(np.unpackbits(np.frombuffer(row.forgotten, np.uint8), count=row.size).sum())
        for row in rows
    )


def status_of(
    ledger: SqlLedger, connection: Connection, learning: Learning, now: float
) -> StudyStatus:
    """Where a study stands, after what was learnt."""
    record, stands = ledger.record, learning.status()
    rounds, version = ledger.counters(connection)
    counted = (
        select(rewards.c.state, func.count().label("n"))
        .where(rewards.c.study == record.study)
        .group_by(rewards.c.state)
    )
    states = {row.state: row.n for row in connection.execute(counted)}
    waiting = open_places(ledger, connection, learning.learnt)
    oldest = name = None
    if len(waiting):
        oldest = max(0.0, now - float(ledger.asked(connection, waiting[:1])[0]))
        name = str(ids_at(connection, record.study, record.mark, waiting[:1])[0])
    is_archived = StudyRecord.read(connection, record.name, "").archived is not None
    lease = connection.execute(select(leases).where(leases.c.study == record.study)).first()
    noted = audited(ledger, connection)
    status = StudyStatus(
        name=record.name,
        learner=record.learner,
        problem=record.problem,
        candidates=ledger.policies.size_in_words,
        created=record.created,
        as_of=now,
        archived=is_archived,
        rounds=rounds,
        learnt=learning.learnt,
        open=len(waiting),
        oldest_open=oldest,
        oldest_open_id=name,
        told=states.get(TOLD, 0),
        expired=states.get(EXPIRED, 0),
        discarded=states.get(DISCARDED, 0),
        late=noted.get("late", 0),
        refused=noted.get("refused", 0),
        forgotten=_n_forgotten(ledger, connection),
        deadline=record.deadline,
        exploration=version,
        holder=lease.holder if lease is not None and lease.expires > now else None,
        survivors=stands.survivors,
        finished=stands.finished,
        recommendation=stands.recommendation,
        cost=stands.cost,
        forecast=stands.forecast,
        intervals=stands.intervals,
    )
    if stands.recommendation.rounds or status.held_up is None:
        return status
    # Rounds were told, and a learner does not know of those that wait.
    nothing = f"Nothing is known yet: {status.held_up}"
    return replace(
        status,
        recommendation=replace(stands.recommendation, guarantee=nothing),
        cost=replace(stands.cost, guarantee=nothing),
    )


def pulse_of(ledger: SqlLedger, connection: Connection, learnt: int) -> Pulse:
    """What changes when something happens; only rounds after those learnt from are counted."""
    mine = ledger.record.study
    rounds, version = ledger.counters(connection)
    later = select(func.count()).where(rewards.c.study == mine, rewards.c.place >= learnt)
    archived = select(studies.c.archived).where(studies.c.study == mine)
    return Pulse(
        rounds=rounds,
        settled=learnt + int(connection.execute(later).scalar_one()),
        learnt=learnt,
        exploration=version,
        archived=connection.execute(archived).scalar_one() is not None,
    )


def record_of(url: str, name: str) -> StudyRecord:
    """What a study is, without opening it."""
    storage = Storage(url)
    with storage.reading() as connection:
        record = StudyRecord.read(connection, name, storage.where)
    storage.close()
    return record


def summaries(url: str) -> list[StudySummary]:
    """The studies of a database, by name."""
    storage = Storage(url)
    found = summaries_in(storage)
    storage.close()
    return found


def summaries_in(storage: Storage) -> list[StudySummary]:
    """The same of a database that is open."""
    settled = select(func.count()).where(rewards.c.study == studies.c.study).scalar_subquery()
    with storage.reading() as connection:
        rows = connection.execute(
            select(studies, counters.c.rounds, settled.label("settled"))
            .join(counters, counters.c.study == studies.c.study)
            .order_by(studies.c.name)
        ).all()
    return [
        StudySummary(
            name=row.name,
            learner=row.learner,
            rounds=row.rounds,
            settled=row.settled,
            created=row.created,
            archived=row.archived is not None,
        )
        for row in rows
    ]
