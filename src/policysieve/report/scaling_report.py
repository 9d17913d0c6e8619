"""The report of how rounds grow."""

from typing import Any

from policysieve.report.formats import Beyond, Cell
from policysieve.report.page import Page
from policysieve.report.scaling_plots import growth_by_sweep, slopes_by_sweep, variance_of_designs

__all__ = ["scaling_page"]

_KINDS = {
    "right": ("Until they are right", "Rounds until 95% of the seeds are right within epsilon"),
    "certified": ("Until they can prove it", "Median rounds until epsilon is certified"),
}
_SHAPES = (
    " against what was varied, all on log scales. Dots were measured; a line has the predicted "
    "shape at the height of its dots, so that dots along it grow as predicted. Hollow dots were "
    "given up."
)


def scaling_page(result: dict[str, Any], made_by: str) -> Page:
    """A page about measured growth next to that of the theorems."""
    rows = result["sweeps"]
    page = Page(
        "How rounds grow",
        "Measured growth of the rounds with 1/epsilon, actions, sparsity, lists and policies, next "
        "to that of the theorems, and the variance of designs next to its bounds.",
        configuration=result["settings"],
        made_by=made_by,
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
            page.section(heading)
            bounded = any(row["points"][0]["lower_bound"] is not None for row in mine)
            dotted = " The dotted line is the lower bound that the world is an instance of."
            page.figure(
                growth_by_sweep(mine), what + _SHAPES + (dotted if bounded else ""), name=kind
            )
            page.table(*_points(mine), "The same in numbers.", fold="All points")
    _add_slopes(page, rows)
    _add_variance(page, result["variance"])
    return page


def _points(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[Cell]]]:
    lines: list[list[Cell]] = [
        [
            row["sweep"],
            row["learner"],
            point["x"],
            Beyond(point["most"]) if point["rounds"] is None else round(point["rounds"]),
            round(point["rate"]),
            None if point["lower_bound"] is None else round(point["lower_bound"]),
        ]
        for row in rows
        for point in row["points"]
    ]
    return ["sweep", "learner", "varied", "rounds", "rate", "lower bound"], lines


def _add_slopes(page: Page, rows: list[dict[str, Any]]) -> None:
    page.section("Slopes")
    if any(row["slope"] is not None for row in rows):
        page.figure(
            slopes_by_sweep(rows),
            "Slopes of log rounds, each with its 95% interval, and a bar where the predicted slope "
            "is. An interval that misses its bar does not grow as predicted.",
            name="slopes",
        )
    page.table(
        ["sweep", "kind", "learner", "slope", "lower", "upper", "predicted", "verdict"],
        [
            [row["sweep"], row["kind"], row["learner"]]
            + [row[key] for key in ("slope", "low", "high", "predicted", "verdict")]
            for row in rows
        ],
        "Every slope. A dash: fewer than three points were measured before giving up.",
    )


def _add_variance(page: Page, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    page.section("Variance of designs")
    page.figure(
        variance_of_designs(rows),
        "The largest variance term of all policies against the rounds of phase 1, on log scales. "
        "It must stay below both bounds, and should fall below that of uniform exploration.",
        name="variance",
    )
    keys = ("true", "observable", "bound", "rate", "uniform")
    page.table(
        ["rounds of phase 1", "true", "observable bound", "bound in advance", "rate", "uniform"],
        [[row["explore_rounds"], *(row[key] for key in keys)] for row in rows],
        "The same in numbers, means over seeds.",
    )
