"""How rounds grow, in tables and figures, and on a page."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from policysieve.bench.scaling.growth import COUNTS
from policysieve.report import Page, Table
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
from policysieve.report.table import Beyond, CellValue

__all__ = [
    "growth_by_sweep",
    "growth_of_proofs",
    "page",
    "slopes_by_sweep",
    "tables",
    "variance_of_designs",
]

_KINDS = {
    "right": ("Until they are right", "Rounds until 95% of the seeds are right within epsilon"),
    "certified": ("Until they can prove it", "Median rounds until epsilon is certified"),
}
_SHAPES = (
    " against what was varied, all on log scales. Dots were measured; a line has the predicted "
    "shape at the height of its dots, so that dots along it grow as predicted. Hollow dots were "
    "given up."
)
_COUNTS = {
    "eliminated": ("half eliminated", "v"),
    "without_union": ("no union", "D"),
    "certified": ("certified", "o"),
    "incumbent": ("no past", "^"),
}
_PROOFS = (
    "Median rounds of the Sieve until "
    + "; until ".join(f"{what} ({_COUNTS[count][0]})" for count, what in COUNTS.items())
    + ". Lines have the shape of the paper's rate with the logarithm that is paid there: that of "
    "the class for certificates, and none of it for the others."
)
_DOTTED = " The dotted line is the lower bound that the world is an instance of."

_SLOPE = ("slope", "lower", "upper", "predicted", "verdict")
_MARKERS = {
    "Uniform": "s",
    "LowVarianceExploration": "D",
    "ExplorationByOptimization": "^",
    "Sieve": "o",
}


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Slopes, lower bounds, the growth of proofs, the variance of designs, and all points."""
    rows, growth = result["sweeps"], result["growth"]
    found = {
        **{f"slopes_{kind}": _slopes(rows, kind) for kind in _KINDS},
        "bounds": Table(
            "Rounds until right on the lower bounds' own instances, the largest of each sweep",
            ["sweep", "learner", "rounds", "lower bound", "ratio"],
            [
                [row["sweep"], row["learner"], *_against_bound(row["points"][-1])]
                for row in rows
                if row["kind"] == "right" and row["points"][-1]["lower_bound"] is not None
            ],
        ),
        "closer": Table(
            "Slope of log rounds until right next to one that is expected more closely than by the "
            "rate",
            ["sweep", "learner", *_SLOPE],
            [
                [row["sweep"], row["learner"], *_slope(row["closer"])]
                for row in rows
                if row["closer"] is not None
            ],
            "In a contest the best policy has to come first in 95% of the seeds: a quantile of "
            "normal errors, in place of ln(n/delta).",
        ),
        "proofs": Table(
            "Slope of log rounds of the Sieve with its 95% interval, and that of the rate with the "
            "logarithm that is paid",
            ["worlds", "varied", "rounds until", *_SLOPE],
            [
                [row["summary"], row["axis"], what, *_slope(row["slopes"][count])]
                for row in growth
                for count, what in COUNTS.items()
            ],
        ),
        "proof_points": Table(
            "Median rounds of the Sieve",
            ["worlds", "varied", "value", *(name for name, _ in _COUNTS.values())]
            + ["rivals within epsilon"],
            [
                [row["summary"], row["axis"], point["x"]]
                + [point["rounds"][count] for count in COUNTS]
                + [point["close"]]
                for row in growth
                for point in row["points"]
            ],
            fold="All points",
        ),
        "variance": Table(
            "Largest variance term of a design, means over seeds",
            ["rounds of phase 1", "true", "observable bound", "bound in advance", "rate"]
            + ["uniform"],
            [
                [row["explore_rounds"]]
                + [row[key] for key in ("true", "observable", "bound", "rate", "uniform")]
                for row in result["variance"]
            ],
        ),
    }
    for kind, (_, what) in _KINDS.items():
        found[kind] = Table(
            what,
            ["sweep", "learner", "varied", "rounds", "rate", "lower bound"],
            [
                [row["sweep"], row["learner"], point["x"], _rounds(point)]
                + [point[key] and round(point[key]) for key in ("rate", "lower_bound")]
                for row in rows
                if row["kind"] == kind
                for point in row["points"]
            ],
            fold="All points",
        )
    return {name: table for name, table in found.items() if table.rows}


