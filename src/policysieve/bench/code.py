"""Which code measured: numbers belong to it."""

import hashlib
from functools import cache
from pathlib import Path

import policysieve

__all__ = ["code_version"]

_ROOT = Path(policysieve.__file__).parent
_SHOWING_ROOMS = ("cli", "report")
_SHOWING_FILES = ("page.py", "pages.py", "plots.py")  # of benchmarks


@cache
def code_version(*, measuring_only: bool = False) -> str:
    """The package's version and a short hash of its source, as in ``0.1.0+1a2b3c4d``.

    The same source has the same hash on every machine.

    Parameters
    ----------
    measuring_only : bool
        Leave out what only prints and draws, which changes no measurement.
    """
    digest = hashlib.sha256()
    names = sorted(path.relative_to(_ROOT).as_posix() for path in _ROOT.rglob("*.py"))
    for name in names:
        if not (measuring_only and _only_shows(name)):
            source = (_ROOT / name).read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(source)}\n".encode() + source)
    return f"{policysieve.__version__}+{digest.hexdigest()[:8]}"


def _only_shows(name: str) -> bool:
    room, *inside = name.split("/")
    return room in _SHOWING_ROOMS or (room == "bench" and inside[-1] in _SHOWING_FILES)
