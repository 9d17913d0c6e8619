"""What was known now and then, for those who watch: no proof needs any of it."""

import json
import time
import zlib
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, insert, select

from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.schema import history

__all__ = ["History", "HistoryPoint", "HistoryWriter", "history_of", "settled_by"]

_GROWTH, _SOONER = 0.05, 0.02  # of the rounds since the last point; less if there is news
_FEWEST = 10  # rounds between two points
_TIME = 0.02  # at most, as a share: what is known takes a while to work out
_LISTED = 1000  # eliminated policies that JSON names

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class HistoryPoint:
    """What was known at one time.

    Attributes
    ----------
    learnt : int
        Rounds behind it.
    time : float
        Seconds since 1970.
    leader : str
        The policy that was recommended, in words.
    value, lower, upper : float or None
        Its estimate and limits; None where there is none.
    suboptimality_bound : float or None
        How much better the best policy could be at most.
    certified : bool
    survivors : int or None
        Policies that could still be the best; None if the learner eliminates none.
    eliminated : int
        How many went out since the point before.
    earned : float
        Rewards, or costs, of all rounds until then.
    lost, lost_lower, lost_upper : float or None
        What exploring had cost, compared with the policy that runs today if the problem names it,
        and else with the best.
    """

    learnt: int
    time: float
    leader: str
    value: float | None
    lower: float | None
    upper: float | None
    suboptimality_bound: float | None
    certified: bool
    survivors: int | None
    eliminated: int
    earned: float
    lost: float | None
    lost_lower: float | None
    lost_upper: float | None

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """How a study got to where it stands, in points that lie a few percent of the rounds apart.

    Attributes
    ----------
    points : tuple of HistoryPoint
        In the order of time.
    eliminated_at : integer array of shape (n_policies,)
        For each policy the place of the first point at which it was out, and -1 as long as it is
        not. Empty if the policies cannot be listed.
    names : sequence of str, or None
        Of the policies, if they have any.
    """

    points: tuple[HistoryPoint, ...]
    eliminated_at: npt.NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def name_of(self, policy: int) -> str:
        """The name of a policy, or its number in words."""
        return f"policy {policy}" if self.names is None else self.names[policy]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; of the policies that are out the last thousand."""
        out = np.flatnonzero(self.eliminated_at >= 0)
        last = out[np.argsort(-self.eliminated_at[out], kind="stable")][:_LISTED]
        return {
            "points": [point.to_dict() for point in self.points],
            "eliminated": [
                {
                    "policy": int(policy),
                    "name": self.name_of(int(policy)),
                    "learnt": self.points[self.eliminated_at[policy]].learnt,
                    "time": self.points[self.eliminated_at[policy]].time,
                }
                for policy in last
            ],
        }


class HistoryWriter:
    """Writes a point when enough has happened since the last one.

    Parameters
    ----------
    ledger : SqlLedger
    """

    def __init__(self, ledger: SqlLedger) -> None:
        self._ledger, self._study = ledger, ledger.record.study
        self._learnt: int | None = None  # at the last point that is known here
        self._version, self._finished = 0, False
        self._rest = 0.0  # until then, by this process's own clock

    def due(self, learning: Learning, *, changes: bool) -> bool:
        """Whether enough was learnt since the last point, or less and there is news.

        There is if what is played has changed since, or `changes` with this.
        """
        if self._learnt is None:
            return learning.learnt >= _FEWEST
        if learning.learnt < self._learnt + _FEWEST:
            return False
        news = changes or learning.version != self._version
        if news and learning.learner.finished != self._finished:
            return True
        enough = self._learnt * (1 + (_SOONER if news else _GROWTH))
        return learning.learnt >= enough and time.monotonic() >= self._rest

    def point(self, connection: Connection, learning: Learning, *, changes: bool) -> str | None:
        """What is known, if it is time to write that down; that takes a while to work out."""
        if not self.due(learning, changes=changes):
            return None
        newest = select(func.max(history.c.learnt)).where(history.c.study == self._study)
        there = connection.execute(newest).scalar() or 0
        if self._learnt is None or there > self._learnt:  # another process has just done it
            self._learnt = there
            if not self.due(learning, changes=changes):
                return None
        start = time.monotonic()
        content = json.dumps(_known(learning), allow_nan=False)
        end = time.monotonic()
        self._rest = end + (end - start) / _TIME
        return content

    def write(self, connection: Connection, learning: Learning, point: str, now: float) -> None:
        """Write down what is known; who calls holds the lease."""
        self._learnt, self._version = learning.learnt, learning.version
        self._finished = learning.learner.finished
        row = {"study": self._study, "learnt": learning.learnt, "time": now, "content": point}
        connection.execute(insert(history), row)


def _known(learning: Learning) -> dict[str, Any]:
    """What is known, as plain values."""
    learner, stands = learning.learner, learning.status()
    best, cost = stands.recommendation, stands.cost
    lost = cost.best if cost.today is None else cost.today
    evidence, n = getattr(learner, "evidence", None), learner.policies.n_policies
    survivors = None if evidence is None else evidence.survivors
    out = None
    if survivors is not None and n is not None:
        out = np.ones(n, np.bool_)
        out[survivors] = False
    return {
        "leader": best.policy_name,
        "value": _finite(best.value),
        "lower": _finite(best.lower),
        "upper": _finite(best.upper),
        "suboptimality_bound": _finite(best.suboptimality_bound),
        "certified": best.certified,
        "survivors": None if survivors is None else len(survivors),
        "earned": cost.earned,
        "lost": _finite(lost.estimate),
        "lost_lower": _finite(lost.lower),
        "lost_upper": _finite(lost.upper),
        "out": _packed(out),
    }


def history_of(ledger: SqlLedger, connection: Connection) -> History:
    """All points of a study."""
    rows = connection.execute(
        select(history.c.learnt, history.c.time, history.c.content)
        .where(history.c.study == ledger.record.study)
        .order_by(history.c.learnt)
    ).all()
    n = ledger.policies.n_policies or 0
    since, points = np.full(n, -1), []
    for number, row in enumerate(rows):
        content = json.loads(row.content)
        new = np.flatnonzero(_unpacked(content.pop("out"), n) & (since < 0))
        since[new] = number
        points.append(
            HistoryPoint(learnt=row.learnt, time=row.time, eliminated=len(new), **content)
        )
    since.flags.writeable = False
    return History(points=tuple(points), eliminated_at=since, names=ledger.policies.names)


def settled_by(ledger: SqlLedger, connection: Connection, time: float) -> int:
    """A number of first rounds that are known to have been settled at a time."""
    learnt = select(func.max(history.c.learnt)).where(
        history.c.study == ledger.record.study, history.c.time <= time
    )
    return int(connection.execute(learnt).scalar() or 0)


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _packed(out: Bits | None) -> str:
    """A bit for each policy, as text."""
    if out is None or not out.any():
        return ""
    return b64encode(zlib.compress(np.packbits(out).tobytes())).decode()


def _unpacked(text: str, n: int) -> Bits:
    if not text:
        return np.zeros(n, np.bool_)
    bits = np.frombuffer(zlib.decompress(b64decode(text)), np.uint8)
    return np.unpackbits(bits, count=n).astype(np.bool_)
