"""Arrays in ``.npy`` and ``.npz`` files, measured before they are read."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib.format import MAGIC_PREFIX

from policysieve.errors import FileFormatError
from policysieve.files import AnyPath

__all__ = ["DENSEST", "MAX_BYTES", "arrays_in", "mapped_array", "most_bytes"]

MAX_BYTES = 1 << 32  # 4 GiB
DENSEST = 100
"""Times as large in memory as on disk. Logs are up to 90 times where compression finds next to
nothing new in a round; features that are almost all 0 are more, and need a limit of their own."""

_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@contextmanager
def _reading(path: AnyPath, what: str) -> Iterator[None]:
    """Raise whatever a damaged file raises, which may be anything, as an error that names it."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(
            f"{path} is not a readable {what} ({error}); it may be truncated"
        ) from error


def most_bytes(on_disk: int) -> int:
    """Memory that files of so many bytes may take, unless a user says so: small ones little.

    A small file can unpack to any size, but a large one that is honest must not be refused.
    """
    return max(MAX_BYTES, DENSEST * on_disk)


def mapped_array(path: AnyPath) -> npt.NDArray[Any]:
    """The array of a ``.npy`` file, which stays on disk until it is looked at."""
    with _reading(path, ".npy array"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.memmap):
        array.close()
        raise FileFormatError(f"{path} is an archive, not one .npy array")
    size, told = os.path.getsize(path), array.offset + array.nbytes
    if told != size:
        raise FileFormatError(
            f"{path} has {size:,} bytes, but its header says {told:,}; it is damaged"
        )
    return array


def arrays_in(
    path: AnyPath,
    *names: str,
    content: bytes | None = None,
    max_bytes: int | None = None,
    advice: str = "make it anew",
) -> list[npt.NDArray[Any]]:
    """Arrays of a ``.npz`` archive by their names, if they take no more memory than this.

    Parameters
    ----------
    path : path
    *names : str
    content : bytes, optional
        Of the file, if it was read already.
    max_bytes : int, optional
        For all of them together; by default as many as a file of this size may take.
    advice : str
        What to do if they take more.
    """
    with (
        _reading(path, ".npz archive"),
        open(path, "rb") if content is None else BytesIO(content) as raw,
    ):
        if raw.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
            raise ValueError("it is one .npy array")
        with ZipFile(raw) as archive:
            size = os.path.getsize(path) if content is None else len(content)
            limit = most_bytes(size) if max_bytes is None else max_bytes
            _measure(path, archive, names, limit, advice)
            return [_array(archive, name) for name in names]


def _measure(
    path: AnyPath, archive: ZipFile, names: tuple[str, ...], max_bytes: int, advice: str
) -> None:
    """Raise if the headers of arrays announce too much."""
    size = 0
    for name in names:
        if f"{name}.npy" not in archive.namelist():
            raise FileFormatError(f"{path} has no array named {name}")
        with archive.open(f"{name}.npy") as file:
            shape, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        size += math.prod(shape) * dtype.itemsize
        if size > max_bytes:
            raise FileFormatError(
                f"{path}: its arrays up to {name} take {size:,} bytes, and {max_bytes:,} are "
                f"allowed, because small files can unpack to any size; {advice}"
            )


def _array(archive: ZipFile, name: str) -> npt.NDArray[Any]:
    with archive.open(f"{name}.npy") as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
