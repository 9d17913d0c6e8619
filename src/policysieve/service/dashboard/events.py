"""Live: what changes in a study, as server-sent events.

One look a second for each study that somebody watches, however many do.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator

from policysieve.errors import PolicySieveError
from policysieve.service.hosting import Hosted
from policysieve.service.problems import ProblemError
from policysieve.service.threads import Threads
from policysieve.study import Pulse

__all__ = ["Events"]

_EVERY = 1.0  # seconds between looks
_HEARTBEAT = 15.0  # seconds without news, after which a line says that the connection lives
_MOST = 200  # who may listen at one time
_RETRY = 3000  # milliseconds after which a browser comes back


class Events:
    """Who listens to which study.

    Parameters
    ----------
    hosted : Hosted
    threads : Threads
    ending : threading.Event
        Set when the server wants to end: so do all connections.
    """

    def __init__(self, hosted: Hosted, threads: Threads, ending: threading.Event) -> None:
        self._hosted, self._threads, self._ending = hosted, threads, ending
        self._watches: dict[str, _Watch] = {}
        self._listeners = 0

    def admit(self) -> None:
        """Raise if too many listen."""
        if self._ending.is_set() or self._listeners >= _MOST:
            raise ProblemError(
                503,
                f"at most {_MOST} may listen at one time; look at the status now and then instead",
                {"Retry-After": "30"},
            )

    async def listen(self, name: str, last: str | None) -> AsyncIterator[str]:
        """Events of a study: where it stands, and again with every change.

        Parameters
        ----------
        name : str
        last : str or None
            Id of the last event that the listener has had. Each event says all, so who comes back
            is told the newest, unless it is that one.
        """
        self.admit()
        self._listeners += 1
        watch = self._watches.get(name)
        if watch is None:
            watch = self._watches[name] = _Watch(self._hosted, name, self._threads, self._ending)
        watch.listeners += 1
        try:
            yield f"retry: {_RETRY}\n\n"
            while not watch.ended:
                if watch.pulse is not None and _id_of(watch.pulse) != last:
                    last = _id_of(watch.pulse)
                    yield _event(last, watch.pulse)
                elif not await watch.changed(_HEARTBEAT):
                    yield ": still here\n\n"
        finally:
            self._listeners -= 1
            watch.listeners -= 1
            if not watch.listeners:
                watch.end()
                if self._watches.get(name) is watch:
                    del self._watches[name]


class _Watch:
    """One study that somebody watches."""

    def __init__(
        self, hosted: Hosted, name: str, threads: Threads, ending: threading.Event
    ) -> None:
        self._hosted, self._name, self._threads, self._ending = hosted, name, threads, ending
        self.listeners = 0
        self.pulse: Pulse | None = None
        self.ended = False
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._look())

    def end(self) -> None:
        self.ended = True
        self._task.cancel()
        self._tell()

    async def changed(self, patience: float) -> bool:
        """Wait for news; False if there was none for so long."""
        try:
            async with asyncio.timeout(patience):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def _look(self) -> None:
        while not self._ending.is_set():
            try:
                pulse: Pulse | None = await self._threads.run(self._taken)
            except (PolicySieveError, ProblemError):  # a database that is away may come back
                pulse = self.pulse
            if pulse != self.pulse:
                self.pulse = pulse
                self._tell()
            await asyncio.sleep(_EVERY)
        self.ended = True
        self._tell()

    def _taken(self) -> Pulse:
        return self._hosted.study(self._name).pulse()

    def _tell(self) -> None:
        """Wake all who wait; who comes later waits for the next news."""
        self._news.set()
        self._news = asyncio.Event()


def _id_of(pulse: Pulse) -> str:
    return "-".join(str(int(value)) for value in pulse.to_dict().values())


def _event(name: str, pulse: Pulse) -> str:
    return f"id: {name}\nevent: change\ndata: {json.dumps(pulse.to_dict())}\n\n"
