"""Figures of how rounds grow: measured against predicted, and the variance of designs."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from policysieve.report.style import (
    BLUE,
    INK,
    colours,
    legend,
    log_axes,
    look,
    name_rows,
    new_figure,
    new_panels,
    shared_legend,
)

__all__ = ["growth_by_sweep", "slopes_by_sweep", "variance_of_designs"]

_MARKERS = {
    "Uniform": "s",
    "LowVarianceExploration": "D",
    "ExplorationByOptimization": "^",
    "Sieve": "o",
}


def growth_by_sweep(rows: list[dict[str, Any]]) -> Figure:
    """Draw rounds against what was varied, a panel for each sweep.

    Dots were measured; thin lines have the predicted shape, moved to the height of the dots. Hollow
    dots were given up there. A dotted line is the lower bound that the world is an instance of.
    """
    sweeps = list(dict.fromkeys(row["sweep"] for row in rows))
    with look():
        figure, panels = new_panels(len(sweeps), columns=2, height=2.5)
        for axes, sweep in zip(panels, sweeps, strict=True):
            mine = [row for row in rows if row["sweep"] == sweep]
            for row in mine:
                _draw_growth(axes, row)
            bounds = [(point["x"], point["lower_bound"]) for point in mine[0]["points"]]
            if bounds[0][1] is not None:
                axes.plot(*zip(*bounds, strict=True), ":", color=INK, lw=1.2, label="lower bound")
            log_axes(axes, mine[0]["axis"])
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
            at = [point["x"] for point in mine[0]["points"]]
            axes.set_xticks(at, [f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in at])
            axes.set_title(mine[0]["summary"], fontsize=8, color=INK, loc="left")
        shared_legend(figure, panels, columns=5)
        figure.supylabel("rounds", fontsize=9.5)
    return figure


def _draw_growth(axes: Axes, row: dict[str, Any]) -> None:
    colour, points = _colour(row["learner"]), row["points"]
    known = [point for point in points if point["rounds"] is not None]
    label = row["learner"]
    for done in (True, False):
        part = known if done else [point for point in points if point["rounds"] is None]
        axes.plot(
            [point["x"] for point in part],
            [point["rounds"] if done else point["most"] for point in part],
            _MARKERS[row["learner"]],
            ms=5,
            mfc=colour if done else "none",
            mec=colour,
            mew=0 if done else 1,
            label=label if done else None,
        )
    if known:
        rates = np.array([point["rate"] for point in known])
        scale = np.exp(np.mean(np.log([point["rounds"] for point in known]) - np.log(rates)))
        axes.plot([point["x"] for point in known], scale * rates, color=colour, lw=0.9, alpha=0.7)


def slopes_by_sweep(rows: list[dict[str, Any]]) -> Figure:
    """Draw measured slopes with their intervals, and a bar where the predicted one is."""
    rows = [row for row in rows if row["slope"] is not None]
    places = list(dict.fromkeys((row["sweep"], row["kind"]) for row in rows))
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    with look():
        figure, axes = new_figure(1.1 + 0.45 * len(places))
        for row in rows:
            place = places.index((row["sweep"], row["kind"]))
            at = place + 0.17 * (learners.index(row["learner"]) - (len(learners) - 1) / 2)
            colour = _colour(row["learner"])
            axes.plot([row["low"], row["high"]], [at, at], color=colour, lw=1.4, alpha=0.6)
            axes.plot(row["predicted"], at, "|", color=INK, ms=8, mew=1.6)
            axes.plot(row["slope"], at, _MARKERS[row["learner"]], color=colour, ms=5, mew=0)
        for learner in learners:
            axes.plot([], [], _MARKERS[learner], color=_colour(learner), label=learner)
        axes.plot([], [], "|", color=INK, ms=8, mew=1.6, label="predicted")
        shown = [row[key] for row in rows for key in ("slope", "predicted")]
        axes.set_xlim(min(shown) - 0.7, max(shown) + 0.7)  # where intervals are wider, they go on
        name_rows(axes, [f"{sweep}, {kind}" for sweep, kind in places])
        axes.set_xlabel("slope of log rounds")
        legend(figure, axes, columns=5)
    return figure


def variance_of_designs(rows: list[dict[str, Any]]) -> Figure:
    """Draw the largest variance term of designs against phase 1, between what bounds it."""
    rounds = [row["explore_rounds"] for row in rows]
    lines = [
        ("bound", "bound in advance", "o--"),
        ("observable", "observable bound", "s-"),
        ("rate", "rate, constant 1", "^:"),
        ("true", "largest of all policies", "D-"),
    ]
    with look():
        figure, axes = new_figure(3.4)
        for (key, label, style), colour in zip(lines, [*colours(4)[1:], BLUE], strict=True):
            axes.plot(rounds, [row[key] for row in rows], style, color=colour, label=label)
        axes.plot(rounds, [row["uniform"] for row in rows], color=INK, lw=0.9, label="uniform")
        log_axes(axes, "rounds of phase 1")
        axes.set_ylabel("variance term")
        legend(figure, axes, columns=5)
    return figure


def _colour(learner: str) -> str:
    others = [name for name in _MARKERS if name != "Sieve"]
    return BLUE if learner == "Sieve" else colours(4)[1 + others.index(learner)]
