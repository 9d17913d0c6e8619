"""Answers of candidates on disk, by content: one small database that many processes share."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import repeated_items
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.files import whole_or_nothing

__all__ = ["AnswerFile"]

_APPLICATION, _VERSION = 0x50534156, 1  # as the file has them, in SQLite's own fields
_AT_ONCE = 500  # keys in one query
_PATIENCE = 60.0  # seconds to wait for other processes that write
_READ_ONLY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class AnswerFile:
    """Slates by keys, in a file of SQLite with a log of writes.

    Many processes may read and write at once. A killed one leaves what it had committed. Every
    slate has a checksum. Who may not write can read.

    Parameters
    ----------
    path : Path
    n_actions, slate_size : int
        Of all slates.
    """

    def __init__(self, path: Path, n_actions: int, slate_size: int) -> None:
        self.path, self.n_actions, self.slate_size = path, n_actions, slate_size

    def read(self, keys: Sequence[bytes]) -> dict[bytes, npt.NDArray[np.int32]]:
        """The slates that are known under some of the keys.

        Raises
        ------
        FileFormatError
            If the file is damaged, or another.
        """
        found: dict[bytes, npt.NDArray[np.int32]] = {}
        if not os.path.exists(self.path):
            return found
        with self._opened() as db:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = db.execute(
                    f"SELECT key, slate, checksum FROM answers WHERE key IN ({marks})", some
                )
                for key, slate, checksum in rows:
                    found[key] = self._checked(key, slate, checksum)
        return found

    def write(self, slates: Mapping[bytes, npt.NDArray[Any]]) -> None:
        """Keep slates under their keys; what is there already stays. All of them or none."""
        rows = []
        for key, slate in slates.items():
            data = np.asarray(slate, "<i4").tobytes()
            rows.append((key, data, _checksum(key, data)))
        with self._opened(make=True) as db, db:
            db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", rows)

    def check_writable(self, new: int) -> None:
        """Raise unless so many new slates could be written; made is an empty file at most.

        Raises
        ------
        InvalidArgumentError
            If the folder or the file cannot be written.
        FileFormatError
            If the file is damaged, or another.
        """
        try:
            with self._opened(make=True) as db:
                db.execute("DELETE FROM answers WHERE 0")  # of nothing; BEGIN asks for no right
        except OSError as error:
            raise InvalidArgumentError(
                f"folder must be one that can be written to unless it has all answers, and {new:,} "
                f"are missing, got {self.path.parent} ({error}); nobody was asked"
            ) from error

    def _checked(self, key: Any, slate: Any, checksum: Any) -> npt.NDArray[np.int32]:
        if not all(isinstance(part, bytes) for part in (key, slate, checksum)) or (
            checksum != _checksum(key, slate) or len(slate) != 4 * self.slate_size
        ):
            raise self._damaged("an answer does not have its checksum")
        actions = np.frombuffer(slate, "<i4")
        if actions.min() < 0 or actions.max() >= self.n_actions or repeated_items(actions[None])[0]:
            raise self._damaged(f"{actions.tolist()} is no slate of {self.n_actions} actions")
        return actions

    def _damaged(self, why: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path} must be a file of answers that policysieve has kept, and whole, but "
            f"{why}; remove it, and the candidates are asked again"
        )

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection of this batch alone: threads and forked processes share none."""
        try:
            if make:
                self._make()
            with closing(self._connection()) as db:
                db.execute("PRAGMA synchronous=NORMAL")
                kind = db.execute("PRAGMA application_id").fetchone()[0]
                version = db.execute("PRAGMA user_version").fetchone()[0]
                if (kind, version) != (_APPLICATION, _VERSION):
                    raise self._damaged("it is another kind of file, or of another version")
                yield db
        except UnicodeError as error:  # in the names of tables
            raise self._damaged(f"SQLite says: {error}") from error
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED:
                raise self._damaged(f"SQLite says: {error}") from error
            raise OSError(f"{self.path} cannot be read or written: {error}") from error

    def _connection(self) -> sqlite3.Connection:
        """A connection; of a file that cannot be written, to what is in it alone."""
        db = sqlite3.connect(self.path, timeout=_PATIENCE)
        try:
            db.execute("PRAGMA application_id")  # reads, for which there must be a log of writes
        except sqlite3.Error as error:
            db.close()
            log = Path(f"{self.path}-wal")
            if _code(error) not in _READ_ONLY or (log.exists() and log.stat().st_size):
                raise
            return sqlite3.connect(f"{self.path.as_uri()}?mode=ro&immutable=1", uri=True)
        return db

    def _make(self) -> None:
        """Write an empty file where there is none; another process may be quicker."""
        if os.path.exists(self.path):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (
            suppress(InvalidArgumentError),  # it was
            whole_or_nothing(self.path, new=True) as partial,
            closing(sqlite3.connect(partial)) as db,
        ):
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"PRAGMA application_id={_APPLICATION}")
            db.execute(f"PRAGMA user_version={_VERSION}")
            db.execute(
                "CREATE TABLE answers (key BLOB PRIMARY KEY, slate BLOB NOT NULL, "
                "checksum BLOB NOT NULL) WITHOUT ROWID"
            )
            db.commit()


def _code(error: sqlite3.Error) -> int:
    """The kind of an error of SQLite."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF


def _checksum(key: bytes, slate: bytes) -> bytes:
    return hashlib.blake2b(key + slate, digest_size=8).digest()
