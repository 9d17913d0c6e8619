"""The shop's own server: asks what to show to who comes, and tells what became of it."""

import heapq
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from people import People

import policysieve as ps
from policysieve.client import RemoteStudy

__all__ = ["Traffic"]

THREADS = 4  # visitors who are served at the same time
TELL_EVERY = 0.2  # seconds: what was heard meanwhile is told together


@dataclass
class Traffic:
    """Visitors at random moments, so many a second on average, until it is stopped.

    Attributes
    ----------
    study : RemoteStudy
    people : People
    rate : float
    visits, clicks, late, failed : int
        What has happened so far. Late clicks came after the deadline, and do not count.
    """

    study: RemoteStudy
    people: People
    rate: float
    visits: int = 0
    clicks: int = 0
    late: int = 0
    failed: int = 0
    _due: list[tuple[float, str, float]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float | None = None) -> None:
        """Send visitors for so long, or until `stop` is called; then tell what was heard."""
        teller = threading.Thread(target=self._tell_what_is_due)
        teller.start()
        moments = np.random.default_rng()
        end = None if seconds is None else time.monotonic() + seconds
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                while not self._stopped.wait(float(moments.exponential(1 / self.rate))):
                    if end is not None and time.monotonic() >= end:
                        break
                    pool.submit(self._serve)
        finally:
            self.stop()
            teller.join()

    def stop(self) -> None:
        """Let nobody in any more."""
        self._stopped.set()

    def _serve(self) -> None:
        """One visitor comes, sees a department, and may click on it some time later."""
        with self._lock:
            visitor = self.people.visitor()
        try:
            decision = self.study.ask([visitor])
        except ps.PolicySieveError:
            with self._lock:
                self.failed += 1
            return
        (department,), (id,) = decision.action_names[0], decision.ids
        with self._lock:
            self.visits += 1
            answer = self.people.answer(visitor, department)
            if answer is not None:
                heapq.heappush(self._due, (time.monotonic() + answer.seconds, id, answer.reward))

    def _tell_what_is_due(self) -> None:
        while not self._stopped.wait(TELL_EVERY):
            self._tell(time.monotonic())

    def _tell(self, now: float) -> None:
        with self._lock:
            heard = []
            while self._due and self._due[0][0] <= now:
                heard.append(heapq.heappop(self._due))
        if not heard:
            return
        try:
            told = self.study.tell([id for _, id, _ in heard], [reward for _, _, reward in heard])
        except ps.PolicySieveError:
            with self._lock:
                self.failed += 1
                for one in heard:  # telling again is safe
                    heapq.heappush(self._due, one)
            return
        with self._lock:
            self.late += len(told.late)
            self.clicks += sum(reward > 0 for _, id, reward in heard if id not in told.late)
