"""Select against rounds and policies: seconds, memory and network."""

import ctypes
import gc
import pickle
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from policysieve.bench.scale.models import MODELS, Row, fitted
from policysieve.bench.scale.simulating import CONTEXTS, FLOOR, candidates, problem, simulated
from policysieve.evidence import select
from policysieve.scale import RayEngine

__all__ = ["CountingEngine", "growth", "peak_here", "timed", "usual"]

Item = TypeVar("Item")

_REPEATS, _ENOUGH = 5, 60.0  # of what is measured, and seconds after which there are no more
_PAGES = Path("/proc/self/clear_refs")  # of Linux: a 5 forgets the peak of memory
_STATUS = Path("/proc/self/status")


class CountingEngine(RayEngine):
    """Counts the bytes that workers are sent once, and those that come back from them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.moved = 0

    def share(self, value: Any, what: str) -> Any:
        """As an engine has it."""
        self._count(value)
        return super().share(value, what)

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Item],
        *shared: Any,
        name: Callable[[Item], str] = str,
    ) -> Generator[Any, None, None]:
        """As an engine has it."""
        for found in super().map(function, items, *shared, name=name):
            self._count(found)
            yield found

    def _count(self, value: Any) -> None:
        """Add the bytes that a value takes on the way; arrays are not copied for that."""
        buffers: list[pickle.PickleBuffer] = []
        dumps = self.ray.cloudpickle.dumps  # as Ray does
        self.moved += len(dumps(value, protocol=5, buffer_callback=buffers.append))
        self.moved += sum(buffer.raw().nbytes for buffer in buffers)


def growth(folder: Path, *, points: tuple[tuple[int, int], ...], workers: int) -> dict[str, Any]:
    """Measure `select` with a floor at some numbers of rounds and of policies.

    Every second point is held out, in the order in which they are given: models are fitted on the
    others, and foretell it.
    """
    with CountingEngine(workers=workers) as engine:
        logs = {n: engine.log(simulated(engine, folder, n)) for n in sorted({n for n, _ in points})}
        classes = {count: candidates(count) for count in sorted({count for _, count in points})}
        calls = [
            partial(select, logs[n], classes[count], problem(), floor=FLOOR) for n, count in points
        ]
        calls[0]()  # what is compiled and loaded at first is no part of it
        found = _in_turns(engine, calls)
    rows = [
        {"rounds": n, "n_policies": count, "held_out": place % 2 == 1, **row}
        for place, ((n, count), row) in enumerate(zip(points, found, strict=True))
    ]
    return {
        "points": rows,
        "workers": workers,
        "contexts": CONTEXTS,
        "models": {what: fitted(rows, what) for what in MODELS if what in rows[0]},
    }


def _in_turns(engine: CountingEngine, calls: Sequence[Callable[[], Any]]) -> list[Row]:
    """What each call takes: the median of several turns, of fewer where it takes long.

    All have a turn before any has the next: a machine that others share is slower now and then.
    """
    every: list[list[Row]] = [[] for _ in calls]
    for _ in range(_REPEATS):
        for call, rows in zip(calls, every, strict=True):
            if sum(row["seconds"] for row in rows) < _ENOUGH:
                rows.append(_measured(engine, call))
    return [
        {name: float(np.median([row[name] for row in rows])) for name in rows[0]}
        | {"repeats": len(rows)}
        for rows in every
    ]


def _measured(engine: CountingEngine, call: Callable[[], Any]) -> Row:
    _give_back()
    engine.moved, held = 0, peak_here(forget=True)
    seconds, found = timed(call)
    row = {"seconds": seconds, "bytes_moved": engine.moved, "value": found.value}
    del found
    return row if held is None else {**row, "bytes_here": max(1, (peak_here() or 0) - held)}


def peak_here(*, forget: bool = False) -> int | None:
    """Most bytes that this process has held, or holds if the peak is to be forgotten first.

    None where the system does not say.
    """
    try:
        if forget:
            _PAGES.write_text("5")
        (line,) = (one for one in _STATUS.read_text().splitlines() if one.startswith("VmHWM"))
    except OSError:
        return None
    return 1024 * int(line.split()[1])


def _give_back() -> None:
    """Give free memory back to the system, so that what is used again is counted again."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):  # of glibc
        ctypes.CDLL(None).malloc_trim(0)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns."""
    began = perf_counter()
    found = call()
    return perf_counter() - began, found


def usual(call: Callable[[], Any]) -> tuple[float, Any, int]:
    """Median of the seconds that a call takes, what it returns, and how often it was called."""
    every = [timed(call)]
    while len(every) < _REPEATS and sum(seconds for seconds, _ in every) < _ENOUGH:
        every.append(timed(call))
    return float(np.median([seconds for seconds, _ in every])), every[0][1], len(every)
