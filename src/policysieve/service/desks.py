"""Where requests that change a study wait: those that wait at one time share a transaction."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from policysieve.arrays import told
from policysieve.exploration.decisions import Decisions
from policysieve.service.learning import Learner
from policysieve.service.problems import ProblemError
from policysieve.service.settings import Settings
from policysieve.study import Study, Told
from policysieve.study.deciding import Ask, Asked

__all__ = ["Desk", "Desks"]

_THREADS, _CALLS = 8, 32  # that write, and that call candidates
_MOST = 100  # requests in one transaction
_PATIENCE = 5.0  # seconds to wait at the end for what was begun

In = TypeVar("In")
Out = TypeVar("Out")


class _Lane(Generic[In, Out]):
    """Requests of one kind. While some are served, others gather, and are served together next."""

    def __init__(
        self,
        serve: Callable[[Sequence[In]], Sequence[Out | Exception]],
        threads: ThreadPoolExecutor,
        settings: Settings,
    ) -> None:
        self._serve, self._threads, self._settings = serve, threads, settings
        self._waiting: list[tuple[In, asyncio.Future[Out]]] = []
        self._busy = False

    async def served(self, one: In) -> Out:
        """What comes out for one request, or raise."""
        _check_waiting(len(self._waiting), self._settings)
        future: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((one, future))
        if not self._busy:
            self._next()
        return await future

    def _next(self) -> None:
        """Serve those who still wait, in another thread."""
        waiting = [one for one in self._waiting if not one[1].cancelled()]
        group, self._waiting = waiting[:_MOST], waiting[_MOST:]
        self._busy = bool(group)
        if group:
            loop = asyncio.get_running_loop()
            self._threads.submit(self._work, group, loop)

    def _work(
        self, group: list[tuple[In, "asyncio.Future[Out]"]], loop: asyncio.AbstractEventLoop
    ) -> None:
        found: Sequence[Out | Exception]
        try:
            found = self._serve([one for one, _ in group])
        except Exception as error:
            found = [error] * len(group)
        except BaseException as error:  # a candidate that wants to end the process
            found = [RuntimeError(told(error))] * len(group)
        loop.call_soon_threadsafe(self._deliver, group, found)

    def _deliver(
        self,
        group: list[tuple[In, "asyncio.Future[Out]"]],
        found: Sequence[Out | Exception],
    ) -> None:
        self._next()
        for (_, future), one in zip(group, found, strict=True):
            if future.cancelled():  # whoever asked has waited long enough
                continue
            if isinstance(one, Exception):
                future.set_exception(one)
            else:
                future.set_result(one)


def _check_waiting(n: int, settings: Settings) -> None:
    if n >= settings.waiting:
        raise ProblemError(
            503,
            f"{n:,} requests wait for this study; try again in a moment",
            {"Retry-After": "1"},
        )


class Desk:
    """Asks and tells of one study.

    Candidates that are called may take long, so they are called apart, each request in a thread of
    its own, and only what they said waits with others. So does learning, if it is done here.
    """

    def __init__(
        self,
        study: Study,
        threads: ThreadPoolExecutor,
        callers: ThreadPoolExecutor,
        settings: Settings,
        *,
        learns: bool,
    ) -> None:
        self.study, self._callers, self._settings = study, callers, settings
        self._calling = 0
        self._asks: _Lane[Ask | Asked, Decisions] = _Lane(study.ask_together, threads, settings)
        self._tells: _Lane[tuple[Any, Any], Told] = _Lane(study.tell_together, threads, settings)
        self.learner = Learner(study) if learns else None

    async def ask(self, ask: Ask) -> Decisions:
        """Decide."""
        return await self._in_time(self._ask(ask))

    async def tell(self, ids: Any, rewards: Any) -> Told:
        """Take rewards."""
        found = await self._in_time(self._tells.served((ids, rewards)))
        if self.learner is not None:
            self.learner.told()
        return found

    async def _ask(self, ask: Ask) -> Decisions:
        if not self.study.policies.called:
            return await self._asks.served(ask)
        _check_waiting(self._calling, self._settings)
        self._calling += 1
        try:
            loop = asyncio.get_running_loop()
            asked = await loop.run_in_executor(self._callers, self.study.consulted, ask)
        finally:
            self._calling -= 1
        return await self._asks.served(asked)

    async def _in_time(self, work: Awaitable[Out]) -> Out:
        limit = self._settings.request_seconds
        try:
            async with asyncio.timeout(limit):
                return await work
        except TimeoutError as error:
            raise ProblemError(
                504,
                f"this took longer than {limit:g} seconds, and may still be done; send it again "
                "with the same ids, which does no harm; without ids, look what is open first",
            ) from error


class Desks:
    """The desks of all studies.

    Parameters
    ----------
    settings : Settings
    learns : bool
        Whether this process learns from what is told.
    """

    def __init__(self, settings: Settings, *, learns: bool) -> None:
        self._settings, self._learns = settings, learns
        self._threads = ThreadPoolExecutor(_THREADS, "policysieve-desk")
        self._callers = ThreadPoolExecutor(_CALLS, "policysieve-call")
        self._desks: dict[str, Desk] = {}

    def desk(self, study: Study) -> Desk:
        """That of a study."""
        desk = self._desks.get(study.name)
        if desk is None:
            desk = self._desks[study.name] = Desk(
                study, self._threads, self._callers, self._settings, learns=self._learns
            )
        return desk

    def close(self) -> None:
        """End when what was begun is done, or soon: a candidate may hang, and is not waited for."""
        self._callers.shutdown(wait=False, cancel_futures=True)
        learners = [desk.learner for desk in self._desks.values() if desk.learner is not None]
        for learner in learners:
            learner.end()
        writing = threading.Thread(target=self._threads.shutdown, daemon=True)
        writing.start()
        end = time.monotonic() + _PATIENCE
        writing.join(_PATIENCE)
        for learner in learners:
            learner.join(max(0.0, end - time.monotonic()))
