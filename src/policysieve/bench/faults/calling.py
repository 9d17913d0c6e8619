"""Learners in many threads, interrupted at random, and with a clock that jumps."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from policysieve.bench.faults.tasks import POLICIES, PROBLEM, earned
from policysieve.exploration import Decisions, Explorer
from policysieve.exploration.learners import Sieve, Uniform

__all__ = ["clock_jumps", "interrupts", "threads"]

_YEAR = 365.25 * 24 * 3600
_TOLD_LATE = 3  # batches that a thread leaves open


def threads(*, count: int, seconds: float) -> dict[str, Any]:
    """Ask and tell one learner from many threads at once.

    Each thread leaves a few batches open and tells them later, in another order.

    Returns
    -------
    dict
        How many ``rounds`` were told; what ``errors`` there were; how many rounds were ``lost`` or
        ``doubled``, in the numbers that were handed out or in the log; and in how many the log is
        ``wrong`` about what was shown and told.
    """
    learner = Sieve(POLICIES, PROBLEM, goal="best", rng=0)
    told: list[tuple[Decisions, Any]] = []
    errors: list[str] = []
    end = time.monotonic() + seconds

    def play(seed: int) -> None:
        rng, waiting = np.random.default_rng(seed), list[Decisions]()

        def tell(decisions: Decisions) -> None:
            rewards = earned(decisions, rng)
            learner.tell(decisions, rewards)
            told.append((decisions, rewards))

        try:
            while time.monotonic() < end:
                contexts = rng.integers(0, POLICIES.n_contexts, rng.integers(1, 8))
                waiting.append(learner.ask(contexts))
                if len(waiting) > _TOLD_LATE:
                    tell(waiting.pop(int(rng.integers(len(waiting)))))
            for decisions in waiting:
                tell(decisions)
        except BaseException as error:
            errors.append(f"{type(error).__name__}: {error}")

    with _frequent_switches():
        players = [threading.Thread(target=play, args=(seed,)) for seed in range(count)]
        for player in players:
            player.start()
        for player in players:
            player.join()
    return {"threads": count, "seconds": seconds, "errors": errors, **_compared(learner, told)}


def _compared(learner: Explorer, told: list[tuple[Decisions, Any]]) -> dict[str, int]:
    """What the log of a learner has, against what was told."""
    if not told:
        return {"rounds": 0, "lost": learner.pending, "doubled": len(learner.log), "wrong": 0}
    numbers = np.concatenate([decisions.numbers for decisions, _ in told])
    order, n = np.argsort(numbers, kind="stable"), len(numbers)
    log = learner.log
    columns = {
        "contexts": np.concatenate([decisions.contexts for decisions, _ in told]),
        "actions": np.concatenate([decisions.actions[:, 0] for decisions, _ in told]),
        "propensities": np.concatenate([decisions.propensities[:, 0] for decisions, _ in told]),
        "rewards": np.concatenate([rewards for _, rewards in told]),
    }
    doubled = n - len(np.unique(numbers))
    wrong = np.zeros(min(n, len(log)), dtype=bool)
    for name, values in columns.items():
        kept = np.asarray(getattr(log, name)).reshape(len(log))
        wrong |= kept[: len(wrong)] != values[order][: len(wrong)]
    counts = (len(log), learner.rounds)
    return {
        "rounds": n,
        "lost": max(n - min(counts), 0) + learner.pending,
        "doubled": doubled + max(max(counts) - n, 0),
        "wrong": int(wrong.sum()),
    }


@contextmanager
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def interrupts(*, calls: int, seed: int = 0) -> dict[str, Any]:
    """Interrupt `ask` and `tell` at random times, and compare with a twin that was left alone.

    A call that was interrupted is made again if nothing of it is left. Only the main thread of a
    process can be interrupted, so it has to call this.

    Returns
    -------
    dict
        How many calls were ``interrupted``; how many rounds were ``lost`` or ``doubled``; and how
        many answers were ``different`` from those of the twin.
    """
    learner, twin = (Sieve(POLICIES, PROBLEM, goal="best", rng=0) for _ in range(2))
    rng, result = np.random.default_rng(seed), dict.fromkeys(_INTERRUPT_COUNTS, 0)
    alarm, told, took = _Alarm(), 0, 1e-3
    with alarm:
        for k in range(calls):
            contexts = rng.integers(0, POLICIES.n_contexts, 5)
            expected = twin.ask(contexts)
            rewards = earned(expected, rng)
            twin.tell(expected, rewards)
            started = time.perf_counter()
            if k < _WARM:  # kernels are compiled
                decisions = learner.ask(contexts)
                learner.tell(decisions, rewards)
                took = (time.perf_counter() - started) / 2  # of one call
            else:
                asked = alarm.cut(partial(learner.ask, contexts), rng.uniform(0, took))
                if learner.pending == 0:
                    asked = learner.ask(contexts)
                decisions = learner.open_decisions() if asked is None else asked
                alarm.cut(partial(learner.tell, decisions, rewards), rng.uniform(0, took))
                if learner.pending:
                    learner.tell(decisions, rewards)
            told += len(contexts)
            result["lost"] += max(0, told - learner.rounds)
            result["doubled"] += max(0, learner.rounds - told)
            result["different"] += not np.array_equal(decisions.actions, expected.actions)
    result["interrupted"] = alarm.rung
    result["different"] += _seen(learner) != _seen(twin)
    return {"calls": 2 * calls, **result}


_INTERRUPT_COUNTS = ("interrupted", "lost", "doubled", "different")
_WARM = 30


class _Alarm:
    """Raises `KeyboardInterrupt` within calls, as Ctrl-C does.

    Attributes
    ----------
    rung : int
        How many calls were interrupted.
    """

    def __init__(self) -> None:
        self.rung = 0
        self._armed = False

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, self._ring)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGALRM, self._before)

    def _ring(self, *_: object) -> None:
        if self._armed:
            raise KeyboardInterrupt

    def cut(self, call: Callable[[], Any], seconds: float) -> Any:
        """What a call returns, or None if it was interrupted after so many seconds."""
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            answer = call()
            self._armed = False
        except KeyboardInterrupt:
            self._armed = False
            self.rung += 1
            answer = None
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return answer


def _seen(learner: Explorer) -> list[Any]:
    """All that can be seen of a learner."""
    log = learner.log
    arrays = (log.contexts, log.actions, log.propensities, log.rewards)
    every = learner.exploration.propensities(np.arange(POLICIES.n_contexts))
    plain = learner.recommend().to_dict()
    return [learner.rounds, learner.pending, plain, *(x.tobytes() for x in (*arrays, every))]


def clock_jumps(*, jumps: int) -> dict[str, Any]:
    """Set the clock of the day back and forth by a year between `ask`, `expire` and `tell`.

    Returns
    -------
    dict
        How many ages were ``wrong``, and how many open rounds were ``expired`` too early or
        ``kept`` too long.
    """
    learner = Uniform(POLICIES, PROBLEM, rng=0)
    result = {"jumps": jumps, "wrong": 0, "expired": 0, "kept": 0}
    today = time.time
    for k in range(jumps):
        started = time.monotonic()
        with patch("time.time", lambda k=k: today() + (_YEAR if k % 2 else -_YEAR)):
            decisions = learner.ask([0, 1])
        time.sleep(0.001)
        with patch("time.time", lambda k=k: today() - (_YEAR if k % 2 else -_YEAR)):
            ages, most = decisions.ages, time.monotonic() - started
            result["wrong"] += int(((ages < 0.001) | (ages > most + 0.001)).sum())
            early = len(learner.expire(older_than=3600))
            result["expired"] += early
            if not early:
                learner.tell(decisions[:1], [0.0])
            learner.expire(older_than=0.001)
            result["kept"] += learner.pending
        learner.expire(older_than=0)
    return result
