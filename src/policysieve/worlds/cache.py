"""What is kept on disk because it can be fetched or made again: data sets, and trained pools.

Pools are pickles, which run code when they are loaded. They are read from our own cache folder
only; whoever can write to it can run code as whoever loads a pool.
"""

import hashlib
import os
import pickle
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from policysieve.files import write_whole

__all__ = ["cache_folder", "kept_pool"]


def cache_folder() -> Path:
    """Folder of the cache, which may not exist yet.

    It is the environment variable ``POLICYSIEVE_CACHE``, else ``policysieve`` in
    ``XDG_CACHE_HOME`` or in ``~/.cache``.
    """
    chosen = os.environ.get("POLICYSIEVE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "policysieve"


def kept_pool(key: Iterable[bytes], train: Callable[[], list[Any]]) -> list[Any]:
    """The pool of this key, from the cache or newly trained and put there.

    Either way it is unpacked from the same bytes, so that predictions agree to the last bit. A
    file that is missing or broken is made anew; where nothing can be written nothing is kept.

    Parameters
    ----------
    key : iterable of bytes
        All that the training depends on.
    train : callable
        Trains the pool.
    """
    digest = hashlib.sha256()
    for part in key:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    name = f"{digest.hexdigest()}.pickle.zlib"
    with suppress(Exception):  # damage is found by zlib's checksum, but a pickle can raise anything
        return _unpacked(_folder().joinpath(name).read_bytes())
    packed = zlib.compress(pickle.dumps(train(), protocol=5), level=1)
    with suppress(OSError, RuntimeError):  # read-only, full, or no home folder
        _folder().mkdir(parents=True, exist_ok=True)
        write_whole(_folder() / name, packed)
    return _unpacked(packed)


def _folder() -> Path:
    return cache_folder() / "pools"


def _unpacked(packed: bytes) -> list[Any]:
    pool: list[Any] = pickle.loads(zlib.decompress(packed))
    return pool
