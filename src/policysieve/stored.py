"""Files in an object store, or in any other file system of pyarrow: named by an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from policysieve.errors import InvalidArgumentError

__all__ = ["StoredFile", "arrow_source", "local_files", "stored_files"]

_WILD = "*?["


class _Stat(NamedTuple):
    st_size: int


@dataclass(frozen=True)
class StoredFile:
    """A file of a file system of pyarrow, with what formats need of a `Path`.

    Attributes
    ----------
    address : str
        As it was named, such as ``s3://bucket/logs/1.parquet``.
    system : pyarrow.fs.FileSystem
    inner : str
        Its path there.
    """

    address: str
    system: Any
    inner: str

    def __str__(self) -> str:
        return self.address

    @property
    def suffix(self) -> str:
        """The ending of its name."""
        return PurePosixPath(self.inner).suffix

    @property
    def _info(self) -> Any:
        try:
            return self.system.get_file_info(self.inner)
        except OSError as error:
            raise OSError(f"{self.address} cannot be looked at: {error}") from error

    def is_file(self) -> bool:
        """Whether it is there."""
        return bool(self._info.is_file)

    def stat(self) -> _Stat:
        """Its size."""
        return _Stat(int(self._info.size or 0))

    def open(self, mode: str = "rb") -> Any:
        """Its bytes, for reading."""
        assert mode == "rb"
        return self.system.open_input_file(self.inner)


@contextmanager
def arrow_source(path: Any) -> Iterator[Any]:
    """What pyarrow reads a file from: its path, or in a store its bytes."""
    if isinstance(path, StoredFile):
        with path.open() as file:
            yield file
    else:
        yield path


def stored_files(address: str) -> list[StoredFile]:
    """The files of an address; in its last part ``*``, ``?`` and ``[...]`` stand for many.

    Many come in the order of their names.

    Raises
    ------
    InvalidArgumentError
        If there is no such kind of store, or it cannot be reached.
    FileNotFoundError
        If nothing has such a name.
    """
    from pyarrow import fs

    base, _, name = address.rpartition("/")
    wild = any(sign in name for sign in _WILD)
    try:
        system, inner = fs.FileSystem.from_uri(base if wild else address)
        if not wild:
            return [StoredFile(address, system, inner)]
        every = system.get_file_info(fs.FileSelector(inner))
    except FileNotFoundError:
        every = []
    except (OSError, ValueError, NotImplementedError) as error:
        raise InvalidArgumentError(
            f"paths must be files, or addresses of a store that pyarrow knows (file://, s3://, "
            f"gs://); got {address}: {error}"
        ) from error
    found = sorted(
        one.path for one in every if one.is_file and fnmatchcase(PurePosixPath(one.path).name, name)
    )
    if not found:
        raise FileNotFoundError(f"no log at {address}")
    return [StoredFile(f"{base}/{PurePosixPath(path).name}", system, path) for path in found]


def local_files(pattern: str) -> list[Path]:
    """The files that a pattern means, in the order of their names; itself if it is no pattern."""
    from glob import glob

    if not any(sign in pattern for sign in _WILD) or Path(pattern).exists():
        return [Path(pattern)]
    found = sorted(glob(pattern))
    if not found:
        raise FileNotFoundError(f"no log at {pattern}")
    return [Path(path) for path in found]
