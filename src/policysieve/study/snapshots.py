"""Snapshots of what was learnt: plain arrays with a checksum, so that opening again is quick.

The past that evidence keeps only grows, so it lies in parts, and a snapshot adds one to them.
"""

import json
from importlib import metadata
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, insert, select

from policysieve.archives import arrays_in
from policysieve.errors import FileFormatError
from policysieve.exploration.designs.saving import is_sealed, sealed
from policysieve.exploration.learners.freezing import frozen, restore
from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.schema import parts, snapshots

__all__ = ["EVERY", "Snapshots"]

EVERY = 20_000  # rounds between snapshots, and no fewer than there are policies
_RELEASE = metadata.version("policysieve")

Arrays = dict[str, npt.NDArray[Any]]


class Made(NamedTuple):
    """A snapshot that is to be written: what has changed since the parts that are there."""

    learnt: int
    header: str
    state: bytes
    part: bytes | None
    n_parts: int  # before it
    whole: bool  # whether it replaces them


class Snapshots:
    """The snapshots of one study.

    Parameters
    ----------
    ledger : SqlLedger
    """

    def __init__(self, ledger: SqlLedger) -> None:
        self._ledger, self._study = ledger, ledger.record.study
        self._every = max(EVERY, ledger.policies.n_policies or 0)
        self._learnt = 0  # at the last one that is known here

    def due(self, learning: Learning) -> bool:
        """Whether enough was learnt since the last one."""
        return learning.learnt - self._learnt >= self._every

    def made(self, connection: Connection, learning: Learning) -> "Made | None":
        """What is to be written, which takes a while to make; None if there is nothing to write."""
        row = self._row(connection)
        header = json.loads(row.header) if row is not None else {"size": 0}
        if row is not None and header["release"] != _RELEASE:
            row, header = None, {"size": 0}
        if row is not None and row.learnt >= learning.learnt:
            self._learnt = int(row.learnt)  # another process was further
            return None
        found = frozen(learning.learner, header["size"])
        self._learnt = learning.learnt
        if found is None:
            return None
        n_parts = 0 if row is None or found.whole else int(row.parts)
        about = {"release": _RELEASE, "size": found.size, "version": learning.version}
        return Made(
            learnt=learning.learnt,
            header=json.dumps(about),
            state=_bytes(found.state),
            part=None if found.past is None else _bytes(found.past),
            n_parts=n_parts,
            whole=found.whole,
        )

    def write(self, connection: Connection, made: "Made", now: float) -> None:
        """Keep what was learnt; who calls has held the lease since it was made."""
        n_parts = made.n_parts
        if made.whole:
            connection.execute(delete(parts).where(parts.c.study == self._study))
        if made.part is not None:
            content = {"study": self._study, "part": n_parts, "content": made.part}
            connection.execute(insert(parts), content)
            n_parts += 1
        connection.execute(delete(snapshots).where(snapshots.c.study == self._study))
        connection.execute(
            insert(snapshots),
            {
                "study": self._study,
                "learnt": made.learnt,
                "parts": n_parts,
                "header": made.header,
                "content": made.state,
                "made": now,
            },
        )

    def latest(self, connection: Connection, start: Learning) -> Learning:
        """What was learnt at the last one; the start if there is none of this release.

        Or if evidence is in shards, which learn it anew.
        """
        row = self._row(connection)
        header = {} if row is None else json.loads(row.header)
        divided = start.learner.policies.holders is not None
        if row is None or header["release"] != _RELEASE or divided:
            return start
        rows = connection.execute(
            select(parts.c.content).where(parts.c.study == self._study).order_by(parts.c.part)
        ).all()
        if len(rows) != row.parts:
            raise FileFormatError(_damaged(self._ledger, f"{len(rows)} parts"))
        then = start.copied()
        try:
            restore(then.learner, self._arrays(row.content), [self._arrays(r[0]) for r in rows])
        except (KeyError, ValueError, IndexError) as error:
            raise FileFormatError(_damaged(self._ledger, str(error))) from error
        self._learnt = row.learnt
        return then.at(row.learnt, header["version"])

    def _row(self, connection: Connection) -> Any:
        return connection.execute(select(snapshots).where(snapshots.c.study == self._study)).first()

    def _arrays(self, content: bytes) -> Arrays:
        name = f"the snapshot of study {self._ledger.record.name!r}"
        if not is_sealed(content):
            raise FileFormatError(_damaged(self._ledger, "its checksum is another"))
        (names,) = arrays_in(name, "names", content=content)
        found = arrays_in(name, *names.tolist(), content=content)
        return dict(zip(names.tolist(), found, strict=True))


def _bytes(arrays: Arrays) -> bytes:
    file = BytesIO()
    content: dict[str, Any] = {"names": np.array(sorted(arrays)), **arrays}
    np.savez_compressed(file, **content)
    return sealed(file.getvalue())


def _damaged(ledger: SqlLedger, why: str) -> str:
    return (
        f"the snapshot of study {ledger.record.name!r} is damaged ({why}); delete it from the "
        "tables ps_snapshots and ps_snapshot_parts, and what was learnt is folded again"
    )
