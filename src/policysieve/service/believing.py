"""What was looked up in the database, and is believed for a while."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

__all__ = ["Believed"]

Value = TypeVar("Value")


class Believed(Generic[Value]):
    """A value that is looked up again before it is too old, by one for all who want it.

    Nobody waits while the value is young enough: it is looked up anew when it has lived for half of
    its time. If it is too old, all wait for the same look.

    Parameters
    ----------
    look : callable
        Finds the value; it may take a while.
    seconds : float
        For which a value is believed, from the beginning of the look on.
    """

    def __init__(self, look: Callable[[], Value], seconds: float) -> None:
        self._look, self._seconds = look, seconds
        self._since, self._values = float("-inf"), list[Value]()
        self._looking: asyncio.Task[None] | None = None

    async def get(self) -> Value:
        """The value; raises what looking raises if there is none that is young enough."""
        age = time.monotonic() - self._since
        if age > self._seconds / 2 and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_again())
            self._looking.add_done_callback(_heard)
        if age > self._seconds:
            assert self._looking is not None
            await asyncio.shield(self._looking)  # who gives up does not take it from the others
        return self._values[0]

    async def _look_again(self) -> None:
        start = time.monotonic()
        self._values = [await run_in_threadpool(self._look)]
        self._since = start


def _heard(task: "asyncio.Task[None]") -> None:
    """Let nothing be logged of a look that failed: who waits hears of it, or the next one does."""
    if not task.cancelled():
        task.exception()
