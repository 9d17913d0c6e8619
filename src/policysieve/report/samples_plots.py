"""Figures of the race: rounds by task and learner, and suboptimality against rounds."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from policysieve.report.style import BLUE, INK, colours, legend, look, new_figure, rounds_axis

__all__ = ["rounds_by_task", "save_samples_figures", "suboptimality_by_task"]

_MARKERS = "osD^vP*X<>"
_COLUMNS = 3
_SMALLEST_GAP = 1e-3  # drawn; zero has no place on a log axis


def save_samples_figures(result: dict[str, Any], folder: Path) -> None:
    """Write right.svg, certified.svg and curves.svg for what was measured."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = result["settings"]
    if result["picking"]:
        figure = rounds_by_task(result["picking"], "needed", settings["most"])
        figure.savefig(folder / "right.svg")
        suboptimality_by_task(result["picking"]).savefig(folder / "curves.svg")
    if result["proving"]:
        figure = rounds_by_task(result["proving"], "median", settings["most_to_prove"])
        figure.savefig(folder / "certified.svg")


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
        for learner, colour, marker in _styles(learners):
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
                    alpha=1.0 if front else 0.75,
                    label=learner if done else None,
                    zorder=4 if front else 3,
                )
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        rounds_axis(axes, min(drawn) * 0.8, max(drawn) * 1.25)
        legend(figure, axes)
    return figure


def suboptimality_by_task(rows: list[dict[str, Any]]) -> Figure:
    """Draw the mean suboptimality against rounds, a panel for each task, the Sieve with its band.

    The band holds eight of ten seeds.
    """
    tasks, learners = _unique(rows, "task"), _unique(rows, "learner")
    columns = min(_COLUMNS, len(tasks))
    lines = -(-len(tasks) // columns)
    with look():
        figure = Figure(figsize=(8.4, 0.6 + 2.1 * lines), layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False).ravel()
        for panel in panels[len(tasks) :]:
            panel.set_visible(False)
        for axes, task in zip(panels, tasks, strict=False):
            for learner, colour, _ in _styles(learners):
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
                        ls=_dash(learners.index(learner)),
                        label=learner,
                        zorder=4 if front else 3,
                    )
            axes.set(xscale="log", yscale="log")
            axes.set_title(task, fontsize=9, color=INK, loc="left")
        handles = {
            label: handle
            for axes in panels[: len(tasks)]
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=4)
        figure.supxlabel("rounds", fontsize=9.5)
        figure.supylabel("mean suboptimality", fontsize=9.5)
    return figure


def _unique(rows: Iterable[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _styles(learners: list[str]) -> list[tuple[str, str, str]]:
    """Each learner with its colour and marker; the Sieve is blue."""
    others = [name for name in learners if name != "Sieve"]
    palette = dict(zip(others, colours(len(others) + 1)[1:], strict=True)) | {"Sieve": BLUE}
    return [
        (name, palette[name], _MARKERS[learners.index(name) % len(_MARKERS)]) for name in learners
    ]


def _dash(index: int) -> Any:
    return "-" if index < 4 else ("--" if index < 7 else ":")
