"""What speed is measured with: a stopwatch, other processes, and a naive way to learn."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["best_seconds", "busy_processes", "naive_low_variance", "run_code"]

# Says that it has begun, and ends with the process that started it, however that ends.
_BUSY = """
import os
parent = os.getppid()
print(flush=True)
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


def best_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """Shortest of several runs, after one that compiles and warms up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def run_code(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """What Python code prints in a new process, which has more variables in its environment."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


@contextmanager
def busy_processes() -> Iterator[None]:
    """Others compute meanwhile: one busy process for each two cores."""
    processes: list[subprocess.Popen[str]] = []
    try:
        for _ in range(max(1, (os.cpu_count() or 1) // 2)):
            process = subprocess.Popen(
                [sys.executable, "-c", _BUSY], stdout=subprocess.PIPE, text=True
            )
            processes.append(process)
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def naive_low_variance(
    table: npt.NDArray[Any],
    contexts: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    *,
    n_actions: int,
    explore_rounds: int,
    mixing: float,
    learning_rate: float,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Low-variance exploration in numpy, one round at a time, each of which touches all policies.

    It plays both phases, with single actions and one right label per context.

    Parameters
    ----------
    table : integer array of shape (n_contexts, n_policies)
    contexts : integer array of shape (rounds,)
        The first `explore_rounds` are phase 1, the others phase 2.
    labels : integer array of shape (n_contexts,)

    Returns
    -------
    array of shape (n_policies,)
        Importance-weighted estimates from phase 2.
    """
    n_policies = table.shape[1]
    log_weights = np.zeros(n_policies)
    total = np.zeros(n_policies)
    for x in contexts[:explore_rounds]:
        action = rng.integers(n_actions)
        reward = float(action == labels[x])
        p = np.exp(log_weights - log_weights.max())
        p /= p.sum()
        shows = table[x] == action
        covered = mixing / n_actions + (1 - mixing) * total[shows].sum() / explore_rounds
        log_weights += learning_rate * shows * reward**2 / covered
        total += p
    p_hat = total / explore_rounds
    cumulative = np.cumsum(p_hat)
    value = np.zeros(n_policies)
    for x in contexts[explore_rounds:]:
        if rng.random() < mixing:
            action = rng.integers(n_actions)
        else:
            action = table[x, np.searchsorted(cumulative, rng.random() * cumulative[-1])]
        reward = float(action == labels[x])
        shows = table[x] == action
        propensity = mixing / n_actions + (1 - mixing) * p_hat[shows].sum()
        value += shows * reward / propensity
    return value / (len(contexts) - explore_rounds)
