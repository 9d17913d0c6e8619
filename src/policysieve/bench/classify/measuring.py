"""Compare bandit classifiers: accuracy on held-out rows against rounds, and rounds per second."""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.bench.cells import Progress, check_names, code_version, keep_cell, kept_cell
from policysieve.bench.classify.contestants import CONTESTANTS, Entry
from policysieve.bench.classify.tasks import CLASSIFY_TASKS, ClassifyTask, PlayedRows
from policysieve.errors import DatasetUnavailableError, MissingExtraError

__all__ = [
    "ClassifySettings",
    "checkpoints",
    "drawn_rows",
    "measure",
    "measure_classifiers",
    "play",
]

_FIRST = 1000  # checkpoint
_DRAWS = 1  # the stream of rows, apart from those that seeds of tasks and contestants start

Found = dict[str, Any]


class ClassifySettings(NamedTuple):
    """How long the comparison is.

    Attributes
    ----------
    seeds : int
        Runs behind each mean.
    rounds, batch : int
        Rounds of a run, and how many of them are decided at once.
    most_seconds : float
        Of deciding and learning, after which a run ends; it counts up to its last checkpoint.
    """

    seeds: int = 5
    rounds: int = 20_000
    batch: int = 100
    most_seconds: float = 180.0


class _ClassifyCell(NamedTuple):
    task: str
    contestant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.contestant}-{self.seed}"


def measure_classifiers(
    tasks: Sequence[str] = tuple(CLASSIFY_TASKS),
    contestants: Sequence[str] = tuple(CONTESTANTS),
    *,
    settings: ClassifySettings | None = None,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
) -> dict[str, Any]:
    """Measure classifiers that show one label: every task, contestant and seed; see `measure`."""
    check_names("tasks", tasks, CLASSIFY_TASKS)
    check_names("contestants", contestants, CONTESTANTS)
    return measure(
        {name: CLASSIFY_TASKS[name] for name in tasks},
        {name: CONTESTANTS[name] for name in contestants},
        settings=settings or ClassifySettings(),
        folder=folder,
        progress=progress,
    )


