"""Where data sets are kept on disk, because they can be fetched again."""

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Folder of the cache, which may not exist yet.

    It is the environment variable ``POLICYSIEVE_CACHE``, else ``policysieve`` in
    ``XDG_CACHE_HOME`` or in ``~/.cache``.
    """
    chosen = os.environ.get("POLICYSIEVE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "policysieve"
