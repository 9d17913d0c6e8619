"""Bandit classifiers compared, in tables and figures, and on a page."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from policysieve.bench.classify.contestants import CEILING, OURS
from policysieve.report import Page, Table
from policysieve.report.style import (
    BLUE,
    INK,
    colours,
    look,
    new_panels,
    rounds_axis,
    shared_legend,
)
from policysieve.report.table import CellValue, value_text

__all__ = ["accuracy_by_task", "page", "tables"]

ResultRows = list[dict[str, Any]]

_DASHES = ("-", "--", ":", "-.")


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Mean accuracies and rounds per second, a table for each task."""
    found = {}
    for task, rows in _by_task(result["rows"]).items():
        stops = max((row["checkpoints"] for row in rows), key=len)
        found[task] = Table(
            f"{task}: accuracy on held-out rows, mean of {result['settings']['seeds']} seeds",
            ["contestant", *(f"{stop:,}" for stop in stops), "rounds per second"],
            [
                [row["contestant"], *row["mean"]]
                + [None] * (len(stops) - len(row["mean"]))
                + [round(row["rounds_per_second"])]
                for row in rows
            ],
            "After each number of rounds, and the speed of deciding and learning. A dash: not all "
            "seeds got there in time.",
        )
    return found


def page(result: dict[str, Any]) -> Page:
    """A page about the accuracy of bandit classifiers, and their speed."""
    settings, tasks = result["settings"], _by_task(result["rows"])
    options = {
        task: {row["contestant"]: row["options"] for row in rows} for task, rows in tasks.items()
    }
    page = Page(
        "Bandit classifiers compared",
        f"Accuracy on held-out rows after up to {settings['rounds']:,} rounds, with "
        f"{settings['seeds']} seeds. Bandits only hear whether the label that they showed was "
        f"right; {CEILING} is told every label.",
        configuration={**settings, "options": options},
    )
    if tasks:
        page.facts({task: _headline(rows) for task, rows in tasks.items()})
        page.section("Accuracy")
        page.figure(
            accuracy_by_task(result["rows"]),
            "Mean accuracy on the rows held out against rounds: higher is better. Ours is the "
            "thick line, with a band from its worst to its best seed; the thin dark line is a fit "
            "that is told every label.",
            name="accuracy",
        )
    for table in tables(result).values():
        page.table(table)
    return page


def _by_task(rows: ResultRows) -> dict[str, ResultRows]:
    found: dict[str, ResultRows] = {}
    for row in rows:
        found.setdefault(row["task"], []).append(row)
    return found


def _headline(rows: ResultRows) -> tuple[CellValue, str]:
    """Our accuracy at the end, and who of the others that are not told labels was best."""
    ends = {row["contestant"]: row["mean"][-1] for row in rows if row["mean"]}
    others = {name: end for name, end in ends.items() if name not in (OURS, CEILING)}
    if not others:
        return ends.get(OURS), "no other bandit was measured"
    best = max(others, key=lambda name: others[name])
    return ends.get(OURS), f"best other bandit: {value_text(others[best])}, {best}"


def accuracy_by_task(rows: list[dict[str, Any]]) -> Figure:
    """Draw the mean accuracy against rounds, a panel for each task.

    The supervised fit on as many labelled rows is a thin black line above the others, our own
    classifier is blue with a band from its worst to its best seed.

    Parameters
    ----------
    rows : list of dict
        With ``task``, ``contestant``, ``checkpoints``, and ``mean``, ``low`` and ``high`` accuracy.
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    contestants = list(dict.fromkeys(row["contestant"] for row in rows))
    styles = _styles(contestants)
    with look():
        figure, panels = new_panels(len(tasks), columns=min(2, len(tasks)), height=2.9)
        for axes, task in zip(panels, tasks, strict=True):
            mine = [row for row in rows if row["task"] == task]
            for row in mine:
                _draw(axes, row, styles[row["contestant"]])
            stops = [stop for row in mine for stop in row["checkpoints"]]
            rounds_axis(axes, min(stops), max(stops))
            axes.set_ylabel("accuracy")
            axes.set_title(task, fontsize=9, color=INK, loc="left")
        shared_legend(figure, panels)
    return figure


def _draw(axes: Axes, row: dict[str, Any], style: dict[str, Any]) -> None:
    axes.plot(row["checkpoints"], row["mean"], label=row["contestant"], **style)
    if row["contestant"] == OURS:
        band = (row["low"], row["high"])
        axes.fill_between(row["checkpoints"], *band, color=style["color"], alpha=0.18, lw=0)


def _styles(contestants: list[str]) -> dict[str, dict[str, Any]]:
    """A look for each contestant: ours thick and blue, the ceiling black, no two others alike."""
    others = [name for name in contestants if name not in (OURS, CEILING)]
    hues = [colour for colour in colours(8) if colour != BLUE]
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": hues[i % len(hues)],
            "ls": _DASHES[i // len(hues) % len(_DASHES)],
            "lw": 1.1,
            "marker": "o",
            "ms": 2.5,
        }
        for i, name in enumerate(others)
    }
    styles[OURS] = {"color": BLUE, "lw": 2.2, "marker": "o", "zorder": 4}
    styles[CEILING] = {"color": INK, "lw": 1.0, "ls": "-"}
    return styles
