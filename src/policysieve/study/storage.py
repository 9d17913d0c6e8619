"""The database: connections, transactions, its clock, and errors one can read."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, extract, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from policysieve.errors import InvalidArgumentError, MissingExtraError, StorageError
from policysieve.study.schema import migrate
from policysieve.study.statements import Statement

__all__ = ["ConflictError", "Storage"]

_NOW = Statement(select(extract("epoch", func.clock_timestamp())))
_DO_NOT_WAIT = Statement(text("SET LOCAL synchronous_commit TO off"))
_WRITE_SOMETHING = text("SELECT pg_logical_emit_message(true, 'policysieve', '')")
_SYNCHRONOUS = "FULL"  # a commit is on disk when it returns
_CONFLICTS = ("40001", "40P01")  # of PostgreSQL: two who wait for each other, one of them ends
_CACHE = 8_192  # KiB of pages that a connection keeps; the system keeps the file, too
_PATIENCE = 60.0  # seconds to wait for others who write
_INHERITED: list[Connection] = []  # of a parent process, who may be writing: never closed here


class ConflictError(StorageError):
    """Another transaction was in the way; nothing was changed, and the same again goes through."""


class Storage:
    """A database that holds studies.

    SQLite is a file in WAL mode that is synced with every commit; who writes has it alone. Of
    PostgreSQL rows are locked.

    Parameters
    ----------
    url : str
        ``sqlite:///shop.db`` or ``postgresql://user@host/database``.
    create : bool
        Whether a file may be made that is not there.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.url = _checked(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.where = self.url.render_as_string(hide_password=True)
        if self.is_sqlite:
            _check_file(str(self.url.database), create=create)
        self._process = os.getpid()
        self._turn = threading.RLock()  # threads that write one file wait here, not for the file
        self._engine = self._opened()
        self._writers: list[Connection] = []  # of a file the one that writes, once there was one
        weakref.finalize(self, _dispose, self._engine, self._writers, self._process)
        with self.writing() as connection:
            if not self.is_sqlite:  # two that make the tables at once
                connection.execute(text("SELECT pg_advisory_xact_lock(7250001)"))
            migrate(connection, self.where)

    def _opened(self) -> Engine:
        if not self.is_sqlite:
            try:
                return create_engine(self.url, pool_pre_ping=True)
            except ModuleNotFoundError as error:
                raise MissingExtraError("a study on PostgreSQL", "psycopg", "study") from error
        engine = create_engine(self.url, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        return engine

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it is on disk when it ends, or nothing if it raises."""
        engine = self._own()
        if not self.is_sqlite:
            with self._readable_errors(), engine.begin() as connection:
                yield connection
            return
        with self._turn, self._readable_errors():
            if not self._writers:  # making one takes longer than a small transaction
                self._writers.append(engine.connect())
            try:
                with self._writers[0].begin():
                    yield self._writers[0]
            except BaseException:  # whatever state it is in, nobody uses it again
                _close(self._writers)
                raise

    @contextmanager
    def deciding(self) -> Iterator[tuple[Connection, float]]:
        """`writing` for what is done under a lock that many wait for, and the time.

        PostgreSQL holds locks of rows until a commit is on disk, so that one commit after the other
        would wait for it. Here the commit does not wait, and all who have committed then wait
        together: it is on disk when this ends, and nobody was told before.
        """
        if self.is_sqlite:
            with self.writing() as connection:
                yield connection, self.now(connection)
            return
        with self._readable_errors(), self._own().connect() as connection:
            with connection.begin():
                _DO_NOT_WAIT.run(connection, {})
                yield connection, self.now(connection)
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.execute(_WRITE_SOMETHING)  # which waits for all commits before it

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state, and changes nothing."""
        with self._readable_errors(), self._own().connect() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(deferred=True)
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            connection.begin()  # statements past SQLAlchemy's layers would not
            yield connection

    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by the clock of the database, which all who use it share."""
        if self.is_sqlite:  # a file: its clock is the machine's
            return time.time()
        ((now,),) = _NOW.rows(connection, {})
        return float(now)

    def erase_for_good(self, connection: Connection) -> None:
        """Overwrite with zeros what this transaction erases; PostgreSQL does when it vacuums."""
        if self.is_sqlite:
            connection.exec_driver_sql("PRAGMA secure_delete = ON")

    def after_erasing(self) -> None:
        """Let no copy stay in the log of a file."""
        if self.is_sqlite:
            with self._readable_errors(), self._own().connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        with self._turn:
            _close(self._writers)
            self._engine.dispose()

    def _own(self) -> Engine:
        """The engine; in a forked process one without the parent's connections."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            _INHERITED.extend(self._writers)
            self._writers.clear()
            self._turn = threading.RLock()  # another thread of the parent may have it
            self._process = os.getpid()
        return self._engine

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except (DBAPIError, sqlite3.Error) as error:
            said = getattr(error, "orig", error)
            if getattr(said, "sqlstate", None) in _CONFLICTS:
                raise ConflictError(f"{self.where} had others in the way; call again") from error
            raise StorageError(
                f"{self.where} did not answer as it should ({_first_line(said)}); "
                "this call has changed nothing, unless it was cut off while it committed: "
                "then its decisions are among open_decisions, and rewards may be told again"
            ) from error
        except SQLAlchemyError as error:
            raise StorageError(f"{self.where} cannot be used ({_first_line(error)})") from error


def _checked(url: Any) -> URL:
    """The address of a database of a kind that studies can live in, or raise."""
    try:
        found = make_url(os.fspath(url))
    except (ArgumentError, TypeError) as error:
        raise InvalidArgumentError(
            f"url must be that of a database, such as sqlite:///shop.db or "
            f"postgresql://user@host/shop, got {url!r}"
        ) from error
    backend = found.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise InvalidArgumentError(
            f"url must be that of SQLite or PostgreSQL, got one of {backend!r}"
        )
    if backend == "sqlite" and found.database in (None, "", ":memory:"):
        raise InvalidArgumentError(
            "url must name a file, such as sqlite:///shop.db: a study in memory would not survive"
        )
    return found.set(drivername="sqlite" if backend == "sqlite" else "postgresql+psycopg")


def _check_file(name: str, *, create: bool) -> None:
    """Raise if a file is not there, or cannot be made."""
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"no folder {folder} for the database {os.path.basename(name)}; make the folder, or "
            "name a file in one that exists: sqlite:///shop.db is one in the folder where you "
            "are, sqlite:////data/shop.db one in /data"
        )
    if os.path.isdir(name):
        raise InvalidArgumentError(
            f"url must name a file, such as sqlite:///shop.db; {name} is a folder"
        )
    if not create and not os.path.exists(name):
        raise FileNotFoundError(
            f"no studies at {name}: there is no such file in {folder}; make it with policysieve "
            "study create, or Study.create"
        )


def _on_connect(connection: Any, _: Any) -> None:
    """Let us begin transactions ourselves, and let none be lost when the power fails."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
    cursor.execute(f"PRAGMA cache_size = -{_CACHE}")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    deferred = connection.get_execution_options().get("deferred", False)
    raw: Any = connection.connection.driver_connection  # past all layers: every call does this
    raw.execute("BEGIN" if deferred else "BEGIN IMMEDIATE")


def _close(writers: list[Connection]) -> None:
    """Close connections, and forget them."""
    while writers:
        writers.pop().close()


def _dispose(engine: Engine, writers: list[Connection], process: int) -> None:
    """Close connections that nobody uses any more; those of a parent process are not ours."""
    own = process == os.getpid()
    if own:
        _close(writers)
    engine.dispose(close=own)


def _first_line(error: Any) -> str:
    return str(error).strip().split("\n")[0]
