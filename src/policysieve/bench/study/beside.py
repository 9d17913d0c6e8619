"""One round at a time, next to Optuna's ask and tell on the same disk."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.bench.candidates import PROBLEM, policies
from policysieve.bench.study.playing import single_seconds
from policysieve.study import Study

__all__ = ["beside_optuna"]

_BLOCKS = 10  # each measures all of them, so that what the disk does meanwhile hits all alike
_WARM = 300  # rounds before anything is measured: until the log of SQLite is used again
_ACTIONS = tuple(range(10))


def beside_optuna(folder: Path, *, rounds: int, warm: int = _WARM) -> dict[str, Any]:
    """Milliseconds of an ask and a tell, the median over blocks of all storages in turn.

    Optuna draws one of ten actions at random; a study has a hundred candidates, learns, and keeps
    the context. What is measured is how it goes on, not how it begins.
    """
    rng = np.random.default_rng(0)
    url = f"sqlite:///{folder / 'single.db'}"
    study = Study.create(url, "study", policies(100), PROBLEM, seed=0)
    steps: dict[str, Callable[[int], list[float]]] = {
        "study": lambda n: single_seconds(study, n, rng),
        **_optuna(folder),
    }
    for step in steps.values():
        step(warm)
    per_block = max(1, rounds // _BLOCKS)
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(_BLOCKS):
        for name, step in steps.items():
            seconds[name].append(float(np.mean(step(per_block))))
    study.close()
    found = {name: 1e3 * float(np.median(blocks)) for name, blocks in seconds.items()}
    ratios = {
        name: float(np.median(np.array(blocks) / np.array(seconds["study"])))
        for name, blocks in seconds.items()
    }
    return {"rounds": per_block * _BLOCKS, "milliseconds": found, "ratios": ratios}


def _optuna(folder: Path) -> dict[str, Callable[[int], list[float]]]:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    backend = JournalFileBackend(str(folder / "optuna.log"))
    storages = {
        "optuna_sqlite": optuna.storages.RDBStorage(f"sqlite:///{folder / 'optuna.db'}"),
        "optuna_journal": optuna.storages.JournalStorage(backend),
    }

    def steps(storage: Any) -> Callable[[int], list[float]]:
        sampler = optuna.samplers.RandomSampler(seed=0)
        made = optuna.create_study(storage=storage, sampler=sampler)

        def step(n: int) -> list[float]:
            found = []
            for _ in range(n):
                start = time.perf_counter()
                trial = made.ask()
                shown = trial.suggest_categorical("action", _ACTIONS)
                made.tell(trial, float(shown == 0))
                found.append(time.perf_counter() - start)
            return found

        return step

    return {name: steps(storage) for name, storage in storages.items()}
