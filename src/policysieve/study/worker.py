"""Learning kept up: the lease, the fold, what is published, and snapshots."""

import threading
from typing import NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from policysieve.study import settling
from policysieve.study.history import HistoryWriter
from policysieve.study.learning import Learning
from policysieve.study.lease import Lease
from policysieve.study.ledger import SqlLedger
from policysieve.study.snapshots import Snapshots
from policysieve.study.storage import ConflictError, Storage

__all__ = ["Worker"]

_AT_ONCE = 50_000  # rounds that are learnt from before something is published
_PATIENCE = 5.0  # seconds to wait for a thread that learns, before the lease is left to run out


class _News(NamedTuple):
    """The file of an exploration that is not published, and a point of the history, if any."""

    exploration: bytes | None
    point: str | None

    @property
    def is_none(self) -> bool:
        return self == (None, None)


class Worker:
    """What one process has learnt of a study, and its right to publish.

    Attributes
    ----------
    lock : RLock
        Held by whoever changes what was learnt.
    start : Learning
        Before any round.
    """

    def __init__(self, storage: Storage, ledger: SqlLedger) -> None:
        self._storage, self._ledger = storage, ledger
        self.lock = threading.RLock()
        self.start = Learning.first(ledger)
        self._lease = Lease(ledger.record.study)
        self._snapshots = Snapshots(ledger)
        self._history = HistoryWriter(ledger)
        self._learning: Learning | None = None

    def ready(self) -> Learning:
        """What was learnt here; the first time from the last snapshot, or the beginning."""
        known = self._learning
        if known is not None:
            return known
        with self.lock:
            if self._learning is None:
                with self._storage.reading() as connection:
                    self._learning = self._snapshots.latest(connection, self.start)
            return self._learning

    def warm(self) -> None:
        """Catch up the first time, so that no transaction has to."""
        if self._learning is None:
            self.caught_up()

    def caught_up(self) -> Learning:
        """What is known after all that is settled; nothing is published."""
        with self.lock:
            before = self.ready()
            with self._storage.reading() as connection:
                self._learning = before.advanced(connection)
            return self._learning

    def advanced(self, connection: Connection, now: float) -> Learning | None:
        """What is known in this transaction, published if it is new.

        None if others learn, or if what was told may wait. It counts once it is committed and
        `take` has it.
        """
        before, alone = self.ready(), self._lease.seems_held
        if alone and before.may_wait(connection, now):
            return None
        if not alone and not self._lease.hold(connection, now):
            return None
        self._expire(connection, before, now)
        then = before.advanced(connection, alone=alone)
        news = self._news(connection, then)
        return then if news.is_none or self._write(connection, then, news, now) else None

    def take(self, then: Learning) -> None:
        """Take over what was learnt and committed, and make a snapshot if it is time."""
        self._learning = then
        self._ledger.learnt = then.learnt
        self._ledger.remember(then.version, then.learner.exploration)
        if not self._snapshots.due(then):
            return
        with self._storage.reading() as connection:
            made = self._snapshots.made(connection, then)
        if made is not None:
            with self._storage.writing() as connection:
                if self._lease.still_held(connection):
                    self._snapshots.write(connection, made, self._storage.now(connection))

    def learn(self) -> int:
        """Learn from all that is settled, if nobody else does; how many rounds they were."""
        with self.lock:
            start = self.ready().learnt
            while self._learn_some():
                pass
            return self.ready().learnt - start

    def _learn_some(self) -> bool:
        """Learn and publish; the database is locked only to write what there is to write.

        Everything that takes a while is worked out before. Nobody else has written between, if the
        lease is still held then.
        """
        before = self.ready()
        if not self._lease.seems_held or self._is_overdue(before):
            try:
                with self._storage.writing() as connection:
                    now = self._storage.now(connection)
                    if not self._lease.hold(connection, now):
                        return False
                    self._expire(connection, before, now)
            except (IntegrityError, ConflictError):  # others settle the same at this moment
                return True
        with self._storage.reading() as connection:
            then = before.advanced(connection, until=before.learnt + _AT_ONCE)
            if then.learnt == before.learnt and then.is_published(connection):
                return False
            news = self._news(connection, then)
        if not news.is_none:
            with self._storage.writing() as connection:
                if not self._write(connection, then, news, self._storage.now(connection)):
                    return False
        self.take(then)
        return True

    def release(self, patience: float = _PATIENCE) -> None:
        """Let others have the lease at once; who still learns then keeps it until it ends."""
        if not self.lock.acquire(timeout=patience):
            return
        try:
            if self._lease.fence is not None:
                with self._storage.writing() as connection:
                    self._lease.release(connection)
        finally:
            self.lock.release()

    def _news(self, connection: Connection, then: Learning) -> "_News":
        """What is to be written of what was learnt; that takes a while to work out."""
        content = None if then.is_published(connection) else then.content()
        changes = content is not None
        return _News(content, self._history.point(connection, then, changes=changes))

    def _write(self, connection: Connection, then: Learning, news: "_News", now: float) -> bool:
        """Publish what should be played, and note what is known; False if the lease is another's.

        Nobody else has written since the news were worked out, if the lease is held.
        """
        fence = self._lease.fence
        if fence is None or not self._lease.still_held(connection):
            self._lease.fence = None
            return False
        if news.exploration is not None:
            then.publish(connection, news.exploration, fence, now)
        if news.point is not None:
            self._history.write(connection, then, news.point, now)
        return True

    def _is_overdue(self, before: Learning) -> bool:
        """Whether the first round that waits has waited past its deadline, or is of the future."""
        if self._ledger.record.deadline is None:
            return False
        with self._storage.reading() as connection:
            return before.is_overdue(connection, self._storage.now(connection))

    def _expire(self, connection: Connection, before: Learning, now: float) -> None:
        deadline = self._ledger.record.deadline
        if deadline is not None:
            settling.expire(self._ledger, connection, before.learnt, now - deadline, now)
