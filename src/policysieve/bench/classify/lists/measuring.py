"""Compare list classifiers: shares of right labels on held-out rows against rounds, and speed."""

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policysieve.bench.cells import Progress, check_names, code_version, keep_cell, kept_cell
from policysieve.bench.classify.lists.contestants import LIST_CONTESTANTS, ListEntry
from policysieve.bench.classify.lists.tasks import LIST_TASKS, TaggedRows
from policysieve.bench.classify.measuring import ClassifySettings, checkpoints, summaries
from policysieve.errors import MissingExtraError

__all__ = ["LIST_SETTINGS", "measure_lists", "play_lists"]

LIST_SETTINGS = ClassifySettings(seeds=3, rounds=5_000)
"""How long the comparison is unless told otherwise."""

_DRAWS = 1  # the stream of rows, apart from those that seeds of tasks and contestants start

Found = dict[str, Any]


class _ListCell(NamedTuple):
    task: str
    contestant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.contestant}-{self.seed}"

    @property
    def entry(self) -> ListEntry:
        return LIST_CONTESTANTS[self.contestant]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.entry.options.get(self.task, {}))

    def depends_on(self, settings: ClassifySettings) -> dict[str, Any]:
        """All that changes what is found, but the code."""
        own = {"options": self.options}
        return {key: value for key, value in settings._asdict().items() if key != "seeds"} | own


def measure_lists(
    tasks: Sequence[str] = tuple(LIST_TASKS),
    contestants: Sequence[str] = tuple(LIST_CONTESTANTS),
    *,
    settings: ClassifySettings = LIST_SETTINGS,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
) -> dict[str, Any]:
    """Measure every task, contestant and seed; cells that `folder` holds are not run again.

    Cells run one after the other, because their time is measured.

    Returns
    -------
    dict
        As `measure_classifiers` has it; in place of accuracies, shares of the labels in the
        predicted lists that are right.
    """
    check_names("tasks", tasks, LIST_TASKS)
    check_names("contestants", contestants, LIST_CONTESTANTS)
    cells = [
        _ListCell(task, contestant, seed)
        for task in tasks
        for seed in range(settings.seeds)
        for contestant in contestants
    ]
    found: dict[_ListCell, Found] = {}
    skipped: dict[str, str] = {}
    build = lru_cache(maxsize=1)(lambda task, seed: LIST_TASKS[task].build(seed))
    for number, cell in enumerate(cells, start=1):
        kept = kept_cell(folder, cell.name, cell.depends_on(settings))
        if kept is None and cell.contestant not in skipped:
            try:
                rows = build(cell.task, cell.seed)
                kept = play_lists(cell.entry, rows, cell.seed, settings, cell.options)
            except MissingExtraError as error:
                skipped[cell.contestant] = str(error)
                continue
            keep_cell(folder, cell.name, cell.depends_on(settings), kept)
        if kept is not None:
            found[cell] = kept
        progress(number, len(cells), cell.name)
    return {
        "code": code_version(),
        "settings": settings._asdict(),
        "skipped": skipped,
        "rows": list(summaries(tasks, contestants, settings.seeds, found)),
    }


def play_lists(
    entry: ListEntry,
    rows: TaggedRows,
    seed: int,
    settings: ClassifySettings,
    options: Mapping[str, Any],
) -> Found:
    """Let a contestant show lists at rows drawn with replacement, and look at it on the way.

    Time is counted as in the comparison of classifiers.

    Returns
    -------
    dict
        ``checkpoints`` that were passed, ``accuracy`` there, the share of right labels in the lists
        predicted for the rows held out, ``rounds`` and ``seconds`` in all.
    """
    n_labels = rows.Y_train.shape[1]
    draws = np.random.default_rng([seed, _DRAWS]).integers(len(rows.X_train), size=settings.rounds)
    contestant = entry.make(n_labels, rows.list_size, seed, **options)
    passed: list[int] = []
    accuracy: list[float] = []
    seconds, done = 0.0, 0
    for stop in checkpoints(settings.rounds):
        while done < stop and seconds <= settings.most_seconds:
            drawn = draws[done : min(stop, done + settings.batch)]
            X, Y = rows.X_train[drawn], rows.Y_train[drawn]
            everything = np.tile(np.arange(n_labels), (len(drawn), 1))
            started = time.perf_counter()
            shown = everything if entry.is_told else contestant.decide(X)
            contestant.learn(X, shown, np.take_along_axis(Y, shown, axis=1))
            seconds += time.perf_counter() - started
            done += len(drawn)
        if done < stop:
            break
        started = time.perf_counter()
        contestant.predict(rows.X_test[:1])
        seconds += time.perf_counter() - started
        passed.append(stop)
        said = contestant.predict(rows.X_test)
        accuracy.append(float(np.take_along_axis(rows.Y_test, said, axis=1).mean()))
    return {"checkpoints": passed, "accuracy": accuracy, "rounds": done, "seconds": seconds}
