"""The ledger in SQL: rounds are issued, settled, and read in the order of decisions."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, insert, select, update

from policysieve.errors import DecisionsError, FileFormatError
from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.policies import AnyPolicies, Slates
from policysieve.study.ids import ids_at, places_of
from policysieve.study.packing import PACKED, Batch, packed, unpacked
from policysieve.study.record import StudyRecord
from policysieve.study.schema import batches, counters, explorations, rewards, studies
from policysieve.study.statements import Statement

__all__ = ["DISCARDED", "EXPIRED", "LARGEST", "TOLD", "Front", "SqlLedger"]

TOLD, EXPIRED, DISCARDED = 1, 2, 3
"""How a round was settled: its reward is known, is the declared one, or will never be known."""

LARGEST = 1000  # rounds of a batch; more are several
_STRETCH = 4  # batches read at first, then twice as many each time
_MOST = 256
_NEAR = 4  # times as many rounds between the first and the last: all of them are read
_AT_ONCE = 500  # places that are looked up at once
_RECENT, _N_RECENT = 1 << 26, 4096  # bytes and batches in memory whose rewards may come soon
_GAP = 20 * LARGEST  # rounds between two that are not looked up together
_KEPT = 64  # explorations in memory

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_NUMBER: Any = bindparam("number")
_COUNTERS = select(counters.c.rounds, counters.c.exploration).where(counters.c.study == _NUMBER)
_ISSUE = Statement(
    update(counters)
    .where(counters.c.study == _NUMBER)
    .values(rounds=counters.c.rounds + bindparam("n"))
    .returning(
        counters.c.rounds,
        counters.c.exploration,
        select(studies.c.archived).where(studies.c.study == _NUMBER).scalar_subquery(),
    )
)
_INSERT = Statement(insert(batches), [*PACKED, "study"])
_BATCHES = (
    select(batches)
    .where(batches.c.study == _NUMBER, batches.c.first >= bindparam("low"))
    .order_by(batches.c.first)
    .limit(bindparam("most"))
)
_BATCHES_AT = (
    select(batches)
    .where(batches.c.study == _NUMBER, batches.c.first.in_(bindparam("wanted", expanding=True)))
    .order_by(batches.c.first)
)
_TIMES = (
    select(batches.c.first, batches.c.size, batches.c.asked)
    .where(batches.c.study == _NUMBER, batches.c.first.between(bindparam("low"), bindparam("high")))
    .order_by(batches.c.first)
)
_TIMES_FROM = (
    select(batches.c.first, batches.c.size, batches.c.asked)
    .where(batches.c.study == _NUMBER, batches.c.first >= bindparam("low"))
    .order_by(batches.c.first)
    .limit(bindparam("most"))
)
_SETTLED = Statement(
    select(rewards.c.place, rewards.c.state, rewards.c.rewards)
    .where(rewards.c.study == _NUMBER, rewards.c.place.between(bindparam("low"), bindparam("high")))
    .order_by(rewards.c.place)
)
_SETTLED_AT = select(rewards.c.place, rewards.c.state, rewards.c.rewards).where(
    rewards.c.study == _NUMBER, rewards.c.place.in_(bindparam("wanted", expanding=True))
)
_SETTLE = Statement(insert(rewards))
_EXPLORATION = select(explorations.c.content).where(
    explorations.c.study == _NUMBER, explorations.c.version == bindparam("version")
)


class Front(NamedTuple):
    """How many rounds a batch has, and when they were asked for."""

    size: int
    asked: float


class SqlLedger:
    """The rounds of one study in its database.

    Attributes
    ----------
    record : StudyRecord
    policies : PolicyClass
    issued : int
        Rounds that this process knows to have been issued.
    learnt : int
        Rounds that it has learnt from: these need not be in memory any more.
    """

    def __init__(self, record: StudyRecord, policies: AnyPolicies) -> None:
        self.record, self.policies = record, policies
        self._study = {"number": record.study}
        self._explorations: dict[int, Exploration] = {}
        self.issued = 0
        self.learnt = 0
        self._recent: OrderedDict[int, Batch] = OrderedDict()
        self._recent_bytes = 0

    def places(self, connection: Connection, names: list[str]) -> Places:
        """Where the rounds with these ids are, or raise if one is not known."""
        study, mark = self.record.study, self.record.mark
        try:
            return places_of(connection, study, mark, names, self.issued)
        except DecisionsError:  # or another process has issued them
            rounds, _ = self.counters(connection)
            return places_of(connection, study, mark, names, rounds)

    def ids(self, connection: Connection, places: Places) -> list[str]:
        """Ids of rounds."""
        found: list[str] = ids_at(connection, self.record.study, self.record.mark, places).tolist()
        return found

    def counters(self, connection: Connection) -> tuple[int, int]:
        """Rounds that were ever issued, and the newest exploration."""
        rounds, version = connection.execute(_COUNTERS, self._study).one()
        self.issued = max(self.issued, int(rounds))
        return int(rounds), int(version)

    def take_places(self, connection: Connection, n: int) -> tuple[int, int]:
        """Number n new rounds: the first place, and the newest exploration.

        From here to the end of the transaction nobody else numbers rounds of this study.

        Raises
        ------
        ArchivedError
            If the study was archived.
        """
        ((rounds, version, archived),) = _ISSUE.rows(connection, {**self._study, "n": n})
        self.record.check_archived(archived)
        return int(rounds) - n, int(version)

    def issue(self, connection: Connection, batch: Batch, exploration: Exploration) -> None:
        """Write down new rounds, whose places were taken."""
        row = packed(
            self.policies, exploration.consulted, batch, keep_contexts=self.record.keep_contexts
        )
        _INSERT.run(connection, {"study": self.record.study, **row})

    def exploration(self, connection: Connection, version: int) -> Exploration:
        """A published exploration, validated when it is first loaded."""
        found = self._explorations.get(version)
        if found is None:
            name = f"exploration {version} of study {self.record.name!r}"
            file = ExplorationFile.from_bytes(self.content(connection, version), name)
            found = file.exploration(self.policies)
            self.remember(version, found)
        return found

    def content(self, connection: Connection, version: int) -> bytes:
        """The file that a published exploration is."""
        row = connection.execute(_EXPLORATION, {**self._study, "version": version}).first()
        if row is None:
            raise FileFormatError(
                f"exploration {version} of study {self.record.name!r} is not there; restore the "
                "database from a backup"
            )
        return bytes(row.content)

    def known(self, version: int) -> Exploration | None:
        """A published exploration, if it is in memory."""
        return self._explorations.get(version)

    def remember(self, version: int, exploration: Exploration) -> None:
        """Keep an exploration in memory; old ones are let go."""
        kept = {**self._explorations, version: exploration}
        if len(kept) > _KEPT:
            del kept[min(kept)]
        self._explorations = kept  # another thread may be looking at the one before

    def keep(self, batch: Batch) -> None:
        """Keep a batch that was just committed in memory: its rewards may come soon."""
        if self._recent_bytes > _RECENT or len(self._recent) > _N_RECENT:
            self._recent, self._recent_bytes = OrderedDict(), 0
        self._recent[batch.first] = batch
        self._recent_bytes += self._size(batch)
        while self._recent and next(iter(self._recent.values())).end <= self.learnt:
            _, old = self._recent.popitem(last=False)
            self._recent_bytes -= self._size(old)

    def _size(self, batch: Batch) -> int:
        """Bytes of what is large in a batch."""
        size = batch.actions.nbytes + (batch.contexts.nbytes if self.reads_contexts else 0)
        return size + (batch.answers.table.nbytes if isinstance(batch.answers, Slates) else 0)

    def batches(
        self, connection: Connection, low: int, *, contexts: bool, most: int
    ) -> list[Batch]:
        """Batches from a place on, in order."""
        if not contexts and (recent := self._in_memory(low, most)):
            return recent
        rows = connection.execute(_BATCHES, {**self._study, "low": low, "most": most}).all()
        return [self._batch(connection, row, contexts) for row in rows]

    def _in_memory(self, low: int, most: int) -> list[Batch]:
        """Batches from a place on that are in memory, in order."""
        found: list[Batch] = []
        while len(found) < most and (batch := self._recent.get(low)) is not None:
            found.append(batch)
            low = batch.end
        return found

    def all_batches(
        self, connection: Connection, low: int = 0, *, contexts: bool = True
    ) -> Iterator[Batch]:
        """Batches from a place on, in order, some at a time."""
        most = _STRETCH
        while found := self.batches(connection, low, contexts=contexts, most=most):
            yield from found
            low, most = found[-1].end, min(2 * most, _MOST)

    def _batch(self, connection: Connection, row: Any, contexts: bool) -> Batch:
        which = None
        if row.answers is not None:
            which = self.exploration(connection, row.exploration).consulted
        return unpacked(row, self.policies, which, contexts=contexts or self.reads_contexts)

    @property
    def reads_contexts(self) -> bool:
        """Whether the answers of the class are found from contexts, not kept."""
        return bool(self.policies.looked_up) or self.policies.n_policies is None

    def holding(self, connection: Connection, places: Places) -> Iterator[Batch]:
        """The batches that rounds are in, in order, with their contexts."""
        starts = np.unique(self._begun(connection, places)[0])
        for low in range(0, len(starts), _AT_ONCE):
            wanted = {**self._study, "wanted": starts[low : low + _AT_ONCE].tolist()}
            for row in connection.execute(_BATCHES_AT, wanted).all():
                yield self._batch(connection, row, True)

    def last(self, connection: Connection) -> Batch | None:
        """The batch that was issued last; None if there is none."""
        rounds, _ = self.counters(connection)
        return next(self.holding(connection, np.array([rounds - 1]))) if rounds else None

    def asked(self, connection: Connection, places: Places) -> Array:
        """When rounds were asked for."""
        return self._begun(connection, places)[1]

    def _begun(self, connection: Connection, places: Places) -> tuple[Places, Array]:
        """Where the batches of rounds begin, and when they were asked for."""
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        firsts, times = np.empty(len(places), np.int64), np.empty(len(places))
        cuts = np.flatnonzero(np.diff(ordered) > _GAP) + 1  # who are far apart are looked up apart
        for run in np.split(np.arange(len(places)), cuts):
            low, high = max(0, int(ordered[run[0]]) - LARGEST + 1), int(ordered[run[-1]])
            bounds = {**self._study, "low": low, "high": high}
            rows = connection.execute(_TIMES, bounds).all()
            starts = np.array([row.first for row in rows], np.int64)
            at = np.searchsorted(starts, ordered[run], side="right") - 1
            firsts[order[run]] = starts[at]
            times[order[run]] = np.array([row.asked for row in rows])[at]
        return firsts, times

    def times(self, connection: Connection, low: int) -> Iterator[Any]:
        """First place, size and time of the batches from a place on, in order."""
        most = _STRETCH
        while rows := connection.execute(
            _TIMES_FROM, {**self._study, "low": low, "most": most}
        ).all():
            yield from rows
            low, most = rows[-1].first + rows[-1].size, min(2 * most, _MOST)

    def set_asked(self, connection: Connection, first: int, asked: float) -> None:
        """Say that a batch was asked for at another time."""
        self._recent.pop(first, None)
        connection.execute(
            update(batches)
            .where(batches.c.study == self.record.study, batches.c.first == first)
            .values(asked=asked)
        )

    def front(self, connection: Connection, place: int) -> "Front | None":
        """The batch that begins at a place, if there is one."""
        batch = self._recent.get(place)
        if batch is not None:
            return Front(len(batch), batch.asked)
        rows = connection.execute(_TIMES_FROM, {**self._study, "low": place, "most": 1}).all()
        return Front(rows[0].size, rows[0].asked) if rows else None

    def settled(self, connection: Connection, low: int, high: int) -> tuple[Places, Any, Array]:
        """Places in [low, high) that are settled, how, and the rewards; 0 if not known."""
        bounds = {**self._study, "low": low, "high": high - 1}
        return self._arrays(_SETTLED.rows(connection, bounds))

    def settled_at(self, connection: Connection, places: Places) -> tuple[Places, Any, Array]:
        """The same for those of some rounds that are settled, and perhaps others near them."""
        low, high = int(places.min()), int(places.max())
        if high - low < _NEAR * len(places):
            return self.settled(connection, low, high + 1)
        rows: list[Any] = []
        for start in range(0, len(places), _AT_ONCE):
            wanted = {**self._study, "wanted": places[start : start + _AT_ONCE].tolist()}
            rows += connection.execute(_SETTLED_AT, wanted).all()
        return self._arrays(sorted(rows))

    def _arrays(self, rows: Sequence[Any]) -> tuple[Places, Any, Array]:
        places = np.array([row[0] for row in rows], np.int64)
        states = np.array([row[1] for row in rows], np.uint8)
        m = self.policies.slate_size
        nothing = bytes(8 * m)
        told = np.frombuffer(b"".join(row[2] or nothing for row in rows), np.float64)
        return places, states, told.reshape(len(rows), m)

    def settle(
        self, connection: Connection, places: Places, state: int, told: Array | None, now: float
    ) -> None:
        """Settle open rounds."""
        order = np.argsort(places, kind="stable")  # or two who settle the same might wait forever
        content = [None] * len(places) if told is None else [row.tobytes() for row in told[order]]
        rows = [
            {"study": self.record.study, "place": p, "state": state, "rewards": r, "told": now}
            for p, r in zip(places[order].tolist(), content, strict=True)
        ]
        if rows:
            _SETTLE.run_all(connection, rows)
