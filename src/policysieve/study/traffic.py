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
    """

    every: float
    starts: tuple[float, ...]
    rounds: tuple[int, ...]
    rewards: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("starts", "rounds", "rewards")}
        return {"every": self.every, **lists}


def traffic_of(
    ledger: SqlLedger, connection: Connection, now: float, every: float, count: int
) -> Traffic:
    """Count the rounds and rewards of the last stretches of time.

    Rounds are numbered in the order of time, so they are counted by looking up where each stretch
    begins. Of the rewards only those are read whose rounds can have been open then.
    """
    last = floor(now / every)
    starts = [(last - count + 1 + number) * every for number in range(count)]
    rounds, _ = ledger.counters(connection)
    places, low = [], 0
    for start in starts:
        low = _first_since(ledger, connection, start, low, rounds)
        places.append(low)
    counts = zip(places, [*places[1:], rounds], strict=True)
    return Traffic(
        every=every,
        starts=tuple(starts),
        rounds=tuple(end - start for start, end in counts),
        rewards=tuple(_told(ledger, connection, starts[0], every, count)),
    )


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
