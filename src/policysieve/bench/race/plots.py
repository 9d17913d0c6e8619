"""Figures of the race: rounds by task and learner, and suboptimality against rounds."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from policysieve.report.style import (
    INK,
    LineLook,
    legend,
    line_looks,
    log_axes,
    look,
    name_rows,
    new_figure,
    new_panels,
    rounds_axis,
    shared_legend,
)

__all__ = ["rounds_by_task", "suboptimality_by_task"]

_COLUMNS = 3
_SMALLEST_GAP = 1e-3  # drawn; zero has no place on a log axis


def rounds_by_task(rows: list[dict[str, Any]], key: str, most: int) -> Figure:
    """Draw the rounds of every learner on a line for each task; hollow where it was given up.

    Parameters
    ----------
    rows : list of dict
        With ``task``, ``learner`` and the rounds under `key`, None beyond the last of ``budgets``,
        or beyond `most` without them.
    key : str
    most : int
    """
    tasks, learners = _unique(rows, "task"), _unique(rows, "learner")
    with look():
        figure, axes = new_figure(1.2 + 0.3 * len(tasks))
        drawn: list[float] = []
        for learner, (colour, marker, _) in _looks(learners).items():
            mine = [row for row in rows if row["learner"] == learner]
            at = [tasks.index(row["task"]) for row in mine]
            known = [row[key] is not None for row in mine]
            tried = [row.get("budgets", [most])[-1] for row in mine]
            rounds = [
                n if row[key] is None else row[key] for n, row in zip(tried, mine, strict=True)
            ]
            drawn += rounds
            front = learner == "Sieve"
            for done in (True, False):
                pairs = [
                    (n, y)
                    for n, y, is_known in zip(rounds, at, known, strict=True)
                    if is_known is done
                ]
                if not pairs and not done:
                    continue
                axes.plot(
                    [n for n, _ in pairs],
                    [y for _, y in pairs],
                    marker,
                    ms=8 if front else 5.5,
                    mfc=colour if done else "none",
                    mec=colour,
                    mew=0 if done else 1,
                    alpha=1.0 if front else 0.9,
                    label=learner if done else None,
                    zorder=4 if front else 3,
                )
        name_rows(axes, tasks)
        rounds_axis(axes, min(drawn) * 0.8, max(drawn) * 1.25)
        legend(figure, axes)
    return figure


def suboptimality_by_task(rows: list[dict[str, Any]]) -> Figure:
    """Draw the mean suboptimality against rounds, a panel for each task, the Sieve with its band.

    The band holds eight of ten seeds.
    """
    tasks, learners = _unique(rows, "task"), _unique(rows, "learner")
    with look():
        figure, panels = new_panels(len(tasks), columns=min(_COLUMNS, len(tasks)), height=2.1)
        for axes, task in zip(panels, tasks, strict=True):
            for learner, (colour, _, dashes) in _looks(learners).items():
                for row in rows:
                    if (row["task"], row["learner"]) != (task, learner):
                        continue
                    mean, low, high = (
                        [max(gap, _SMALLEST_GAP) for gap in row[name]]
                        for name in ("mean", "low", "high")
                    )
                    front = learner == "Sieve"
                    if front:
                        axes.fill_between(row["budgets"], low, high, color=colour, alpha=0.18, lw=0)
                    axes.plot(
                        row["budgets"],
                        mean,
                        color=colour,
                        lw=2.2 if front else 1.0,
                        ls=dashes,
                        label=learner,
                        zorder=4 if front else 3,
                    )
            log_axes(axes, "")
            axes.set_title(task, fontsize=9, color=INK, loc="left")
        shared_legend(figure, panels)
        figure.supxlabel("rounds", fontsize=9.5)
        figure.supylabel("mean suboptimality", fontsize=9.5)
    return figure


def _unique(rows: Iterable[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _looks(learners: list[str]) -> dict[str, LineLook]:
    """The look of each learner; the Sieve alone is blue."""
    ours, *looks = line_looks(2 * len(learners) + 1)
    theirs = iter(look for look in looks if look.colour != ours.colour)
    return {name: ours if name == "Sieve" else next(theirs) for name in learners}
