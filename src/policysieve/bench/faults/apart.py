"""Measuring in a Python process of its own, and in forks of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from mmap import mmap
from typing import Any

__all__ = ["Fork", "apart"]

_NUMBERS = 16  # bytes of the counter and the flag; a message of the child follows
_SIZE = 4096


def apart(function: Callable[..., Any], **arguments: Any) -> Any:
    """What a function of a module returns in a new process; arguments and result are JSON."""
    module, name = function.__module__, function.__qualname__
    code = (
        f"import json, sys; from {module} import {name} as measure; "
        "print(json.dumps(measure(**json.loads(sys.argv[1]))))"
    )
    # Python warns of forks of a process with threads, which those of pyarrow are.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(
        [*command, json.dumps(arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module}.{name} failed in its process:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


class Fork:
    """A forked process that calls a function with 0, 1, 2, ... until it is stopped or killed.

    It ends by itself when its parent is gone. What it prints is not shown.

    Parameters
    ----------
    step : callable
        Called with the number of calls so far.
    calls : int, optional
        Stop after so many.
    prepare : callable, optional
        Called once in the new process.
    """

    def __init__(
        self,
        step: Callable[[int], None],
        *,
        calls: int | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._shared = mmap(-1, _SIZE)
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._be_quiet()
                if prepare is not None:
                    prepare()
                while self.calls != calls and not self._shared[8] and os.getppid() == parent:
                    step(self.calls)
                    self._shared[:8] = (self.calls + 1).to_bytes(8, "little")
            except BaseException as error:
                text = f"{type(error).__name__}: {error}".encode()
                self._shared[_NUMBERS : _NUMBERS + len(text[:1000])] = text[:1000]
            finally:
                os._exit(0)

    @property
    def calls(self) -> int:
        """How many calls have returned."""
        return int.from_bytes(self._shared[:8], "little")

    @property
    def error(self) -> str:
        """What ended it, or nothing."""
        return self._shared[_NUMBERS:].rstrip(b"\0").decode(errors="replace")

    def kill(self) -> None:
        """End it at once, wherever it is, and wait until it is gone."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        """Let it finish its call, and wait until it is gone."""
        self._shared[8] = 1
        self.wait()

    def wait(self) -> None:
        """Wait until it is gone."""
        os.waitpid(self._pid, 0)

    @staticmethod
    def _be_quiet() -> None:
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nothing, stream)
