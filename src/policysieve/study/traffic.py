"""How many rounds and rewards came in each hour."""

from dataclasses import dataclass
from math import floor
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, cast, func, select

from policysieve.study.history import settled_by
from policysieve.study.ledger import TOLD, SqlLedger
from policysieve.study.schema import batches, rewards

__all__ = ["MOST", "Traffic", "traffic_of"]

MOST = 1000  # stretches of time that are counted at once
_LATEST = 300.0  # seconds after which a transaction that wrote an earlier time has ended

_HOLDING = (  # the batch that holds a place
    select(batches.c.first, batches.c.size, batches.c.asked)
    .where(batches.c.study == bindparam("number"), batches.c.first <= bindparam("place"))
    .order_by(batches.c.first.desc())
    .limit(1)
)


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Rounds and rewards of the last stretches of time, the current one last.

    Attributes
    ----------
    every : float
        Length of a stretch in seconds.
    starts : tuple of float
        When each begins, in seconds since 1970: multiples of its length.
    rounds : tuple of int
        Decisions that were made in each.
    rewards : tuple of int
        Rewards that were told in each, whenever their rounds were decided.
    as_of : float
        When they were counted.
    """

    every: float
    starts: tuple[float, ...]
    rounds: tuple[int, ...]
    rewards: tuple[int, ...]
    as_of: float

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("starts", "rounds", "rewards")}
        return {"every": self.every, **lists}


def traffic_of(
    ledger: SqlLedger,
    connection: Connection,
    now: float,
    every: float,
    count: int,
    before: Traffic | None = None,
) -> Traffic:
    """Count the rounds and rewards of the last stretches of time.

    Rounds are numbered in the order of time, so they are counted by looking up where each stretch
    begins. Of the rewards only those are read whose rounds can have been open then. What was
    counted `before` of stretches that were long over is not counted again.
    """
    last = floor(now / every)
    starts = [(last - count + 1 + number) * every for number in range(count)]
    known = _over(before, every)
    new = next((number for number, start in enumerate(starts) if start not in known), count)
    rounds, _ = ledger.counters(connection)
    places, low = [], 0
    for start in starts[new:]:
        low = _first_since(ledger, connection, start, low, rounds)
        places.append(low)
    decided = [end - start for start, end in zip(places, [*places[1:], rounds], strict=True)]
    told = _told(ledger, connection, starts[new], every, count - new) if new < count else []
    return Traffic(
        every=every,
        starts=tuple(starts),
        rounds=(*(known[start][0] for start in starts[:new]), *decided),
        rewards=(*(known[start][1] for start in starts[:new]), *told),
        as_of=now,
    )


def _over(before: Traffic | None, every: float) -> dict[float, tuple[int, int]]:
    """Rounds and rewards of stretches that nothing can come to any more, by their starts."""
    if before is None or before.every != every:
        return {}
    counts = zip(before.starts, before.rounds, before.rewards, strict=True)
    end = before.as_of - _LATEST
    return {start: (asked, told) for start, asked, told in counts if start + every <= end}


def _first_since(
    ledger: SqlLedger, connection: Connection, time: float, low: int, high: int
) -> int:
    """The first round from `low` on that was asked for at a time or later, by bisection."""
    number = ledger.record.study
    while low < high:
        row = connection.execute(_HOLDING, {"number": number, "place": (low + high) // 2}).one()
        if row.asked < time:
            low = row.first + row.size
        else:
            high = row.first
    return low


def _told(
    ledger: SqlLedger, connection: Connection, start: float, every: float, count: int
) -> list[int]:
    stretch: Any = (rewards.c.told - start) / every
    # A cast cuts the rest off in SQLite, whose floor may be missing, and rounds in PostgreSQL.
    whole = cast(stretch if connection.dialect.name == "sqlite" else func.floor(stretch), Integer)
    rows = connection.execute(
        select(whole.label("stretch"), func.count().label("n"))
        .where(
            rewards.c.study == ledger.record.study,
            rewards.c.place >= settled_by(ledger, connection, start),
            rewards.c.told >= start,
            rewards.c.state == TOLD,
        )
        .group_by(whole)
    )
    found = {row.stretch: row.n for row in rows}
    return [found.get(number, 0) for number in range(count)]
