"""One learner at a time: a row that says who it is, until when, and under which number."""

import os
import secrets
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from policysieve.study.schema import leases

__all__ = ["TTL", "Lease"]

TTL = 30.0  # seconds


class Lease:
    """The right to publish explorations of a study, as one process sees it.

    Times are those of the database. Each holder has a larger number than the one before, its fence:
    who comes back after it lost the lease finds another number there, and publishes nothing. A
    lease that ends in a far future was written by a clock that jumped, and counts as ended; so does
    that of a process which has run on this machine and does not any more.

    Parameters
    ----------
    study : int
    ttl : float
        Seconds for which it holds.
    """

    def __init__(self, study: int, ttl: float = TTL) -> None:
        self._study, self._ttl = study, ttl
        self._holder = f"{_here()} {os.getpid()} {_born(os.getpid())} {secrets.token_hex(4)}"
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
        elif row is not None and self._counts(row, now):
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

    def _counts(self, row: Any, now: float) -> bool:
        """Whether another process has it, and is not known to be gone."""
        return bool(now < row.expires <= now + 2 * self._ttl) and not _is_gone(row.holder)

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


def _here() -> str:
    """The machine, and where on it process numbers mean the same."""
    names = ""
    if sys.platform == "linux":
        with suppress(OSError):
            names = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()[:50]}/{names}".replace(" ", "_")


def _born(process: int) -> str:
    """When a process of this machine was started, in ticks; what is not known is nothing."""
    if sys.platform != "linux":
        return "-"
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return "gone" if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return "gone"


def _is_gone(holder: str) -> bool:
    """Whether a holder is known to have ended: another machine's is never."""
    here, *rest = holder.split()
    if here != _here() or len(rest) != 3 or sys.platform != "linux":
        return False
    return _born(int(rest[0])) != rest[1]
