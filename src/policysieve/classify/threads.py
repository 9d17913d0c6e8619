"""As many threads as matrices are worth."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

_LARGE = 1_000_000  # weights of a model, from which on several threads are faster than one
_limiting = Lock()  # held by whoever has set the limit, which is one of the whole process


@contextmanager
def few_threads(n_weights: int) -> Iterator[None]:
    """One thread for products of matrices within, if the model has few weights.

    Threads that wait for each other make small products several times slower, even where nothing
    else runs. Whoever comes while the limit is set leaves it alone, so that it is lifted by the
    one who set it: if each restored what it found, one that came second and left last would leave
    the process with one thread.
    """
    if n_weights >= _LARGE or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limiting.release()


@lru_cache(maxsize=1)
def _blas() -> Any:
    # Looks at every library loaded, which takes milliseconds.
    return ThreadpoolController().select(user_api="blas")
