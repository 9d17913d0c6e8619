"""Forecast proofs on the way, and compare with the rounds that they took."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from policysieve.bench.cells import Cell, Progress, Runner, code_version, run_cells
from policysieve.bench.forecast.made_up import FIRST_SEED, made_up_task
from policysieve.bench.rounds import Game, Made, Task
from policysieve.errors import DatasetUnavailableError
from policysieve.exploration.forecast import LEVEL
from policysieve.exploration.learners import PolicyElimination, Sieve

__all__ = ["SETS", "SHARES", "ForecastSettings", "forecasts_of", "measure_forecasts", "summaries"]

SHARES = (0.1, 0.25, 0.5, 0.75)
"""Of the rounds that a proof took in the end, at which its forecast is judged."""

SETS = ("chose", "judged")
"""Tasks like the made-up ones that chose the forecast, and others that judge it."""

LEARNERS: dict[str, Any] = {"Sieve": Sieve, "PolicyElimination": PolicyElimination}

Row = dict[str, Any]


class ForecastSettings(NamedTuple):
    """How much is measured.

    Attributes
    ----------
    seeds : int
        Runs of each task that judges.
    made_up : int
        Made-up tasks, each with one run.
    most : int
        Rounds after which a run is given up, and judges nothing.
    """

    seeds: int = 5
    made_up: int = 100
    most: int = 40_000


def measure_forecasts(
    tasks: Mapping[str, Task],
    *,
    settings: ForecastSettings | None = None,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """Forecast on made-up tasks, and on those given, with each learner that stops by a proof.

    Cells in `folder` are not run again.

    Returns
    -------
    dict
        ``code`` that measured; ``settings``; ``skipped``, reasons by task; ``rows``, a run each,
        with its ``set``, ``task``, ``learner``, ``seed``, the rounds ``needed`` (None if given
        up), and ``forecasts``, what was said at each of the shares of them; ``summary``, a row for
        each set, learner and share.
    """
    settings = settings or ForecastSettings()
    skipped: dict[str, str] = {}
    cells, sets = [], {}
    for learner in LEARNERS:
        for seed in range(FIRST_SEED, FIRST_SEED + settings.made_up):
            task = made_up_task(seed)
            name, used = f"{task.name}-{learner}", {"most": settings.most}
            cells.append(Cell(name, used, _measure, (task, learner, [seed], settings.most)))
            sets[name] = (SETS[0], task.name, learner)
    for task_name, task in tasks.items():
        try:
            made = task.build(0) if task.fixed else None
        except DatasetUnavailableError as error:
            skipped[task_name] = str(error)
            continue
        played = task if made is None else replace(task, build=partial(_built, made))
        for learner in LEARNERS:
            name, seeds = f"{task_name}-{learner}", list(range(settings.seeds))
            used = {"most": settings.most, "seeds": settings.seeds}
            cells.append(Cell(name, used, _measure, (played, learner, seeds, settings.most)))
            sets[name] = (SETS[1], task_name, learner)
    found = run_cells(cells, folder=folder, progress=progress, runner=runner)
    rows = [
        {"set": which, "task": task_name, "learner": learner, **run}
        for name, (which, task_name, learner) in sets.items()
        for run in found[name]["runs"]
    ]
    return {
        "code": code_version(),
        "settings": settings._asdict(),
        "skipped": skipped,
        "rows": rows,
        "summary": summaries(rows),
    }


def summaries(rows: Sequence[Row]) -> list[Row]:
    """How good forecasts were, for each set of tasks, learner and share of the rounds."""
    found = []
    for which in SETS:
        for learner in LEARNERS:
            runs = [row for row in rows if row["set"] == which and row["learner"] == learner]
            done = [row for row in runs if row["needed"] is not None]
            for number, share in enumerate(SHARES):
                said = [(row["forecasts"][number], row["needed"]) for row in done]
                judged = [(one, needed) for one, needed in said if one is not None]
                found.append(
                    {
                        "set": which,
                        "learner": learner,
                        "share": share,
                        "runs": len(runs),
                        "given_up": len(runs) - len(done),
                        "forecasts": len(judged),
                        **_judged(judged),
                    }
                )
    return [row for row in found if row["forecasts"]]


def _judged(judged: Sequence[tuple[Row, int]]) -> Row:
    """Errors as factors, and what became of the intervals."""
    if not judged:
        return {}
    errors = [abs(log(one["total"] / needed)) for one, needed in judged]
    return {
        "error": exp(median(errors)),
        "earlier": sum(needed < one["lower"] for one, needed in judged),
        "held": sum(one["lower"] <= needed <= one["upper"] for one, needed in judged),
        "later": sum(needed > one["upper"] for one, needed in judged),
        "width": median(one["upper"] / one["lower"] for one, _ in judged),
        "level": LEVEL,
    }


def forecasts_of(task: Task, learner: str, seed: int, most: int) -> Row:
    """Play until the proof, and ask for a forecast at every look at the evidence.

    Returns
    -------
    dict
        ``seed``, ``needed`` and ``forecasts``, the last before each of the shares, None where
        there was none.
    """
    game = Game.of(task, seed)
    player = LEARNERS[learner](game.policies, game.problem, rng=seed)
    said = []
    while not player.finished and player.rounds < most:
        game.advance(player, min(player.evidence.next_look, most))
        if not player.finished:
            said.append(player.forecast())
    if not player.finished:
        return {"seed": seed, "needed": None, "forecasts": [None] * len(SHARES)}
    needed, forecasts = player.rounds, []
    for share in SHARES:
        before = [one for one in said if one.rounds <= share * needed]
        known = before and before[-1].total is not None
        keys = ("rounds", "total", "lower", "upper")
        forecasts.append({key: getattr(before[-1], key) for key in keys} if known else None)
    return {"seed": seed, "needed": needed, "forecasts": forecasts}


def _measure(task: Task, learner: str, seeds: Sequence[int], most: int) -> Row:
    return {"runs": [forecasts_of(task, learner, seed, most) for seed in seeds]}


def _built(made: Made, _seed: int) -> Made:
    """What a task of a data set builds, made once."""
    return made