def page(result: dict[str, Any]) -> Page:
    """A page about measured growth next to that of the theorems."""
    rows, shown = result["sweeps"], tables(result)
    page = Page(
        "How rounds grow",
        "Measured growth of the rounds with 1/epsilon, actions, sparsity, lists and policies, next "
        "to that of the theorems, and the variance of designs next to its bounds.",
        configuration=result["settings"],
    )
    verdicts = [row["verdict"] for row in rows]
    page.facts(
        {
            "As predicted": (verdicts.count("as predicted"), f"of {len(rows)} slopes"),
            "Slower than predicted": (verdicts.count("above"), "the slope is above"),
            "Faster than predicted": (verdicts.count("below"), "the slope is below"),
            "Unknown": (verdicts.count("unknown"), "fewer than three points"),
        }
    )
    for kind, (heading, what) in _KINDS.items():
        mine = [row for row in rows if row["kind"] == kind]
        if mine:
            bounded = any(row["points"][0]["lower_bound"] is not None for row in mine)
            page.section(heading)
            page.figure(
                growth_by_sweep(mine), what + _SHAPES + (_DOTTED if bounded else ""), name=kind
            )
            page.table(shown[kind])
            if kind == "right" and "bounds" in shown:
                page.table(shown["bounds"])
    if rows:
        page.section("Slopes")
        if any(row["slope"] is not None for row in rows):
            page.figure(
                slopes_by_sweep(rows),
                "Slopes of log rounds, each with its 95% interval, and a bar where the predicted "
                "slope is. An interval that misses its bar does not grow as predicted.",
                name="slopes",
            )
        for kind in _KINDS:
            if f"slopes_{kind}" in shown:
                page.table(shown[f"slopes_{kind}"])
        if "closer" in shown:
            page.table(shown["closer"])
    if result["growth"]:
        page.section("Growth of a proof")
        page.figure(growth_of_proofs(result["growth"]), _PROOFS, name="proofs")
        page.table(shown["proofs"])
        page.table(shown["proof_points"])
    if "variance" in shown:
        page.section("Variance of designs")
        page.figure(
            variance_of_designs(result["variance"]),
            "The largest variance term of all policies against the rounds of phase 1, on log "
            "scales. It must stay below both bounds, and should fall below that of uniform "
            "exploration.",
            name="variance",
        )
        page.table(shown["variance"])
    return page


def _slope(fitted: dict[str, Any]) -> list[CellValue]:
    return [fitted[key] for key in ("slope", "low", "high", "predicted", "verdict")]


def _slopes(rows: list[dict[str, Any]], kind: str) -> Table:
    mine = [row for row in rows if row["kind"] == kind]
    given_up = [
        f"{row['learner']} on {row['sweep']} ({len(missing)} of {len(row['points'])})"
        for row in mine
        if (missing := [point for point in row["points"] if point["rounds"] is None])
    ]
    return Table(
        f"Slope of log rounds until {kind} with its 95% interval, and the slope of the theorems' "
        "rate",
        ["sweep", "learner", *_SLOPE],
        [[row["sweep"], row["learner"], *_slope(row)] for row in mine],
        f"Points that were given up: {', '.join(given_up)}. Of fewer than three points there is no "
        "slope."
        if given_up
        else "",
    )


def _rounds(point: dict[str, Any]) -> CellValue:
    return Beyond(point["most"]) if point["rounds"] is None else round(point["rounds"])


def _against_bound(point: dict[str, Any]) -> list[CellValue]:
    """Rounds, the lower bound, and their ratio where the learner was not given up."""
    rounds, bound = point["rounds"], point["lower_bound"]
    return [_rounds(point), round(bound), None if rounds is None else rounds / bound]


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
    _draw_shape(axes, [(point["x"], point["rounds"], point["rate"]) for point in known], colour)


def _draw_shape(axes: Axes, points: list[tuple[float, float, float]], colour: str) -> None:
    """A line of the predicted shape at the height of the dots: x, rounds and rate of each."""
    if points:
        x, rounds, rates = np.array(points, dtype=float).T
        scale = np.exp(np.mean(np.log(rounds) - np.log(rates)))
        axes.plot(x, scale * rates, color=colour, lw=0.9, alpha=0.7)


def growth_of_proofs(rows: list[dict[str, Any]]) -> Figure:
    """Draw the Sieve's rounds to a certificate and to its stages, a panel for each growth."""
    with look():
        figure, panels = new_panels(len(rows), columns=3, height=2.1)
        for axes, row in zip(panels, rows, strict=True):
            for colour, (count, (name, marker)) in zip(
                _count_colours(), _COUNTS.items(), strict=True
            ):
                known = [
                    (point["x"], point["rounds"][count], point["rates"][count])
                    for point in row["points"]
                    if point["rounds"][count] is not None
                ]
                x, rounds = [one[0] for one in known], [one[1] for one in known]
                axes.plot(x, rounds, marker, color=colour, ms=4, mew=0, label=name)
                _draw_shape(axes, known, colour)
            log_axes(axes, row["axis"])
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axes.set_title(row["summary"], fontsize=7.5, color=INK, loc="left")
        shared_legend(figure, panels, columns=4)
        figure.supylabel("rounds", fontsize=9.5)
    return figure


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


def _count_colours() -> list[str]:
    """That of the Sieve for its certificates."""
    first, second, third = colours(4)[1:]
    return [first, second, BLUE, third]
