"""Paths, files that are whole or not there, and folders with one writer."""

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeGuard
from uuid import uuid4

from policysieve.errors import InUseError, InvalidArgumentError
from policysieve.stored import StoredFile, local_files, stored_files

try:
    import fcntl
except ImportError:  # on Windows nothing is locked, and left-overs of killed writers stay
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "AnyPath",
    "Paths",
    "are_paths",
    "as_paths",
    "sole_writer",
    "whole_or_nothing",
    "write_whole",
]

AnyPath = str | os.PathLike[str]
Paths = AnyPath | StoredFile | Sequence[AnyPath | StoredFile]

_ONE = (str, os.PathLike, StoredFile)
_LOCK = ".policysieve.lock"
_ADDRESS = re.compile("[a-z][a-z0-9+.-]+://")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HELD = (errno.EAGAIN, errno.EACCES)  # a lock of another; the second is what SMB shares say


def are_paths(value: object) -> TypeGuard[Paths]:
    """Whether a value is one path, or a sequence of nothing but paths."""
    every = [value] if isinstance(value, _ONE) else value
    return isinstance(every, Sequence) and all(isinstance(one, _ONE) for one in every)


def as_paths(paths: Paths) -> list[Path]:
    """One path or several as a list; ``*``, ``?`` and ``[...]`` stand for many, sorted by name.

    Addresses such as ``s3://bucket/logs/*.parquet`` are those of a store, and what is returned for
    them has what formats need of a path.
    """
    if not are_paths(paths):
        raise InvalidArgumentError(
            f"paths must be a path or several paths, got {type(paths).__name__}"
        )
    every = [paths] if isinstance(paths, _ONE) else paths
    if not every:
        raise InvalidArgumentError("paths must name at least one file, got none")
    found: list[Any] = []
    for path in every:
        if isinstance(path, StoredFile):
            found.append(path)
        elif isinstance(path, str) and _ADDRESS.match(path):
            found += stored_files(path)
        else:
            found += local_files(os.fspath(path))
    return found


@contextmanager
def whole_or_nothing(path: AnyPath, *, new: bool = False) -> Iterator[Path]:
    """An empty file in the same folder to write to, which becomes `path` when all went well.

    What was written is on the disk before it gets its name: `path` is what it was before, or all
    of the new, whatever becomes of the process or the machine. If anything goes wrong, what was
    written is removed; what a killed process left is removed by whoever writes to `path` next.
    A file that is replaced passes on its mode, and who has it open goes on reading it (on
    Windows it cannot be replaced then). Of a link the file that it leads to is replaced.

    Parameters
    ----------
    path : path
    new : bool
        Raise `InvalidArgumentError` if there is such a file in the end: another process may have
        written it meanwhile.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent} to write {target.name} into")
    if os.path.lexists(target) and not target.is_file():
        raise InvalidArgumentError(
            f"{os.fspath(path)} must be an ordinary file to be replaced, not a folder or a device"
        )
    _remove_left_overs(target)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    with _partial(target) as partial:
        try:
            if mode is not None:
                partial.chmod(mode | stat.S_IWUSR)  # before there is anything to read in it
            yield partial
            _sync(partial, os.O_RDWR)
            if mode is not None:
                partial.chmod(mode)
            if new:
                _take_name(partial, target)
            else:
                os.replace(partial, target)
        except OSError as error:
            if error.errno not in _NO_ROOM or error.filename is not None:
                raise
            text = f"{error.strerror}, so the file is as it was before"
            raise OSError(error.errno, text, os.fspath(target)) from error
    if os.name == "posix":
        with suppress(OSError):  # not every file system can do that with folders
            _sync(target.parent, os.O_RDONLY)


def write_whole(path: AnyPath, data: bytes) -> None:
    """Write a file so that readers see all of it or what was there before."""
    with whole_or_nothing(path) as partial:
        partial.write_bytes(data)


@contextmanager
def sole_writer(folder: AnyPath) -> Iterator[None]:
    """Let no other process be the sole writer of a folder, which is made if it is not there.

    The lock goes with its process, however that ends. Where there are no such locks, as on Windows
    and on some network drives, nobody is kept out.

    Raises
    ------
    InUseError
        If another one is; the message says which process, and since when.
    """
    place = Path(folder)
    made = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    path = place / _LOCK
    try:
        lock = _locked(path, wait=False)
    except BlockingIOError:
        raise InUseError(
            f"{place} is being written to by another process{_holder(path)}; wait until that has "
            "ended, or name another folder"
        ) from None
    try:
        if lock is not None:
            os.truncate(lock, 0)
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            os.write(lock, f", number {os.getpid()}, since {since}".encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked: who locks it next sees that it is gone
        if lock is not None:
            os.close(lock)
        if made:
            with suppress(OSError):  # it is empty only if nothing was written
                place.rmdir()


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A new empty file beside the target, which is removed in the end.

    Another file is locked for as long as the writer lives. On SMB shares only the descriptor that
    has locked a file can write to it, so what is written to is never locked itself.
    """
    path = target.with_name(f".{target.name}.{uuid4().hex}.partial")
    path_of_lock = path.with_suffix(".lock")
    lock = _locked(path_of_lock, wait=True)
    try:
        path.touch()
        yield path
    finally:
        path.unlink(missing_ok=True)
        path_of_lock.unlink(missing_ok=True)  # last: without it nobody would remove the other
        if lock is not None:
            os.close(lock)


def _locked(path: Path, *, wait: bool) -> int | None:
    """Make a file if it is not there, and lock it: closing what is returned gives it free.

    Without `wait`, BlockingIOError if another has it. None where there are no locks.
    """
    if fcntl is None:
        return None
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_at(handle, path):
                return handle
        except OSError as error:
            os.close(handle)
            if not wait and error.errno in _HELD:
                raise BlockingIOError(error.errno, "locked by another", os.fspath(path)) from error
            return None  # a file system without locks
        os.close(handle)  # removed by another between our two steps


def _is_at(handle: int, path: Path) -> bool:
    """Whether a file that is open still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    """What a process has written into its lock; nothing if it has just gone, or hides it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # on SMB shares what is locked cannot be read
        return ""


def _remove_left_overs(target: Path) -> None:
    """Remove what dead writers of the target have left, whose locks nobody holds."""
    if fcntl is None:
        return
    ours = re.compile(re.escape(f".{target.name}.") + "[0-9a-f]{32}[.]lock")
    names: list[str] = []
    with suppress(PermissionError):  # a folder may be for writing only
        names = os.listdir(target.parent)
    for lock in map(target.with_name, filter(ours.fullmatch, names)):
        with suppress(OSError):  # its writer lives, or it is gone already
            handle = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(handle, lock):  # else a new writer may have it
                    lock.with_suffix(".partial").unlink(missing_ok=True)
                    lock.unlink()
            finally:
                os.close(handle)


def _sync(path: Path, how: int) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_name(partial: Path, target: Path) -> None:
    """Give a file its name if nobody has taken it."""
    try:
        os.link(partial, target)
    except OSError:
        if target.exists():
            raise InvalidArgumentError(
                f"{target} must be a new file, and another process has written it meanwhile; name "
                "another file"
            ) from None
        os.replace(partial, target)  # a file system without hard links
