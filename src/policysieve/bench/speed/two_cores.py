"""Whether a second core helps the Sieve, or at least does no harm where another process has it."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from policysieve.bench.speed.playing import make_class, play
from policysieve.bench.speed.yardsticks import busy_processes, run_code
from policysieve.exploration.learners import Sieve

__all__ = ["two_cores"]

_CODE = "import sys; from policysieve.bench.speed.two_cores import _child; _child(sys.argv[1])"


def two_cores(
    *, sizes: Sequence[tuple[int, int]] = ((1_000, 4_000), (100_000, 300)), repeats: int = 2
) -> dict[str, Any]:
    """The same run on all cores and with one thread, alone and next to busy processes.

    They have processes of their own, because numba counts its threads once.

    Parameters
    ----------
    sizes : sequence of pairs of int
        Numbers of policies, of close values, and of rounds.
    repeats : int
        Processes of each, in turn. Each of them runs twice; the quickest run counts.

    Returns
    -------
    dict
        A list ``cases``; ``ratio`` is the time with one thread over the time on all cores.
    """
    cases = []
    for competing in (False, True):
        with busy_processes() if competing else nullcontext():
            pairs = [
                (_seconds(sizes, {}), _seconds(sizes, {"NUMBA_NUM_THREADS": "1"}))
                for _ in range(repeats)
            ]
        every, one = np.min(pairs, axis=0).tolist()
        for number, (n_policies, rounds) in enumerate(sizes):
            cases.append(
                {
                    "n_policies": n_policies,
                    "rounds": rounds,
                    "competing": competing,
                    "seconds": every[number],
                    "one_thread_seconds": one[number],
                    "ratio": one[number] / every[number],
                }
            )
    return {"cases": cases}


def _seconds(sizes: Sequence[tuple[int, int]], environment: dict[str, str]) -> list[float]:
    found: list[float] = json.loads(run_code(_CODE, json.dumps(sizes), environment=environment))
    return found


def _child(sizes: str) -> None:
    """In a process of its own: print the seconds of each size."""
    seconds = []
    for n_policies, rounds in json.loads(sizes):
        world, policies = make_class("close", n_policies)
        problem = world.problem(epsilon=0.01, delta=0.05)
        play(Sieve(policies, problem, rng=0), world, rounds // 10)  # compiles
        runs = [play(Sieve(policies, problem, rng=0), world, rounds) for _ in range(2)]
        seconds.append(min(played.seconds for played in runs))
    print(json.dumps(seconds))
