"""Compiled functions on plain arrays: the only place with numba.

Nothing here checks its inputs. Every kernel is tested compiled, interpreted (``kernel.py_func``)
and against a brute-force oracle. Letters are those of docs/maths.md: K actions, m items a slate,
P policies, n rounds.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba as nb
from numba.core.caching import FunctionCache

__all__ = ["before_compiling", "kernel"]


def kernel(function: Callable[..., Any], /) -> Any:
    """Compile a function at its first call, and keep its machine code where there is a place.

    numba looks for that place: the folder ``NUMBA_CACHE_DIR``, the package's own, the user's cache.
    Where none can be written, each process compiles anew, and is told so once. A shared temporary
    folder would do, but is no place for code that is run.

    Other threads run meanwhile. A division by zero is infinite, as numpy has it: a check of each
    would keep loops from being vectorised.
    """
    compiled: Any = nb.njit(nogil=True, error_model="numpy")(function)
    try:
        compiled._cache = _Kept(function)
    except RuntimeError as error:  # no place
        _say_nothing_is_kept(str(error))
    return compiled


@contextmanager
def before_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Within, call a function once before a kernel is compiled, if any is: that takes seconds."""
    _to_tell.append(tell)
    try:
        yield
    finally:
        _to_tell.clear()


_to_tell: list[Callable[[], None]] = []


class _Kept(FunctionCache):
    """numba's cache of machine code, without which a kernel runs as well.

    Whatever is wrong with its files is no reason for a call to fail: numba raises where one is
    damaged, the disk is full or the folder was made read-only. Two processes that keep a kernel for
    other types at once can leave one with the name of the other, so that is looked at, too.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # A kernel holds the code of those it calls, of whose files numba does not know.
        self._cache_file._source_stamp = _source_of_all()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._load(sig, target_context)
        while found is None and _to_tell:
            _to_tell.pop()()
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
            wanted = tuple(getattr(sig, "args", sig))
            return found if found is not None and found.signature.args == wanted else None
        except Exception:
            return None  # compiled anew, and kept in its place

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as first:
            try:
                self.flush()  # an index that cannot be read is no reason either
                super().save_overload(sig, data)
            except Exception:
                _say_nothing_is_kept(str(first))


@cache
def _source_of_all() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


_said: list[str] = []


def _say_nothing_is_kept(why: str) -> None:
    if not _said:
        _said.append(why)
        warnings.warn(
            f"machine code cannot be kept, so each process compiles it anew, which takes a while; "
            f"name a folder that can be written in NUMBA_CACHE_DIR ({why})",
            RuntimeWarning,
            stacklevel=2,
        )
