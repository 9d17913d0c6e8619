"""What speed is measured with: a stopwatch, and learning as one would first write it."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["best_seconds", "naive_low_variance"]


def best_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """Shortest of several runs, after one that compiles and warms up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


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
