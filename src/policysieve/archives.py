"""Arrays in ``.npy`` and ``.npz`` files, measured before they are read."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib.format import MAGIC_PREFIX

from policysieve.errors import FileFormatError
from policysieve.files import AnyPath

__all__ = ["array_in", "mapped_array"]

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


def mapped_array(path: AnyPath) -> npt.NDArray[Any]:
    """The array of a ``.npy`` file, which stays on disk until it is looked at."""
    with _reading(path, ".npy array"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise FileFormatError(f"{path} is an archive, not one .npy array")
    return array


def array_in(path: AnyPath, name: str, *, max_bytes: int = 1 << 32) -> npt.NDArray[Any]:
    """An array of a ``.npz`` archive by its name, if it takes no more memory than this."""
    with _reading(path, ".npz archive"), open(path, "rb") as raw:
        if raw.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
            raise ValueError("it is one .npy array")
        return _measured(path, ZipFile(raw), name, max_bytes)


def _measured(path: AnyPath, archive: ZipFile, name: str, max_bytes: int) -> npt.NDArray[Any]:
    """The array, after a look at its header."""
    with archive:
        if f"{name}.npy" not in archive.namelist():
            raise FileFormatError(f"{path} has no array named {name}")
        with archive.open(f"{name}.npy") as file:
            shape, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        size = math.prod(shape) * dtype.itemsize
        if size > max_bytes:
            raise FileFormatError(
                f"{path}: the array {name} takes {size:,} bytes, and {max_bytes:,} are allowed, "
                "because small files can unpack to any size; if you trust it, load it in Python"
            )
        with archive.open(f"{name}.npy") as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
