"""The tables of a study, their version, and how older ones become this one.

A round is a row nowhere: those that were asked for together are one row of `batches`, packed as
`packing` has it. Their rewards come one by one, and have a row each.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    update,
)

from policysieve.errors import FileFormatError

__all__ = [
    "SCHEMA",
    "STEPS",
    "audit",
    "batches",
    "counters",
    "explorations",
    "history",
    "ids",
    "leases",
    "metadata",
    "migrate",
    "parts",
    "rewards",
    "snapshots",
    "studies",
    "tokens",
]

SCHEMA = 2
"""Version of the tables."""

metadata = MetaData()


def _study(**options: Any) -> Column[Any]:
    """The study that a row belongs to."""
    return Column("study", Integer, ForeignKey("ps_studies.study"), primary_key=True, **options)


_about = Table("ps_schema", metadata, Column("version", Integer, nullable=False))

studies = Table(
    "ps_studies",
    metadata,
    Column("study", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("mark", String(8), nullable=False),  # with which the ids of its rounds begin
    Column("problem", Text, nullable=False),
    Column("learner", String(100), nullable=False),
    Column("settings", Text, nullable=False),
    Column("seed", Text, nullable=False),
    Column("identity", Text, nullable=False),  # of the class
    Column("probes", LargeBinary),  # its answers at the first contexts
    Column("deadline", Float),
    Column("keep_contexts", Boolean, nullable=False),
    Column("package", String(50), nullable=False),
    Column("created", Float, nullable=False),
    Column("archived", Float),
)

# Apart from the rest, because every ask writes it.
counters = Table(
    "ps_counters",
    metadata,
    _study(autoincrement=False),
    Column("rounds", BigInteger, nullable=False),  # that were ever issued
    Column("exploration", Integer, nullable=False),  # the newest
)

explorations = Table(
    "ps_explorations",
    metadata,
    _study(autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("learnt", BigInteger, nullable=False),  # rounds behind it
    Column("fence", BigInteger, nullable=False),  # of the lease under which it was published
    Column("content", LargeBinary, nullable=False),
    Column("published", Float, nullable=False),
)

batches = Table(
    "ps_batches",
    metadata,
    _study(autoincrement=False),
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    Column("size", Integer, nullable=False),
    Column("exploration", Integer, nullable=False),
    Column("asked", Float, nullable=False),
    Column("actions", LargeBinary, nullable=False),
    Column("propensities", LargeBinary, nullable=False),
    Column("contexts", LargeBinary),
    Column("answers", LargeBinary),
    Column("available", LargeBinary),  # a bit for each action, where not all were
    Column("forgotten", LargeBinary),  # a bit for each round whose context was erased
)

# Ids that users gave; those of others say the place themselves.
ids = Table(
    "ps_ids",
    metadata,
    _study(autoincrement=False),
    Column("id", String(200), primary_key=True),
    Column("place", BigInteger, nullable=False),
    UniqueConstraint("study", "place"),
    sqlite_with_rowid=False,
)

rewards = Table(
    "ps_rewards",
    metadata,
    _study(autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("state", SmallInteger, nullable=False),
    Column("rewards", LargeBinary),
    Column("told", Float, nullable=False),
    sqlite_with_rowid=False,
)

audit = Table(
    "ps_audit",
    metadata,
    Column("entry", Integer, primary_key=True),
    Column("study", Integer, ForeignKey("ps_studies.study"), nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("rewards", LargeBinary, nullable=False),  # empty where none were told
    Column("reason", Text),
    Column("time", Float, nullable=False),
    UniqueConstraint("study", "place", "kind", "rewards"),
)

leases = Table(
    "ps_leases",
    metadata,
    _study(autoincrement=False),
    Column("holder", String(100), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("expires", Float, nullable=False),
)

snapshots = Table(
    "ps_snapshots",
    metadata,
    _study(autoincrement=False),
    Column("learnt", BigInteger, nullable=False),
    Column("parts", Integer, nullable=False),
    Column("header", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("made", Float, nullable=False),
)

# What a snapshot only ever adds to.
parts = Table(
    "ps_snapshot_parts",
    metadata,
    _study(autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)


# What was known now and then, for those who watch: a proof needs none of it.
history = Table(
    "ps_history",
    metadata,
    _study(autoincrement=False),
    Column("learnt", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Float, nullable=False),
    Column("content", Text, nullable=False),
)

# Who may call a service; of the secret only its hash is kept.
tokens = Table(
    "ps_tokens",
    metadata,
    Column("token", Integer, primary_key=True),
    Column("label", String(200), nullable=False),
    Column("key", String(32), nullable=False, unique=True),  # the part that is no secret
    Column("hash", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("studies", Text),  # names; all if nothing is said
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("revoked", Float),
)


def _to_2(connection: Connection) -> None:
    """Make the tables that came with a service."""
    metadata.create_all(connection, tables=[history, tokens])


STEPS: dict[int, Callable[[Connection], None]] = {1: _to_2}
"""From each older version to the next: what must happen to its tables."""


def migrate(connection: Connection, where: str) -> None:
    """Make the tables, or bring those of an older release up to date, in one transaction.

    Raises
    ------
    FileFormatError
        If a later release made them.
    """
    if not inspect(connection).has_table(_about.name):
        metadata.create_all(connection)
        if connection.execute(select(_about.c.version)).first() is None:
            connection.execute(insert(_about).values(version=SCHEMA))
        return
    version = connection.execute(select(_about.c.version)).scalar_one()
    if version > SCHEMA:
        raise FileFormatError(
            f"{where} has studies of schema {version}, this release knows schema {SCHEMA}; "
            "install the release that wrote it, or a later one"
        )
    while version < SCHEMA:
        STEPS[version](connection)
        version += 1
        connection.execute(update(_about).values(version=version))
