"""Figure of the comparison of bandit classifiers: accuracy against rounds."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from policysieve.bench.classify.contestants import CEILING, OURS
from policysieve.report.style import (
    BLUE,
    INK,
    colours,
    look,
    new_panels,
    rounds_axis,
    shared_legend,
)

__all__ = ["accuracy_by_task"]

_DASHES = ("-", "--", ":", "-.")


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
