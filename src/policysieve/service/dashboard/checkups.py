"""Whether the rounds of a study can be believed: looked at in the background, now and then.

That takes a pass over all rounds, so one study is looked at after the other, by itself only while
that is quick and only if the rounds have grown by half; otherwise when somebody asks for it.
"""

import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from policysieve.errors import PolicySieveError
from policysieve.health import LogHealth, check_log
from policysieve.health.finding import Finding
from policysieve.service.hosting import Hosted

__all__ = ["Checkup", "Checkups", "concerns"]

_FEWEST, _MOST = 100, 50_000  # rounds that are looked at without being asked
_GROWTH = 1.5
_OWN = (
    "coverage",
    "mean weight",
    "weight over time",
    "frequency of actions",
    "frequency by context",
    "exploration",
    "effective rounds",
)
_KEPT = 50


@dataclass(frozen=True)
class Checkup:
    """What was found.

    Attributes
    ----------
    learnt : int
        Rounds that were looked at, or are.
    time : float
        When, in seconds since 1970.
    health : LogHealth or None
        None while it is not done.
    trouble : str or None
        Why it could not be.
    """

    learnt: int
    time: float
    health: LogHealth | None = None
    trouble: str | None = None


def concerns(health: LogHealth) -> list[Finding]:
    """What in the rounds of a study somebody should look at.

    A study decides with propensities of its own, and leaves actions out on purpose: that some are
    never shown, or that one is for sure, says nothing against it. Weights above 1 do.
    """
    return [
        finding
        for finding in health.findings
        if finding.verdict != "ok"
        and finding.name != "changed world"
        and (finding.name not in _OWN or finding.numbers.get("lower", 0.0) > 1)
    ]


class Checkups:
    """The last checkup of each study.

    Parameters
    ----------
    hosted : Hosted
    """

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._lock = threading.Lock()
        self._found: dict[str, Checkup] = {}
        self._running: set[str] = set()
        self._pool = ThreadPoolExecutor(1, "policysieve-checkup")

    def last(self, name: str) -> Checkup | None:
        """What was found last."""
        return self._found.get(name)

    def is_running(self, name: str) -> bool:
        """Whether somebody is looking, or will as soon as others are done."""
        return name in self._running

    def maybe(self, name: str, learnt: int) -> None:
        """Look if that is quick, and enough has come in since the last time."""
        last = self._found.get(name)
        before = 0 if last is None else last.learnt
        if _FEWEST <= learnt <= _MOST and learnt >= _GROWTH * before:
            self.start(name, learnt)

    def start(self, name: str, learnt: int) -> None:
        """Look now, or as soon as others are done."""
        with self._lock:
            if name in self._running:
                return
            self._running.add(name)
        self._pool.submit(self._look, name, learnt)

    def close(self) -> None:
        """Begin no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look(self, name: str, learnt: int) -> None:
        found = Checkup(learnt, time.time())
        try:
            with tempfile.TemporaryDirectory(prefix="policysieve-") as folder:
                log = self._hosted.study(name).log(Path(folder) / "rounds.parquet")
                found = Checkup(learnt, time.time(), check_log(log))
        except PolicySieveError as error:
            found = Checkup(learnt, time.time(), trouble=str(error))
        except Exception as error:  # whatever it is, pages go on
            found = Checkup(learnt, time.time(), trouble=f"it failed ({type(error).__name__})")
        finally:
            with self._lock:
                self._found.pop(name, None)
                self._found[name] = found
                while len(self._found) > _KEPT:
                    del self._found[next(iter(self._found))]
                self._running.discard(name)
