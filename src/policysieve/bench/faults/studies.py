"""Processes that are killed while they ask, tell and learn through a study."""

import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.bench.faults.apart import Fork
from policysieve.policies import LinearPolicies
from policysieve.problem import Problem
from policysieve.study import Study

__all__ = ["killed_studies"]

_N, _K, _D = 40, 10, 5
_SIZE = 7  # rounds of a batch
_WARM = 20  # steps
_MOST = 4  # steps, about, before a process is killed,
_LONGEST = 0.03  # and seconds then
_PATIENCE = 10.0  # seconds
_WEIGHTS = np.random.default_rng(5).normal(size=(_N, _K, _D))
_POLICIES = LinearPolicies(_WEIGHTS)
_PROBLEM = Problem(n_actions=_K, epsilon=0.02, delta=0.05)


def killed_studies(*, kills: int) -> dict[str, Any]:
    """Kill a process at random moments while it works on a study, and look what is left.

    Each step asks for a batch, or tells the rewards of the one that is open, whichever is next
    according to the database. In the end a twin that nobody has killed takes the same steps.

    Returns
    -------
    dict
        ``kills``, ``steps`` that were taken in all; ``lost`` acknowledged steps, ``doubled``
        rounds, ``failed`` processes, and ``different`` ends than the twin's, which should be 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = ("first", "killed", "twin")
        warm, url, twin = (f"sqlite:///{Path(folder) / name}.db" for name in names)
        with Study.create(warm, "study", _POLICIES, _PROBLEM, seed=1) as first:
            for number in range(_WARM):  # so that forks find kernels compiled
                _Steps(warm, first)(number)
        Study.create(url, "study", _POLICIES, _PROBLEM, seed=1).close()
        rng, lost, failed, steps = random.Random(0), 0, 0, 0
        for _ in range(kills):
            fork = Fork(_Steps(url))
            _wait_for(fork, rng.randrange(_MOST))
            time.sleep(rng.uniform(0.0, _LONGEST))
            fork.kill()
            failed += bool(fork.error)
            done = _steps_done(url)
            lost += done < steps + fork.calls
            steps = done
        study = Study.open(url, "study", _POLICIES)
        other = Study.create(twin, "study", _POLICIES, _PROBLEM, seed=1)
        step = _Steps(twin, other)
        for number in range(steps):
            step(number)
        status = study.status()
        doubled = len(study.log()) != status.told or status.told > status.rounds
        different = not _same(study, other) or not study.verify().holds
        study.close()
        other.close()
    return {
        "kills": kills,
        "steps": steps,
        "lost": lost,
        "doubled": int(doubled),
        "failed": failed,
        "different": int(different),
    }


class _Steps:
    """The next step of a study, whatever happened before; it is opened in the process that acts."""

    def __init__(self, url: str, study: Study | None = None) -> None:
        self._url, self._study = url, study

    def __call__(self, _: int) -> None:
        study = self._study = self._study or Study.open(self._url, "study", _POLICIES)
        waiting = study.open_decisions()
        if len(waiting):
            study.tell(waiting.ids, _rewards(waiting.contexts, waiting.actions))
        else:
            batch = study.status().rounds // _SIZE
            study.ask(np.random.default_rng(batch).normal(size=(_SIZE, _D)))


def _wait_for(fork: Fork, calls: int) -> None:
    """Wait until so many steps have returned, or too long."""
    end = time.monotonic() + _PATIENCE
    while fork.calls < calls and not fork.error and time.monotonic() < end:
        time.sleep(0.001)


def _rewards(contexts: Any, actions: Any) -> Any:
    """What the first policy would show earns most of the time, as the context has it."""
    right = actions[:, 0] == (contexts @ _WEIGHTS[0].T).argmax(axis=1)
    return np.where(right, contexts[:, 0] > -1.0, contexts[:, 0] > 1.5).astype(float)


def _steps_done(url: str) -> int:
    """Batches that were asked for, and those that were told."""
    with Study.open(url, "study", _POLICIES, learn=False) as study:
        status = study.status()
    return -(-status.rounds // _SIZE) + status.told // _SIZE


def _same(one: Study, two: Study) -> bool:
    return (
        one.log() == two.log()
        and one.recommend().to_dict() == two.recommend().to_dict()
        and one.exploration.same_as(two.exploration)
    )
