"""How rounds grow, in tables and on a page."""

from typing import Any

from policysieve.bench.scaling.plots import growth_by_sweep, slopes_by_sweep, variance_of_designs
from policysieve.report import Page, Table
from policysieve.report.formats import Beyond, Cell

__all__ = ["page", "tables"]

_KINDS = {
    "right": ("Until they are right", "Rounds until 95% of the seeds are right within epsilon"),
    "certified": ("Until they can prove it", "Median rounds until epsilon is certified"),
}
_SHAPES = (
    " against what was varied, all on log scales. Dots were measured; a line has the predicted "
    "shape at the height of its dots, so that dots along it grow as predicted. Hollow dots were "
    "given up."
)
_DOTTED = " The dotted line is the lower bound that the world is an instance of."


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Slopes, lower bounds, the variance of designs, and all points."""
    rows = result["sweeps"]
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
        ["sweep", "learner", "slope", "lower", "upper", "predicted", "verdict"],
        [
            [row["sweep"], row["learner"]]
            + [row[key] for key in ("slope", "low", "high", "predicted", "verdict")]
            for row in mine
        ],
        f"Points that were given up: {', '.join(given_up)}. Of fewer than three points there is no "
        "slope."
        if given_up
        else "",
    )


def _rounds(point: dict[str, Any]) -> Cell:
    return Beyond(point["most"]) if point["rounds"] is None else round(point["rounds"])


def _against_bound(point: dict[str, Any]) -> list[Cell]:
    """Rounds, the lower bound, and their ratio where the learner was not given up."""
    rounds, bound = point["rounds"], point["lower_bound"]
    return [_rounds(point), round(bound), None if rounds is None else rounds / bound]
