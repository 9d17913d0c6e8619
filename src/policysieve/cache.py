"""Where things are kept that can be fetched or made again; files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["cache_folder", "read_archive", "whole_or_nothing", "write_atomically"]


def cache_folder() -> Path:
    """Folder of the cache, which may not exist yet.

    It is the environment variable ``POLICYSIEVE_CACHE``, else ``policysieve`` in
    ``XDG_CACHE_HOME`` or in ``~/.cache``.
    """
    chosen = os.environ.get("POLICYSIEVE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "policysieve"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see all of it or none, and make its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` if all goes well and disappears if not."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_archive(path: str | os.PathLike[str], *names: str) -> list[Any]:
    """Arrays of a ``.npz`` file by name; `KeyError` if one is missing, `TypeError` for ``.npy``."""
    import numpy as np

    with open(path, "rb") as raw:
        archive = np.load(raw, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise TypeError("it is one .npy array")
        with archive:
            return [archive[name] for name in names]
