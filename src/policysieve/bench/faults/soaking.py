"""Memory of learners that run for long: it grows by what they are to keep, and by nothing else."""

import ctypes
import gc
import os
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.bench.faults.tasks import POLICIES, PROBLEM, earned
from policysieve.exploration import Explorer
from policysieve.exploration.learners import LEARNERS

__all__ = ["soak"]

_LOOKS = 20
_WARM = 4  # of them, before which libraries still load and buffers grow


def soak(*, learner: str, rounds: int, batch: int) -> dict[str, Any]:
    """Ask and tell a learner for so many rounds, and follow the memory of the process (Linux).

    Returns
    -------
    dict
        ``looks`` has, at twenty points, the rounds so far, the bytes that the process holds and
        those that the learner is to keep: its log, its open rounds and its evidence.
        ``bytes_kept`` and ``bytes_beyond`` are their growth per round, and that of all else, after
        the first fifth.
    """
    one = _made(learner, rounds)
    rng, looks = np.random.default_rng(1), []
    for look in range(_LOOKS):
        until = rounds * (look + 1) // _LOOKS
        while one.rounds < until:
            decisions = one.ask(
                rng.integers(0, POLICIES.n_contexts, min(batch, until - one.rounds))
            )
            one.tell(decisions, earned(decisions, rng))
        _give_back()
        looks.append({"rounds": one.rounds, "held": _held(), "kept": _kept(one)})
    first, last = looks[_WARM - 1], looks[-1]
    grown = {name: last[name] - first[name] for name in last}
    return {
        "learner": learner,
        "rounds": rounds,
        "batch": batch,
        "looks": looks,
        "bytes_kept": grown["kept"] / grown["rounds"],
        "bytes_beyond": (grown["held"] - grown["kept"]) / grown["rounds"],
    }


def _made(name: str, rounds: int) -> Explorer:
    """A learner that still wants rounds after so many."""
    kind: Any = LEARNERS[name]
    endless: dict[str, Any] = {}
    if name == "Sieve":
        endless = {"goal": "best"}
    elif hasattr(kind, "_find_design"):
        endless = {"explore_rounds": 2 * rounds}
    made: Explorer = kind(POLICIES, PROBLEM, rng=0, **endless)
    return made


def _give_back() -> None:
    """Return free memory to the system, which allocators otherwise hold on to."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def _held() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _kept(learner: Explorer) -> int:
    log, columns = learner.log, learner._ledger._columns
    arrays = [*log._columns.arrays]
    arrays += columns.arrays if columns is not None else ()
    evidence = getattr(learner, "evidence", None)
    return sum(array.nbytes for array in arrays) + (0 if evidence is None else evidence.nbytes)
