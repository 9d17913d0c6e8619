"""What goes wrong when all else does: every count here should be zero."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from policysieve.bench.cells import SayStep, check_names, code_version
from policysieve.bench.faults.apart import apart
from policysieve.bench.faults.calling import clock_jumps, interrupts, threads
from policysieve.bench.faults.files import full_disks, killed_writers, writers_at_once
from policysieve.bench.faults.soaking import soak
from policysieve.bench.steps import begun
from policysieve.errors import MissingExtraError
from policysieve.exploration.learners import LEARNERS

__all__ = ["STEPS", "FaultSettings", "measure_faults"]

_THREADS = 8
_OTHERS = 10  # times fewer rounds for learners other than the Sieve
_LEAST = 20_000  # rounds of a soak: of fewer, most of the growth is that of allocators


@dataclass(frozen=True, kw_only=True)
class FaultSettings:
    """How often each thing is tried.

    Parameters
    ----------
    calls : int
        Made-up arguments.
    kills : int
        Of each writer.
    write_seconds : float
        For which two processes write each file.
    soak_rounds : int
        Of the Sieve, one by one and in batches; a tenth of them for each other learner, but no
        fewer than 20,000.
    thread_seconds : float
        For which threads ask and tell.
    interrupts : int
        Rounds whose calls are interrupted.
    jumps : int
        Of the clock.
    study_kills : int
        Of processes that work on a study.
    """

    calls: int = 20_000
    kills: int = 100
    write_seconds: float = 5.0
    soak_rounds: int = 1_000_000
    thread_seconds: float = 60.0
    interrupts: int = 5_000
    jumps: int = 100
    study_kills: int = 1_000

    @classmethod
    def quick(cls) -> Self:
        """About two minutes of it."""
        return cls(
            calls=1_000,
            kills=5,
            write_seconds=0.5,
            soak_rounds=20_000,
            thread_seconds=5.0,
            interrupts=500,
            jumps=10,
            study_kills=20,
        )


STEPS: dict[str, Callable[[FaultSettings], Any]] = {
    "calls": lambda chosen: _calls(chosen.calls),
    "kills": lambda chosen: apart(killed_writers, kills=chosen.kills),
    "at_once": lambda chosen: apart(writers_at_once, seconds=chosen.write_seconds),
    "full": lambda _chosen: apart(full_disks),
    "soaks": lambda chosen: _soaks(chosen.soak_rounds),
    "threads": lambda chosen: apart(threads, count=_THREADS, seconds=chosen.thread_seconds),
    "interrupts": lambda chosen: apart(interrupts, calls=chosen.interrupts),
    "clock": lambda chosen: apart(clock_jumps, jumps=chosen.jumps),
    "studies": lambda chosen: _studies(chosen.study_kills),
}


def measure_faults(
    settings: FaultSettings | None = None,
    progress: SayStep = lambda _step: None,
    *,
    steps: Sequence[str] = tuple(STEPS),
    kept: Path | None = None,
) -> dict[str, Any]:
    """Measure what faults do; `progress` hears the name of each step.

    Parameters
    ----------
    settings : FaultSettings, optional
    progress : callable
    steps : sequence of str
        Those of `STEPS` to take.
    kept : path, optional
        Of the JSON of an earlier run, if there is one: with the same settings, what it has of
        other steps is kept.

    Returns
    -------
    dict
        Plain values for JSON: the ``settings``, one entry for each step, the ``code`` that
        measured, last and for each step, and in ``skipped`` the steps that cannot be measured on
        this system, with the reason.
    """
    check_names("steps", steps, STEPS)
    chosen, code, skipped = settings or FaultSettings(), code_version(), _cannot()
    results = begun(asdict(chosen), code, STEPS, kept)
    for name in steps:
        if name not in skipped:
            progress(name)
            results[name] = STEPS[name](chosen)
            results["codes"] = {**results["codes"], name: code}
    skipped = {name: why for name, why in skipped.items() if name not in results}
    return {**results, "skipped": skipped}


def _cannot() -> dict[str, str]:
    """Steps that this system has no means for, and why."""
    cannot: dict[str, str] = {}
    if not hasattr(os, "fork"):
        why = "processes are not forked here"
        cannot |= dict.fromkeys(("kills", "at_once", "full", "interrupts", "studies"), why)
    if not sys.platform.startswith("linux"):
        cannot["soaks"] = "only measured on Linux"
    if find_spec("sklearn") is None:
        cannot["calls"] = str(MissingExtraError("the calls", "scikit-learn", "sklearn"))
    if find_spec("sqlalchemy") is None:
        cannot["studies"] = str(MissingExtraError("a study", "SQLAlchemy", "study"))
    return cannot


def _studies(kills: int) -> dict[str, Any]:
    from policysieve.bench.faults.studies import killed_studies  # needs SQLAlchemy

    return dict(apart(killed_studies, kills=kills))


def _calls(n: int) -> dict[str, Any]:
    from policysieve.bench.faults.calls import fuzz_calls  # needs scikit-learn

    return fuzz_calls(n, seed=0)


def _soaks(rounds: int) -> list[dict[str, Any]]:
    runs = [("Sieve", rounds, 1), ("Sieve", rounds, 100)]
    runs += [(name, max(rounds // _OTHERS, _LEAST), 100) for name in LEARNERS if name != "Sieve"]
    return [apart(soak, learner=name, rounds=n, batch=batch) for name, n, batch in runs]
