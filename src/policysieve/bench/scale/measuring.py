"""Everything about work beyond one machine, in one run or step by step."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from policysieve.bench.cells import SayStep, check_names, code_version
from policysieve.bench.scale.growth import growth
from policysieve.bench.scale.logs import moved, part_overhead, workers
from policysieve.bench.scale.shards import shards
from policysieve.bench.steps import begun

__all__ = ["STEPS", "ScaleSettings", "measure_scale"]

_GROWTH = (  # every second one is held out
    *((100_000, 100), (300_000, 100), (1_000_000, 100), (3_000_000, 100), (10_000_000, 100)),
    *((30_000_000, 100), (100_000, 1_000), (100_000, 10_000), (100_000, 100_000)),
    *((100_000_000, 100), (10_000, 1_000_000), (30_000, 1_000_000), (10_000, 10_000_000)),
    (30_000, 300_000),
)


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """How much is measured.

    Parameters
    ----------
    rounds, rounds_of_all : int
        Of the simulated logs that one worker and two select from: with a floor, and with the
        propensities of all actions.
    n_policies : int
    workers : tuple of int
        Sizes of clusters.
    moved : tuple
        Rounds, and then numbers of policies, for which bytes are counted.
    growth : tuple of pairs of int
        Rounds and policies, on which models of time, memory and network are fitted and tried.
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
    rounds_of_all: int = 10_000_000
    n_policies: int = 100
    workers: tuple[int, ...] = (1, 2)
    moved: tuple[int, tuple[int, ...]] = (100_000, (100, 1_000))
    growth: tuple[tuple[int, int], ...] = _GROWTH
    slow_candidates: int = 1_000
    slow_seconds: float = 0.05
    slow_shards: tuple[int, ...] = (2, 8)
    table: tuple[int, int] = (1_000_000, 1_000)
    evidence_policies: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)

    @classmethod
    def quick(cls) -> Self:
        """A few minutes of it."""
        return cls(
            rounds=1_000_000,
            rounds_of_all=1_000_000,
            growth=(*_GROWTH[:4], *_GROWTH[6:9]),
            slow_candidates=100,
            slow_shards=(2,),
            table=(100_000, 100),
            evidence_policies=(1_000, 10_000, 100_000),
        )


# One after the other, each with the folder of the simulated logs.
STEPS: dict[str, Callable[[Path, ScaleSettings], Any]] = {
    "workers": lambda folder, chosen: workers(
        folder,
        rounds={"floor": chosen.rounds, "all": chosen.rounds_of_all},
        n_policies=chosen.n_policies,
        counts=chosen.workers,
    ),
    "overhead": lambda folder, chosen: part_overhead(folder, counts=chosen.workers),
    "moved": lambda folder, chosen: moved(
        folder, rounds=chosen.moved[0], n_policies=chosen.moved[1]
    ),
    "growth": lambda folder, chosen: growth(
        folder, points=chosen.growth, workers=max(chosen.workers)
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
    *,
    steps: Sequence[str] = tuple(STEPS),
    kept: Path | None = None,
) -> dict[str, Any]:
    """Measure work in parts and in shards; `progress` hears the name of each step.

    Parameters
    ----------
    settings : ScaleSettings, optional
    progress : callable
    folder : path, optional
        For the simulated log, of about two bytes a round, which is removed in the end; by default
        that of temporary files.
    steps : sequence of str
        Those of `STEPS` to take.
    kept : path, optional
        Of the JSON of an earlier run, if there is one: with the same settings, what it has of
        other steps is kept.

    Returns
    -------
    dict
        Plain values for JSON: the ``settings``, one entry for each step, and the ``code`` that
        measured, last and for each step.
    """
    check_names("steps", steps, STEPS)
    chosen, code = settings or ScaleSettings(), code_version()
    results = begun(asdict(chosen), code, STEPS, kept)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as made:
        for name in steps:
            progress(name)
            results[name] = STEPS[name](Path(made), chosen)
            results["codes"] = {**results["codes"], name: code}
    return results
