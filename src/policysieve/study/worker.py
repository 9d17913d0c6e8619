"""Learning kept up: the lease, the fold, what is published, and snapshots."""

import threading

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
        """What is known in this transaction, published if it is new; None if others learn.

        It counts once it is committed and `take` has it.
        """
        before, alone = self.ready(), self._lease.seems_held
        if not alone and not self._lease.hold(connection, now):
            return None
        self._expire(connection, before, now)
        then = before.advanced(connection, alone=alone)
        if then.is_published(connection) or self._publish(connection, then, now):
            self._note(connection, then, now)
            return then
        return None

    def take(self, then: Learning | None) -> None:
        """Take over what was learnt and committed, and make a snapshot if it is time."""
        if then is None:
            return
        self._learning = then
        self._ledger.remember(then.version, then.learner.exploration)
        if self._snapshots.due(then):
            with self._storage.writing() as connection:
                if self._lease.still_held(connection):
                    self._snapshots.write(connection, then, self._storage.now(connection))

    def learn(self) -> int:
        """Learn from all that is settled, if nobody else does; how many rounds they were."""
        with self.lock:
            start = self.ready().learnt
            while self._learn_some():
                pass
            return self.ready().learnt - start

    def _learn_some(self) -> bool:
        """Learn and publish; the database is locked only while that is written."""
        before = self.ready()
        try:
            with self._storage.writing() as connection:
                now = self._storage.now(connection)
                if not self._lease.hold(connection, now):
                    return False
                self._expire(connection, before, now)
        except (
            IntegrityError,
            ConflictError,
        ):  # another process has settled some of them at this moment
            return True
        with self._storage.reading() as connection:
            then = before.advanced(connection, until=before.learnt + _AT_ONCE)
            if then.learnt == before.learnt and then.is_published(connection):
                return False
        with self._storage.writing() as connection:
            now = self._storage.now(connection)
            if not self._publish(connection, then, now):
                return False
            self._note(connection, then, now)
        self.take(then)
        return True

    def release(self) -> None:
        """Let others have the lease at once."""
        with self.lock:
            if self._lease.fence is not None:
                with self._storage.writing() as connection:
                    self._lease.release(connection)

    def _publish(self, connection: Connection, then: Learning, now: float) -> bool:
        """Publish what should be played, if it is new; False if the lease is another's."""
        fence = self._lease.fence
        if fence is None or not self._lease.still_held(connection):
            self._lease.fence = None
            return False
        if not then.is_published(connection):
            then.publish(connection, fence, now)
        return True

    def _note(self, connection: Connection, then: Learning, now: float) -> None:
        """Write down for those who watch what is known, if it is time."""
        if self._history.due(then) and self._lease.still_held(connection):
            self._history.write(connection, then, now)

    def _expire(self, connection: Connection, before: Learning, now: float) -> None:
        deadline = self._ledger.record.deadline
        if deadline is not None:
            settling.expire(self._ledger, connection, before.learnt, now - deadline, now)
