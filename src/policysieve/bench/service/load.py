"""Clients that cost little: raw HTTP/1.1 over connections that stay open, in one event loop."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policysieve.bench.candidates import contexts

__all__ = ["Load", "closed_loop", "open_loop"]

_PATH = "/v1/studies/study/"
_CONNECTIONS = 64  # of an open loop: more than ever wait at once, unless it is far too slow


@dataclass
class Load:
    """What clients saw.

    Attributes
    ----------
    asked, told : list of float
        Seconds of each call; in an open loop since it was due, whenever it could be sent.
    answered : list of float
        When each ask was answered, by the clock of `time.perf_counter`.
    rounds : int
        That were asked for and told.
    errors : list of str
        Of calls that were not answered as they should be.
    seconds : float
        From the first call to the last answer.
    cpu : float
        Seconds that the clients computed.
    """

    asked: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    rounds: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def per_second(self) -> float:
        """Rounds in a second."""
        return self.rounds / self.seconds

    def add(self, later: "Load") -> None:
        """Take over what clients saw later."""
        for name, value in vars(later).items():
            setattr(self, name, getattr(self, name) + value)

    def milliseconds(self, quantile: float) -> float:
        """Of an ask."""
        return 1e3 * float(np.quantile(self.asked, quantile))

    def by_minute(self, quantile: float) -> list[float]:
        """The same for each minute, the last of which may be cut off."""
        seconds, moments = np.array(self.asked), np.array(self.answered)
        minutes = ((moments - moments.min()) // 60).astype(int)
        parts = (seconds[minutes == minute] for minute in np.unique(minutes))
        return [1e3 * float(np.quantile(part, quantile)) for part in parts]


class _Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: Any = None

    @classmethod
    async def to(cls, port: int) -> "_Connection":
        _, made = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0 or self._waiting is None:
            return
        lines = bytes(self._buffer[:head]).lower().split(b"\r\n")
        sizes = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        end = head + 4 + (sizes[0] if sizes else 0)
        if len(self._buffer) >= end and not self._waiting.done():
            body = bytes(self._buffer[head + 4 : end])
            del self._buffer[:end]
            self._waiting.set_result((int(lines[0].split()[1]), body))

    async def post(self, door: str, content: dict[str, Any]) -> dict[str, Any]:
        """What a call answers, or raise what went wrong."""
        body = json.dumps(content).encode()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(
            b"POST %s%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (_PATH.encode(), door.encode(), len(body)) + body
        )
        status, answer = await self._waiting
        if status != 200:
            raise ConnectionError(f"{door}: {status} {answer[:200].decode(errors='replace')}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        self._transport.close()


def closed_loop(port: int, *, clients: int, seconds: float, size: int = 1, seed: int = 0) -> Load:
    """Clients that ask and tell rounds as fast as they are answered.

    Parameters
    ----------
    port : int
        On 127.0.0.1.
    clients : int
        How many at once, a connection each.
    seconds : float
    size : int
        Rounds of a batch.
    """
    load, rng = Load(), np.random.default_rng(seed)

    async def client(connection: _Connection, end: float) -> None:
        while time.perf_counter() < end:
            start = time.perf_counter()
            await _pair(connection, load, rng, size, start)

    async def run() -> None:
        connections = [await _Connection.to(port) for _ in range(clients)]
        end = time.perf_counter() + seconds
        await asyncio.gather(*(client(one, end) for one in connections))
        for one in connections:
            one.close()

    return _timed(load, run)


def open_loop(
    port: int,
    *,
    rate: float,
    seconds: float,
    seed: int = 0,
    each_second: Callable[[], None] = lambda: None,
) -> Load:
    """People who come whenever they like, `rate` a second, whether others were served or not.

    Parameters
    ----------
    port : int
    rate : float
    seconds : float
    each_second : callable
        Called about once a second on the way.
    """
    load, rng = Load(), np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate, size=max(1, round(rate * seconds))))

    async def visit(free: "asyncio.Queue[_Connection]", start: float) -> None:
        connection = await free.get()
        await _pair(connection, load, rng, 1, start)
        free.put_nowait(connection)

    async def look(end: float) -> None:
        while time.perf_counter() < end:
            await asyncio.sleep(1.0)
            each_second()

    async def run() -> None:
        connections = [await _Connection.to(port) for _ in range(_CONNECTIONS)]
        free: asyncio.Queue[_Connection] = asyncio.Queue()
        for one in connections:
            free.put_nowait(one)
        begin = time.perf_counter()
        looking = asyncio.create_task(look(begin + seconds))
        visits = []
        for moment in due.tolist():
            await asyncio.sleep(max(0.0, begin + moment - time.perf_counter()))
            visits.append(asyncio.create_task(visit(free, begin + moment)))
        await asyncio.gather(*visits)
        await looking
        for one in connections:
            one.close()

    return _timed(load, run)


async def _pair(
    connection: _Connection, load: Load, rng: np.random.Generator, size: int, start: float
) -> None:
    """Ask for rounds and tell their rewards; an ask begins when it was due."""
    try:
        decided = await connection.post("ask", {"contexts": contexts(size, rng).tolist()})
        load.answered.append(time.perf_counter())
        load.asked.append(load.answered[-1] - start)
        rewards = (rng.random(size) < 0.2).astype(float).tolist()
        start = time.perf_counter()
        ids = [one["id"] for one in decided["decisions"]]
        await connection.post("tell", {"ids": ids, "rewards": rewards})
        load.told.append(time.perf_counter() - start)
        load.rounds += size
    except (OSError, ValueError, KeyError) as error:
        load.errors.append(f"{type(error).__name__}: {error}")
        await asyncio.sleep(0.01)  # does not hammer a server that is down


def _timed(load: Load, run: Callable[[], Any]) -> Load:
    start, computed = time.perf_counter(), time.process_time()
    asyncio.run(run())
    load.seconds = time.perf_counter() - start
    load.cpu = time.process_time() - computed
    return load
