"""Work that waits for the database is done in threads, and answered in time."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from policysieve.service.problems import ProblemError
from policysieve.service.settings import Settings

__all__ = ["Threads"]

_LOOKING, _LONG = 16, 2  # at one time

Out = TypeVar("Out")


class Threads:
    """Threads for what only looks; what changes a study waits at its desk.

    Parameters
    ----------
    settings : Settings
    """

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.request_seconds
        self._looking, self._long = CapacityLimiter(_LOOKING), CapacityLimiter(_LONG)

    async def run(self, work: Callable[[], Out]) -> Out:
        """What comes out of some work, or raise if that takes too long."""
        try:
            async with asyncio.timeout(self._seconds):
                return await run_sync(work, abandon_on_cancel=True, limiter=self._looking)
        except TimeoutError as error:
            raise ProblemError(504, f"this took longer than {self._seconds:g} seconds") from error

    async def run_long(self, work: Callable[[], Out]) -> Out:
        """The same for what may take as long as it takes, such as writing a long log."""
        return await run_sync(work, limiter=self._long)
