"""Servers to measure, each a process of its own on a port of 127.0.0.1."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from policysieve.bench.candidates import PROBLEM, policies
from policysieve.study import Study

__all__ = ["Server", "bare_server", "our_server"]

_PATIENCE = 60.0  # seconds until a server must have started, or ended
_HERE = "policysieve.bench.service"


class Server:
    """A process that answers on a port.

    Attributes
    ----------
    port : int
    started_in : float
        Seconds from the start of the process until it was ready.
    """

    def __init__(
        self, arguments: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.port = _free_port()
        begin = time.perf_counter()
        with log.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *arguments, "--port", str(self.port)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, **(environment or {})},
            )
        try:
            self._wait_until_ready(log)
        except BaseException:
            self.stop()
            raise
        self.started_in = time.perf_counter() - begin

    def _wait_until_ready(self, log: Path) -> None:
        address, end = f"http://127.0.0.1:{self.port}/readyz", time.monotonic() + _PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with urllib.request.urlopen(address, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """End the process as an operator would, and kill it if it does not."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def megabytes(self) -> float | None:
        """Memory that the process holds; None where that is not told."""
        try:
            lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        except OSError:
            return None
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def cpu(self) -> float | None:
        """Seconds that the process has computed; None where that is not told."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            return None
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def our_server(folder: Path, name: str) -> Iterator[Server]:
    """One worker on SQLite, with a hundred candidates, that learns as it goes.

    A file that is there is opened again.
    """
    path = folder / f"{name}.db"
    if not path.exists():
        Study.create(f"sqlite:///{path}", "study", policies(), PROBLEM, seed=0).close()
    arguments = ["policysieve", "serve", "--storage", f"sqlite:///{path}"]
    arguments += ["--policies", "policysieve.bench.candidates:policies", "--quiet"]
    yield from _running(Server(arguments, folder / f"{name}.log"))


@contextmanager
def bare_server(folder: Path, name: str = "bare") -> Iterator[Server]:
    """The bare app."""
    arguments = ["uvicorn", f"{_HERE}.bare:make_bare", "--factory", "--log-level", "warning"]
    arguments += ["--no-access-log"]
    environment = {"BARE_DATABASE": str(folder / f"{name}.db")}
    yield from _running(Server(arguments, folder / f"{name}.log", environment))


def _running(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
