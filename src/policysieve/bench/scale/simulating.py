"""A simulated log of any length in Parquet files, and candidates of which one is the best."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.problem import Problem
from policysieve.scale import RayEngine

__all__ = ["CONTEXTS", "FLOOR", "candidates", "problem", "simulated"]

ACTIONS, CONTEXTS = 10, 50
FLOOR = 1 / ACTIONS
_FILE = 1 << 20  # rounds of a file
_GOOD, _BAD = 0.5, 0.02  # chances of a reward


def simulated(engine: RayEngine, folder: Path, rounds: int, seed: int = 0) -> list[Path]:
    """Files of uniformly explored rounds, written by the workers: about two bytes for each.

    All rounds differ: each file has random numbers of its own. Logs of several lengths share what
    they can: files that are there are not written again.
    """
    sizes = [min(_FILE, rounds - start) for start in range(0, rounds, _FILE)]
    paths = [folder / f"{number:05}-{size}.parquet" for number, size in enumerate(sizes)]
    items = [
        (number, size, str(path))
        for number, (size, path) in enumerate(zip(sizes, paths, strict=True))
        if not path.exists()
    ]
    for _ in engine.map(_write, items, engine.share(seed, "the seed")):
        pass
    return paths


def _write(item: tuple[int, int, str], seed: int) -> None:
    number, size, path = item
    rng = np.random.default_rng([seed, number])
    contexts = rng.integers(0, CONTEXTS, size, dtype=np.int64)
    actions = rng.integers(0, ACTIONS, size, dtype=np.int32)
    chances = np.where(actions == _best(contexts), _GOOD, _BAD)
    Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(size, FLOOR),
        rewards=(rng.random(size) < chances).astype(np.float64),
    ).save(path)


def _best(contexts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return (contexts * 7) % ACTIONS


def candidates(count: int, seed: int = 1) -> PolicyTable:
    """Policies that show the best action in more and more of the contexts."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, ACTIONS, (CONTEXTS, count), dtype=np.uint8)
    best = _best(np.arange(CONTEXTS)).astype(np.uint8)
    share = np.linspace(0.1, 0.95, count)
    for row in range(CONTEXTS):  # one row at a time: of many policies there is no second table
        right = rng.random(count) < share
        table[row, right] = best[row]
    return PolicyTable(table, n_actions=ACTIONS)


def problem() -> Problem:
    """What is asked."""
    return Problem(n_actions=ACTIONS, epsilon=0.01, delta=0.05)
