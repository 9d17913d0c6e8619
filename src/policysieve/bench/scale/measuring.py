"""Everything about work beyond one machine, in one run."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.scale.logs import growth, moved, part_overhead, workers
from policysieve.bench.scale.shards import shards

__all__ = ["STEPS", "ScaleSettings", "measure_scale"]


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """How much is measured.

    Parameters
    ----------
    rounds : int
        Of the simulated log that one worker and two select from.
    n_policies : int
    workers : tuple of int
        Sizes of clusters.
    growth_rounds, growth_policies : tuple of int
        Sizes of logs, with a hundred policies, and numbers of policies, with up to a million
        rounds, on which the model of time is fitted and tried.
    slow_candidates, slow_seconds
        Candidates in shards, and how long each takes for a batch.
    slow_shards : tuple of int
        Among how many they are dealt.
    table : tuple of int
        Policies and contexts of a table in shards.
    evidence_policies : tuple of int
        Sizes of classes whose evidence is in one process.
    """

    rounds: int = 100_000_000
    n_policies: int = 100
    workers: tuple[int, ...] = (1, 2)
    growth_rounds: tuple[int, ...] = (100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
    growth_policies: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    slow_candidates: int = 1_000
    slow_seconds: float = 0.05
    slow_shards: tuple[int, ...] = (2, 8)
    table: tuple[int, int] = (1_000_000, 1_000)
    evidence_policies: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)

    @classmethod
    def quick(cls) -> Self:
        """A few minutes of it."""
        return cls(
            rounds=1_000_000,
            growth_rounds=(100_000, 300_000, 1_000_000),
            growth_policies=(1_000, 10_000, 100_000),
            slow_candidates=100,
            slow_shards=(2,),
            table=(100_000, 100),
            evidence_policies=(1_000, 10_000, 100_000),
        )


# One after the other, each with a folder for what it writes and removes.
STEPS: dict[str, Callable[[Path, ScaleSettings], Any]] = {
    "workers": lambda folder, chosen: workers(
        folder, rounds=chosen.rounds, n_policies=chosen.n_policies, counts=chosen.workers
    ),
    "overhead": lambda folder, chosen: part_overhead(folder, counts=chosen.workers),
    "moved": lambda folder, chosen: moved(folder, n_policies=chosen.n_policies),
    "growth": lambda folder, chosen: growth(
        folder,
        rounds=chosen.growth_rounds,
        n_policies=chosen.growth_policies,
        workers=max(chosen.workers),
    ),
    "shards": lambda _folder, chosen: shards(
        workers=max(chosen.workers),
        slow=(chosen.slow_candidates, chosen.slow_seconds),
        slow_shards=chosen.slow_shards,
        table=chosen.table,
        evidence_policies=chosen.evidence_policies,
    ),
}


def measure_scale(
    settings: ScaleSettings | None = None,
    progress: SayStep = lambda _step: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Measure work in parts and in shards; `progress` hears the name of each step.

    Parameters
    ----------
    settings : ScaleSettings, optional
    progress : callable
    folder : path, optional
        For the simulated log, of about two bytes a round, which is removed in the end; by default
        that of temporary files.

    Returns
    -------
    dict
        Plain values for JSON: the ``code`` that measured, the ``settings``, and one entry for each
        step.
    """
    chosen = settings or ScaleSettings()
    results: dict[str, Any] = {"code": code_version(), "settings": asdict(chosen)}
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as made:
        for name, measure in STEPS.items():
            progress(name)
            results[name] = measure(Path(made), chosen)
    return results
