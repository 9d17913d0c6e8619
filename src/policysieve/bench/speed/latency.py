"""How long one call of the Sieve takes: the usual one, the slow ones and the slowest."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.speed.playing import KINDS, Played, make_class, play
from policysieve.bench.speed.yardsticks import busy_processes
from policysieve.exploration.learners import Sieve
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = ["latency"]

_EPSILON = 0.01


def latency(
    *, n_policies: int = 1_000, rounds: int = 4_000, threads: tuple[int, ...] = (1, 8)
) -> dict[str, Any]:
    """Milliseconds of `ask` and of `tell` with one context, from one thread and from many.

    Parameters
    ----------
    n_policies : int
    rounds : int
        Of all threads together.
    threads : tuple of int
        How many share one learner.

    Returns
    -------
    dict
        A list ``cases``, alone and next to busy processes. ``ask`` and ``tell`` have ``p50``,
        ``p99`` and ``max``.
    """
    cases = []
    for kind in KINDS:
        world, policies = make_class(kind, n_policies)
        _play_in_threads(world, policies, rounds // 10, 1)  # compiles
        for competing in (False, True):
            with busy_processes() if competing else nullcontext():
                for n_threads in threads:
                    played = _play_in_threads(world, policies, rounds, n_threads)
                    cases.append(
                        {
                            "kind": kind,
                            "threads": n_threads,
                            "competing": competing,
                            "ask": _milliseconds([one.ask_seconds for one in played]),
                            "tell": _milliseconds([one.tell_seconds for one in played]),
                        }
                    )
    return {"n_policies": n_policies, "rounds": rounds, "cases": cases}


def _play_in_threads(
    world: SparseSynthetic, policies: PolicyTable, rounds: int, n_threads: int
) -> list[Played]:
    learner = Sieve(policies, world.problem(epsilon=_EPSILON, delta=0.05), rng=0)
    together = Barrier(n_threads)

    def run(number: int) -> Played:
        together.wait()
        return play(learner, world, rounds // n_threads, batch=1, rng=number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(run, range(n_threads)))


def _milliseconds(seconds: list[npt.NDArray[np.float64]]) -> dict[str, float]:
    together = 1e3 * np.concatenate(seconds)
    middle, slow = np.percentile(together, [50, 99])
    return {"p50": float(middle), "p99": float(slow), "max": float(together.max())}
