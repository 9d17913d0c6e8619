"""Timing."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["best_seconds"]


def best_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """Shortest of several runs, after one that compiles and warms up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