def measure(
    tasks: Mapping[str, ClassifyTask],
    contestants: Mapping[str, Entry],
    *,
    settings: ClassifySettings,
    folder: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """Measure every task, contestant and seed; cells that `folder` holds are not run again.

    Cells run one after the other, because their time is measured.

    Returns
    -------
    dict
        ``code`` that measured; ``settings``; ``skipped``, reasons by task or contestant;
        ``rows``, for each task and contestant with all seeds the ``checkpoints`` that all of them
        passed, the ``mean``, smallest (``low``) and largest (``high``) accuracy there,
        ``rounds_per_second`` and its ``options``.
    """
    cells = [
        _ClassifyCell(task, contestant, seed)
        for task in tasks
        for seed in range(settings.seeds)
        for contestant in contestants
        if tasks[task].has_texts or not contestants[contestant].only_texts
    ]
    found: dict[_ClassifyCell, Found] = {}
    skipped: dict[str, str] = {}

    @lru_cache(maxsize=2)  # of a seed, as they are and dense
    def build(task: str, seed: int, dense: bool) -> PlayedRows:
        return tasks[task].build(seed, dense)

    for number, cell in enumerate(cells, start=1):
        entry = contestants[cell.contestant]
        options = _options(entry, cell.task)
        depends_on = {key: value for key, value in settings._asdict().items() if key != "seeds"}
        depends_on["options"] = options
        kept = kept_cell(folder, cell.name, depends_on)
        if kept is None and cell.task not in skipped and cell.contestant not in skipped:
            try:
                rows = build(cell.task, cell.seed, entry.dense)
            except (DatasetUnavailableError, MissingExtraError) as error:
                skipped[cell.task] = str(error)
                continue
            try:
                kept = play(entry, rows, cell.seed, settings, options)
            except MissingExtraError as error:
                skipped[cell.contestant] = str(error)
                continue
            keep_cell(folder, cell.name, depends_on, kept)
        if kept is not None:
            found[cell] = kept
        progress(number, len(cells), cell.name)
    return {
        "code": code_version(),
        "settings": settings._asdict(),
        "skipped": skipped,
        "rows": list(_summaries(tasks, contestants, settings.seeds, found)),
    }


def _options(entry: Entry, task: str) -> dict[str, Any]:
    return dict(entry.options.get(task, {}))


def checkpoints(rounds: int) -> list[int]:
    """Rounds at which accuracy is looked at: 1,000, 2,000, 5,000, 10,000, ..., and the last."""
    powers = [_FIRST * 10**power for power in range(len(str(rounds)))]
    stops = [step * power for power in powers for step in (1, 2, 5)]
    return [stop for stop in stops if stop < rounds] + [rounds]


def drawn_rows(rows: PlayedRows, seed: int, rounds: int) -> npt.NDArray[np.intp]:
    """Places of the training rows of all rounds, the same for every contestant."""
    places = np.random.default_rng([seed, _DRAWS]).integers(rows.X_train.shape[0], size=rounds)
    return np.asarray(places, dtype=np.intp)


def play(
    entry: Entry,
    rows: PlayedRows,
    seed: int,
    settings: ClassifySettings,
    options: Mapping[str, Any],
) -> Found:
    """Let a contestant guess labels of rows drawn with replacement, and look at it on the way.

    Time is counted for deciding, learning and the first row predicted at a checkpoint, which is
    where some fit their model, but not for the other rows held out.

    Returns
    -------
    dict
        ``checkpoints`` that were passed, ``accuracy`` there on the rows held out, ``rounds`` and
        ``seconds`` in all.
    """
    draws = drawn_rows(rows, seed, settings.rounds)
    contestant = entry.make(*rows.sizes, seed, **options)
    passed: list[int] = []
    accuracy: list[float] = []
    seconds, done = 0.0, 0
    for stop in checkpoints(settings.rounds):
        while done < stop and seconds <= settings.most_seconds:
            drawn = draws[done : min(stop, done + settings.batch)]
            X, told = rows.X_train[drawn], rows.told(drawn)
            started = time.perf_counter()
            shown = told if entry.is_told else contestant.decide(X)
            contestant.learn(X, shown, rows.rewards(drawn, shown))
            seconds += time.perf_counter() - started
            done += len(drawn)
        if done < stop:
            break
        started = time.perf_counter()
        contestant.predict(rows.X_test[:1])
        seconds += time.perf_counter() - started
        passed.append(stop)
        accuracy.append(rows.accuracy(contestant.predict(rows.X_test)))
    return {"checkpoints": passed, "accuracy": accuracy, "rounds": done, "seconds": seconds}


def _summaries(
    tasks: Iterable[str],
    contestants: Mapping[str, Entry],
    seeds: int,
    found: Mapping[_ClassifyCell, Found],
) -> Iterable[dict[str, Any]]:
    """A row for each task and contestant that was measured with all seeds, by cells of them."""
    for task in tasks:
        for contestant, entry in contestants.items():
            mine = [one for cell, one in found.items() if cell[:2] == (task, contestant)]
            if len(mine) < seeds:
                continue
            passed = min((one["checkpoints"] for one in mine), key=len)
            accuracy = np.array([one["accuracy"][: len(passed)] for one in mine])
            seconds = sum(one["seconds"] for one in mine)
            yield {
                "task": task,
                "contestant": contestant,
                "checkpoints": passed,
                "mean": accuracy.mean(axis=0).tolist(),
                "low": accuracy.min(axis=0).tolist(),
                "high": accuracy.max(axis=0).tolist(),
                "rounds_per_second": sum(one["rounds"] for one in mine) / seconds,
                "options": _options(entry, task),
            }
