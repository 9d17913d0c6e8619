"""The benchmark of forecasts in tables, and its page."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from policysieve.bench.forecast.measuring import SETS, SHARES
from policysieve.report import Page, Table
from policysieve.report.style import legend, line_looks, look, new_figure, plain_number

__all__ = ["forecasts_by_share", "page", "tables"]

Row = dict[str, Any]

_TITLES = {
    "judged": "How good forecasts were on tasks that had no part in choosing them",
    "chose": "The same on made-up tasks like those that chose them",
}
_APART = 0.06  # of the two learners in the plot, as a share of the place


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """How good forecasts were, with each set of tasks, and on each task."""
    every = {
        which: Table(
            title,
            ["learner", "at", "forecasts", "error", "interval", "earlier", "held", "later"],
            [_row(row) for row in result["summary"] if row["set"] == which],
            "At a share of the rounds that the proof took in the end. Error: the median factor "
            "between forecast and truth. Interval: the median factor between its ends. Then how "
            "many proofs came earlier than it, within and later.",
        )
        for which, title in _TITLES.items()
    }
    every["tasks"] = Table(
        "What was forecast on each task halfway, and what it took",
        ["task", "learner", "runs", "median forecast", "median rounds", "held"],
        list(_tasks(result["rows"])),
        "Runs that had a forecast then.",
        fold="each task",
    )
    return {name: table for name, table in every.items() if table.rows}


def page(result: dict[str, Any]) -> Page:
    """A page about how good forecasts are."""
    shown, settings = tables(result), result["settings"]
    judged = [row for row in result["summary"] if row["set"] == "judged"]
    page = Page(
        "How long will it take?",
        "Forecasts of the rounds to a proof, asked for on the way, against the rounds that it "
        "took.",
        configuration=settings,
    )
    if judged:
        every, held = (sum(row[key] for row in judged) for key in ("forecasts", "held"))
        page.facts(
            {
                "Intervals that held": (f"{held / every:.0%}", f"of {every:,}"),
                "Stated": (f"{judged[0]['level']:.0%}", "of such cases"),
            }
        )
        page.section("Forecast and truth")
        page.figure(
            forecasts_by_share([row for row in result["rows"] if row["set"] == "judged"]),
            "Forecast divided by the rounds that the proof took, asked for at a share of these. A "
            "mark is the median over runs, a line goes from the tenth to the ninetieth in a "
            "hundred.",
            name="forecast",
        )
    for which in reversed(SETS):
        if which in shown:
            page.table(shown[which])
    if "tasks" in shown:
        page.table(shown["tasks"])
    return page


def forecasts_by_share(rows: Sequence[Row]) -> Figure:
    """Draw forecasts as shares of the truth, at each share of the rounds."""
    with look():
        figure, axes = new_figure(3.2)
        learners = list(dict.fromkeys(row["learner"] for row in rows))
        for number, style in enumerate(line_looks(len(learners))):
            mine = [row for row in rows if row["learner"] == learners[number]]
            for place, ratios in enumerate(_ratios(mine)):
                if not ratios:
                    continue
                at = place + _APART * (2 * number - len(learners) + 1)
                low, high = (ratios[round(q * (len(ratios) - 1))] for q in (0.1, 0.9))
                axes.plot([at, at], [low, high], color=style.colour)
                label = learners[number] if place == 0 else None
                axes.plot(at, median(ratios), style.marker, ms=6, color=style.colour, label=label)
        axes.axhline(1.0, lw=0.8, color="0.5")
        axes.set_yscale("log")
        axes.set_yticks([0.25, 0.5, 1, 2, 4])
        axes.yaxis.set_major_formatter(FuncFormatter(plain_number))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(range(len(SHARES)), [f"{share:.0%}" for share in SHARES])
        axes.set_xlabel("of the rounds that the proof took")
        axes.set_ylabel("forecast / truth")
        legend(figure, axes)
    return figure


def _ratios(rows: Sequence[Row]) -> list[list[float]]:
    """Forecasts divided by the truth, in order, for each share."""
    return [
        sorted(
            row["forecasts"][number]["total"] / row["needed"]
            for row in rows
            if row["forecasts"][number] is not None
        )
        for number in range(len(SHARES))
    ]


def _row(row: Row) -> list[Any]:
    return [
        row["learner"],
        f"{row['share']:.0%}",
        row["forecasts"],
        round(row["error"], 2),
        round(row["width"], 1),
        *(f"{row[key] / row['forecasts']:.0%}" for key in ("earlier", "held", "later")),
    ]


def _tasks(rows: Sequence[Row]) -> Any:
    halfway = SHARES.index(0.5)
    judged = [row for row in rows if row["set"] == "judged" and row["forecasts"][halfway]]
    for task, learner in dict.fromkeys((row["task"], row["learner"]) for row in judged):
        mine = [row for row in judged if (row["task"], row["learner"]) == (task, learner)]
        said = [(row["forecasts"][halfway], row["needed"]) for row in mine]
        held = sum(one["lower"] <= needed <= one["upper"] for one, needed in said)
        yield [
            task,
            learner,
            len(mine),
            round(median(one["total"] for one, _ in said)),
            round(median(needed for _, needed in said)),
            held,
        ]
