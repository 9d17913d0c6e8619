"""Bandit classifiers compared, in tables and on a page."""

from typing import Any

from policysieve.bench.classify.contestants import CEILING, OURS
from policysieve.bench.classify.plots import accuracy_by_task
from policysieve.report import Page, Table
from policysieve.report.formats import Cell, value_text

__all__ = ["page", "tables"]

Rows = list[dict[str, Any]]


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


def _by_task(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["task"], []).append(row)
    return found


def _headline(rows: Rows) -> tuple[Cell, str]:
    """Our accuracy at the end, and who of the others that are not told labels was best."""
    ends = {row["contestant"]: row["mean"][-1] for row in rows if row["mean"]}
    others = {name: end for name, end in ends.items() if name not in (OURS, CEILING)}
    if not others:
        return ends.get(OURS), "no other bandit was measured"
    best = max(others, key=lambda name: others[name])
    return ends.get(OURS), f"best other bandit: {value_text(others[best])}, {best}"
