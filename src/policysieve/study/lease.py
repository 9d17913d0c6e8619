"""One learner at a time: a row that says who it is, until when, and under which number."""

import os
import secrets
import socket
import time

from sqlalchemy import Connection, insert, select, update

from policysieve.study.schema import leases

__all__ = ["TTL", "Lease"]

TTL = 30.0  # seconds


class Lease:
    """The right to publish explorations of a study, as one process sees it.

    Times are those of the database. Each holder has a larger number than the one before, its fence:
    who comes back after it lost the lease finds another number there, and publishes nothing. A
    lease that ends in a far future was written by a clock that jumped, and counts as ended.

    Parameters
    ----------
    study : int
    ttl : float
        Seconds for which it holds.
    """

    def __init__(self, study: int, ttl: float = TTL) -> None:
        self._study, self._ttl = study, ttl
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"[-100:]
        self._process = os.getpid()
        self.fence: int | None = None
        self._renew_at = 0.0  # by this process's own clock

    @property
    def seems_held(self) -> bool:
        """Whether it was held so recently that nobody needs to ask again; publishing does."""
        own = self._process == os.getpid()
        return own and self.fence is not None and time.monotonic() < self._renew_at

    def hold(self, connection: Connection, now: float) -> bool:
        """Take or renew it, unless another process has it."""
        if self._process != os.getpid():  # a fork of the holder is somebody else
            self.__init__(self._study, self._ttl)  # type: ignore[misc]
        row = connection.execute(
            select(leases).where(leases.c.study == self._study).with_for_update()
        ).first()
        if row is not None and row.fence == self.fence and row.holder == self._holder:
            fence = row.fence
        elif row is not None and now < row.expires <= now + 2 * self._ttl:
            self.fence = None
            return False
        else:
            fence = 1 if row is None else row.fence + 1
        values = {"holder": self._holder, "fence": fence, "expires": now + self._ttl}
        if row is None:
            connection.execute(insert(leases), {"study": self._study, **values})
        else:
            connection.execute(update(leases).where(leases.c.study == self._study).values(**values))
        self.fence, self._renew_at = fence, time.monotonic() + self._ttl / 3
        return True

    def still_held(self, connection: Connection) -> bool:
        """Whether nobody has taken it since; nobody will before the transaction ends."""
        found = connection.execute(
            select(leases.c.fence).where(leases.c.study == self._study).with_for_update()
        ).scalar()
        return found is not None and found == self.fence

    def release(self, connection: Connection) -> None:
        """Let others have it at once."""
        connection.execute(
            update(leases)
            .where(leases.c.study == self._study, leases.c.holder == self._holder)
            .values(expires=0.0)
        )
        self.fence = None
