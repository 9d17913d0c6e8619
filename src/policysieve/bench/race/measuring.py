"""Run the race: cells on all cores, each kept when it is done, and what they add up to."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policysieve.bench import cells as keeping
from policysieve.bench.cells import code_version
from policysieve.bench.provers import PROVERS
from policysieve.bench.race.earlier import FILE, KINDS, Rows, with_earlier_rows
from policysieve.bench.race.ratios import summary
from policysieve.bench.race.tasks import TASKS
from policysieve.bench.racers import ONE_ACTION_ONLY, RACERS
from policysieve.bench.rounds import Made, picking, proving, rounds_needed
from policysieve.errors import DatasetUnavailableError, MissingExtraError

__all__ = ["LEARNERS", "RaceSettings", "measure_race"]

_SLATES = ("yeast", "tags_100", "rankers_50")
_BAND = (0.1, 0.9)  # quantiles over seeds

LEARNERS = tuple(dict.fromkeys([*RACERS, *PROVERS]))
"""Who races to be right, or to a certificate, or both."""


class RaceSettings(NamedTuple):
    """How long the race is.

    Attributes
    ----------
    seeds, proof_seeds : int
        Runs behind each number of rounds to be right, and to a certificate.
    most, most_to_prove : int
        Rounds after which a learner is given up.
    """

    seeds: int = 40
    proof_seeds: int = 5
    most: int = 10_000
    most_to_prove: int = 500_000


class _RaceCell(NamedTuple):
    kind: str
    task: str
    learner: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.task}-{self.learner}"


def measure_race(
    tasks: Sequence[str] = tuple(TASKS),
    learners: Sequence[str] = LEARNERS,
    *,
    proofs_only: bool = False,
    settings: RaceSettings | None = None,
    folder: Path | None = None,
    progress: keeping.Progress = lambda _done, _all, _name: None,
    runner: keeping.Runner | None = None,
) -> dict[str, Any]:
    """Measure every task and learner; cells that `folder` holds already are not run again.

    With `proofs_only` the rounds until a learner is right are left out. Rows in the folder's
    samples.json that were measured with the same settings, and not by this call, are kept.

    Returns
    -------
    dict
        ``code`` that made it; ``settings``; ``skipped``, reasons by task or learner, or why rows of
        samples.json were dropped; ``picking`` and ``proving``, a row for each cell, which says with
        ``code`` what measured it; ``summary`` of all rows.
    """
    settings = settings or RaceSettings()
    keeping.check_names("tasks", tasks, TASKS)
    keeping.check_names("learners", learners, LEARNERS)
    skipped: dict[str, str] = {}
    if "VowpalWabbit" in learners and find_spec("vowpalwabbit") is None:
        skipped["VowpalWabbit"] = str(MissingExtraError("VowpalWabbit", "vowpalwabbit", "peers"))
        learners = [name for name in learners if name != "VowpalWabbit"]
    cells = [cell for cell in _cells(tasks, learners) if cell.kind == "proving" or not proofs_only]
    used = settings._asdict()
    missing = [cell for cell in cells if keeping.kept_cell(folder, cell.name, used) is None]
    made: dict[str, Made | None] = {}
    for task in dict.fromkeys(cell.task for cell in missing):
        try:
            made[task] = TASKS[task].build(0) if TASKS[task].fixed else None
        except DatasetUnavailableError as error:
            skipped[task] = str(error)
    jobs = [
        keeping.Cell(cell.name, used, _measure, (cell, made.get(cell.task), settings))
        for cell in cells
        if cell not in missing or cell.task in made
    ]
    done = keeping.run_cells(jobs, folder=folder, progress=progress, runner=runner)
    rows: Rows = {kind: [] for kind in KINDS}
    for cell in cells:
        if cell.name in done:
            found = {"task": cell.task, "learner": cell.learner, **done[cell.name]}
            found["code"] = code_version(measuring_only=True)
            if cell.kind == "picking":
                found["needed"] = rounds_needed(found["budgets"], found["right"])
            rows[cell.kind].append(found)
    rows, dropped = with_earlier_rows(rows, folder, used)
    if dropped is not None:
        skipped[FILE] = dropped
    for some in rows.values():
        some.sort(key=_place)
    return {
        "code": code_version(),
        "settings": used,
        "skipped": skipped,
        **rows,
        "summary": summary(rows["picking"], rows["proving"], settings),
    }


def _cells(tasks: Sequence[str], learners: Sequence[str]) -> Iterator[_RaceCell]:
    """The longest first, so that no core idles at the end."""
    for task in tasks:
        for learner in learners:
            if learner in PROVERS:
                yield _RaceCell("proving", task, learner)
    for task in tasks:
        for learner in learners:
            if learner in RACERS and (task not in _SLATES or learner not in ONE_ACTION_ONLY):
                yield _RaceCell("picking", task, learner)


def _place(row: dict[str, Any]) -> tuple[int, int]:
    """In the order of tasks and learners, those that are gone last."""
    places = [
        list(known).index(name) if name in known else len(known)
        for name, known in ((row["task"], TASKS), (row["learner"], LEARNERS))
    ]
    return places[0], places[1]


def _measure(cell: _RaceCell, made: Made | None, settings: RaceSettings) -> dict[str, Any]:
    task = TASKS[cell.task]
    if made is not None:
        task = replace(task, build=lambda _seed: made)
    if cell.kind == "proving":
        seeds, most = settings.proof_seeds, settings.most_to_prove
        return proving(task, cell.learner, seeds=seeds, most=most)
    found = picking(task, cell.learner, seeds=settings.seeds, most=settings.most)
    gaps = np.array(found["suboptimality"])
    low, high = np.quantile(gaps, _BAND, axis=1)
    return {
        "budgets": found["budgets"],
        "mean": gaps.mean(axis=1).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "right": found["right"],
    }
