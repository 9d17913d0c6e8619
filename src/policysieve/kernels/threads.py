"""Kernels in threads: those on pieces of an array that do not depend on each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba as nb

__all__ = ["in_pieces"]

_PIECES = 8  # for each thread


def in_pieces(call: Callable[[int, int], None], size: int, least: int = 1) -> None:
    """Call a function for the places first..last-1 of pieces that make up so many.

    Some pieces for each core, so that one which another process has does not hold up the rest; none
    has fewer places than `least`.
    """
    # Asking numba for its threads would start them, after which the process cannot be forked.
    threads = nb.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    pieces = min(size // least, _PIECES * threads)
    if threads == 1 or pieces < 2:
        call(0, size)
        return
    edges = [size * k // pieces for k in range(pieces + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(call, edges[:-1], edges[1:]))
