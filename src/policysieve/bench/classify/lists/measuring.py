"""Compare list classifiers: shares of right labels on held-out rows against rounds, and speed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policysieve.bench.cells import Progress, check_names
from policysieve.bench.classify.lists.contestants import LIST_CONTESTANTS
from policysieve.bench.classify.lists.tasks import LIST_TASKS
from policysieve.bench.classify.measuring import ClassifySettings, measure

__all__ = ["LIST_SETTINGS", "measure_lists"]

LIST_SETTINGS = ClassifySettings(seeds=3, rounds=5_000)
"""How long the comparison is unless told otherwise."""


def measure_lists(
    tasks: Sequence[str] = tuple(LIST_TASKS),
    contestants: Sequence[str] = tuple(LIST_CONTESTANTS),
    *,
    settings: ClassifySettings = LIST_SETTINGS,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
) -> dict[str, Any]:
    """Measure every task, contestant and seed, as `measure` does.

    In place of accuracies there are shares of the labels in the predicted lists that are right.
    """
    check_names("tasks", tasks, LIST_TASKS)
    check_names("contestants", contestants, LIST_CONTESTANTS)
    return measure(
        {name: LIST_TASKS[name] for name in tasks},
        {name: LIST_CONTESTANTS[name] for name in contestants},
        settings=settings,
        folder=folder,
        progress=progress,
    )
