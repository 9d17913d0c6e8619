"""Many calls at the same time, in one event loop for all batches of a process.

The loop has a thread of its own: so calls work where another loop is running, as in a notebook, and
clients may keep their connections from batch to batch.
"""

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, NamedTuple

from policysieve.errors import BusyError
from policysieve.policies.calling import Calls, is_async

__all__ = ["CallResult", "Job", "results_of"]

Answer = tuple[Any, BaseException | None]
"""What a function has returned, or why it has not."""

_PAUSE = 0.25  # seconds before a call is repeated the first time; twice as long each time
_LONGEST_PAUSE = 30.0
_PATIENCE = 5.0  # seconds that calls have to end when they are cancelled
_TICK = 0.5  # seconds: not everywhere does a signal end a longer wait


class Job(NamedTuple):
    """A call to make: of a function, with one context."""

    function: Callable[[Any], Any]
    context: Any


class CallResult(NamedTuple):
    """What came of a job.

    Attributes
    ----------
    job : int
        Its place among the jobs.
    answer : object
        What the function returned, if it did at last.
    error : BaseException or None
        Why it did not.
    calls, timeouts : int
        How often it was called, and took too long.
    seconds : float
        Spent in these calls.
    """

    job: int
    answer: Any
    error: BaseException | None
    calls: int
    timeouts: int
    seconds: float


def results_of(jobs: Sequence[Job], calls: Calls) -> Generator[CallResult, None, None]:
    """What comes of the jobs, as soon as it does.

    Whoever closes it early, or is interrupted in it, has the rest cancelled before it returns.

    Raises
    ------
    BusyError
        In the thread of the loop, which would wait for itself.
    """
    if _running is not None and _running[1] is threading.current_thread():
        raise BusyError(
            "an async candidate must not ask a class with Calls, because it would wait for calls "
            "in the loop that it runs in itself; ask in a thread: await asyncio.to_thread("
            "policies.actions, contexts)"
        )
    came: SimpleQueue[CallResult | BaseException | None] = SimpleQueue()
    loop, ended, tasks = _own_loop(), threading.Event(), list[asyncio.Task[None]]()

    async def work() -> None:
        problem = None
        try:
            await _all(jobs, calls, came.put)
        except BaseException as error:
            problem = error
        finally:
            ended.set()
            came.put(problem)  # and nothing more

    def begin() -> None:
        tasks.append(loop.create_task(work()))
        tasks[0].add_done_callback(lambda _: ended.set())  # also if it is cancelled before it works

    def cancel() -> None:
        if not tasks:  # interrupted before it began
            ended.set()
        for task in tasks:
            task.cancel()

    try:
        loop.call_soon_threadsafe(begin)
        while True:
            try:
                result = came.get(timeout=_TICK)
            except Empty:
                continue
            if not isinstance(result, CallResult):
                break
            yield result
        if result is not None:
            raise result
    finally:
        if not ended.is_set():
            loop.call_soon_threadsafe(cancel)
            ended.wait(_PATIENCE)


async def _all(jobs: Sequence[Job], calls: Calls, put: Callable[[CallResult], None]) -> None:
    """Do the jobs, in their order, so many at once."""
    waiting = iter(enumerate(jobs))

    async def work() -> None:
        for place, job in waiting:
            put(await _done(place, job, calls))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(calls.at_once, len(jobs))):
            group.create_task(work())


async def _done(place: int, job: Job, calls: Calls) -> CallResult:
    """Call until there is an answer, or often enough."""
    task = asyncio.current_task()
    assert task is not None
    timeouts, seconds, answer = 0, 0.0, None
    error: BaseException | None = None
    for attempt in range(calls.retries + 1):
        if attempt:
            await asyncio.sleep(min(_PAUSE * 2.0 ** min(attempt - 1, 99), _LONGEST_PAUSE))
        began = perf_counter()
        try:
            async with asyncio.timeout(calls.timeout) as limit:
                answer, error = await _called(job)
        except TimeoutError:
            pass
        if limit.expired():  # whatever it returned, if it took no notice of the cancellation
            error = TimeoutError(f"no answer within {calls.timeout:g} s")
        if task.cancelling():  # and the function took no notice
            raise asyncio.CancelledError
        seconds += perf_counter() - began
        timeouts += isinstance(error, TimeoutError)
        if not isinstance(error, Exception):
            break
    return CallResult(place, answer, error, attempt + 1, timeouts, seconds)


async def _called(job: Job) -> Answer:
    """What a function answers; plain ones are called in a thread, and may give an awaitable."""
    if is_async(job.function):
        return await _awaited(lambda: job.function(job.context))
    answer, error = await _in_thread(job)
    return await _awaited(lambda: answer) if inspect.isawaitable(answer) else (answer, error)


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Answer:
    """What is awaited in the end, or why it is not."""
    task = asyncio.current_task()
    assert task is not None
    try:
        return await call(), None
    except asyncio.CancelledError:
        if task.cancelling():
            raise  # by us
        return None, RuntimeError("the call was cancelled")
    except BaseException as error:  # none may end the loop, which is that of all calls
        return None, error


async def _in_thread(job: Job) -> Answer:
    """What a plain function returns in a thread of its own.

    One that is not waited for any more must not keep the process alive, as threads of a pool do.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def settle(found: Answer) -> None:
        if not future.done():
            future.set_result(found)

    def work() -> None:
        found: Answer
        try:
            found = job.function(job.context), None
        except asyncio.CancelledError:  # of its own doing: nobody has cancelled this
            found = None, RuntimeError("the call was cancelled")
        except BaseException as error:
            found = None, error
        with suppress(RuntimeError):  # the process ends, and the loop is closed
            loop.call_soon_threadsafe(settle, found)

    name = "policysieve candidate"
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    return await future


_lock = threading.Lock()
_running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None


def _own_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, which is started when it is first needed."""
    global _running
    with _lock:
        if _running is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=loop.run_forever, name="policysieve calls", daemon=True
            )
            thread.start()
            _running = loop, thread
        return _running[0]


def _end() -> None:
    """Stop the loop, so that it is not taken apart while it runs."""
    global _running
    if _running is not None:
        loop, thread = _running
        _running = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PATIENCE)
        if not thread.is_alive():
            loop.close()


def _forget() -> None:
    """A forked process has no thread that runs the loop: it starts its own."""
    global _lock, _running
    _lock, _running = threading.Lock(), None


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
