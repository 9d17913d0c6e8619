"""A study that is played, and the time that its calls take."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select

from policysieve.bench.candidates import PROBLEM, contexts, policies
from policysieve.study import Study
from policysieve.study.schema import batches

__all__ = ["ask_latency", "batched", "million", "single_seconds"]


def _step(study: Study, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Seconds that asking and telling n rounds take."""
    x = contexts(n, rng)
    start = time.perf_counter()
    decisions = study.ask(x)
    asked = time.perf_counter()
    candidates: Any = study.policies
    right = candidates.actions(x, [0])[:, 0, 0] == decisions.actions[:, 0]
    rewards = (rng.random(n) < 0.2 + 0.4 * right).astype(float)
    told = time.perf_counter()
    study.tell(decisions.ids, rewards)
    return asked - start, time.perf_counter() - told


def single_seconds(study: Study, rounds: int, rng: np.random.Generator) -> list[float]:
    """Of each ask and tell of one round."""
    return [sum(_step(study, 1, rng)) for _ in range(rounds)]


def batched(folder: Path, *, rounds: int, size: int = 100) -> dict[str, Any]:
    """Rounds in a second, asked for and told in batches, with a hundred candidates."""
    rng = np.random.default_rng(1)
    with Study.create(_url(folder, "batches"), "study", policies(100), PROBLEM, seed=0) as study:
        _step(study, size, rng)
        seconds = sum(sum(_step(study, size, rng)) for _ in range(rounds // size))
    return {"size": size, "rounds": rounds, "per_second": rounds / seconds}


def ask_latency(folder: Path, *, calls: int, n_policies: int = 1_000) -> dict[str, Any]:
    """Milliseconds of `ask` with one context and many candidates."""
    rng = np.random.default_rng(2)
    made = Study.create(_url(folder, "latency"), "study", policies(n_policies), PROBLEM, seed=0)
    with made as study:
        single_seconds(study, 50, rng)
        seconds = [_step(study, 1, rng)[0] for _ in range(calls)]
    middle, slow = 1e3 * np.percentile(seconds, [50, 99])
    return {"n_policies": n_policies, "calls": calls, "p50": float(middle), "p99": float(slow)}


def million(folder: Path, *, rounds: int, size: int = 1_000) -> dict[str, Any]:
    """Bytes of a round on disk, and seconds until a study of many rounds is open again."""
    rng, candidates = np.random.default_rng(3), policies(100)
    url = _url(folder, "million")
    with Study.create(url, "study", candidates, PROBLEM, seed=0) as study:
        for _ in range(rounds // size):
            _step(study, size, rng)
        before = study.recommend()
        with study._storage.reading() as connection:
            kept = connection.execute(select(func.sum(func.length(batches.c.answers)))).scalar()
    on_disk = sum(path.stat().st_size for path in folder.glob("million.db*"))
    start = time.perf_counter()
    with Study.open(url, "study", candidates) as study:
        same = study.recommend() == before
    return {
        "rounds": rounds,
        "bytes": on_disk - int(kept or 0),
        "answers": int(kept or 0),
        "open_seconds": time.perf_counter() - start,
        "same": same,
    }


def _url(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / name}.db"
