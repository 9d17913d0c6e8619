"""As many threads as matrices are worth."""

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

_LARGE = 1_000_000  # weights of a model, from which on several threads are faster than one


def few_threads(n_weights: int) -> AbstractContextManager[Any]:
    """One thread for products of matrices within, if the model has few weights.

    Threads that wait for each other make small products several times slower, even where nothing
    else runs.
    """
    if n_weights >= _LARGE:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    return ThreadpoolController()  # looks at every library loaded, which takes milliseconds
