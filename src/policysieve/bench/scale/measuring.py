"""How far a cluster goes, in steps, each on workers of this machine."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.scale.shards import (
    central_evidence,
    dealt_anew,
    slow_candidates,
    table_lookups,
)
from policysieve.scale import RayEngine

__all__ = ["STEPS", "ScaleSettings", "measure_scale"]


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """How much is measured.

    Parameters
    ----------
    workers : int
        Of the cluster.
    slow_candidates, slow_seconds
        How many candidates are slow, and how long each takes for a batch of 100.
    slow_shards : tuple of int
        Among how many they are dealt.
    table_policies, table_contexts : int
        Of the table that is looked up.
    evidence_policies : tuple of int
        Sizes of the classes whose evidence is in one process.
    """

    workers: int = 2
    slow_candidates: int = 1_000
    slow_seconds: float = 0.05
    slow_shards: tuple[int, ...] = (2, 8)
    table_policies: int = 1_000_000
    table_contexts: int = 1_000
    evidence_policies: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)

    @classmethod
    def quick(cls) -> Self:
        """Everything briefly."""
        return cls(
            slow_candidates=40,
            slow_seconds=0.02,
            slow_shards=(2,),
            table_policies=10_000,
            table_contexts=100,
            evidence_policies=(1_000, 10_000),
        )


def _slow(engine: RayEngine, chosen: ScaleSettings) -> list[dict[str, Any]]:
    return slow_candidates(
        engine,
        shards=chosen.slow_shards,
        candidates=chosen.slow_candidates,
        seconds=chosen.slow_seconds,
        contexts=100,
    )


def _anew(engine: RayEngine, chosen: ScaleSettings) -> dict[str, Any]:
    candidates = max(4, chosen.slow_candidates // 10)
    return dealt_anew(engine, candidates=candidates, seconds=chosen.slow_seconds, batches=4)


def _lookups(engine: RayEngine, chosen: ScaleSettings) -> dict[str, Any]:
    return table_lookups(engine, policies=chosen.table_policies, contexts=chosen.table_contexts)


def _evidence(engine: RayEngine, chosen: ScaleSettings) -> list[dict[str, Any]]:
    return central_evidence(engine, policies=chosen.evidence_policies)


STEPS: Mapping[str, Callable[[RayEngine, ScaleSettings], Any]] = {
    "slow": _slow,
    "dealt_anew": _anew,
    "table": _lookups,
    "evidence": _evidence,
}
"""What is measured, in this order; each gets the cluster."""


def measure_scale(
    settings: ScaleSettings | None = None,
    progress: SayStep = lambda _step: None,
    steps: Mapping[str, Callable[[RayEngine, ScaleSettings], Any]] = STEPS,
) -> dict[str, Any]:
    """Measure a cluster that is started for it; `progress` hears the name of each step.

    Returns
    -------
    dict
        Plain values for JSON: the ``code`` that measured, the ``settings``, and one entry for each
        step.
    """
    chosen = settings or ScaleSettings()
    results: dict[str, Any] = {"code": code_version(), "settings": asdict(chosen)}
    with RayEngine(workers=chosen.workers) as engine:
        for name, measure in steps.items():
            progress(name)
            results[name] = measure(engine, chosen)
    return results
