"""The report of the comparison of bandit classifiers."""

from typing import Any

from policysieve.report.classify_plots import CEILING, OURS, accuracy_by_task
from policysieve.report.formats import Cell, value_text
from policysieve.report.grids import add_left_out
from policysieve.report.page import Page

__all__ = ["classify_page"]


def classify_page(result: dict[str, Any], made_by: str) -> Page:
    """A page about the accuracy of bandit classifiers, and their speed."""
    rows, settings = result["rows"], result["settings"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    options: dict[str, Any] = {
        task: {row["contestant"]: row["options"] for row in rows if row["task"] == task}
        for task in tasks
    }
    page = Page(
        "Bandit classifiers compared",
        f"Accuracy on held-out rows after up to {settings['rounds']:,} rounds, with "
        f"{settings['seeds']} seeds. Bandits only hear whether the label that they showed was "
        f"right; {CEILING} is told every label.",
        configuration={**settings, "options": options},
        made_by=made_by,
    )
    if rows:
        page.facts(
            {task: _headline([row for row in rows if row["task"] == task]) for task in tasks}
        )
        page.section("Accuracy")
        page.figure(
            accuracy_by_task(rows),
            "Mean accuracy on the rows held out against rounds: higher is better. Ours is the "
            "thick line, with a band from its worst to its best seed; the thin dark line is a fit "
            "that is told every label.",
            name="accuracy",
        )
    for task in tasks:
        mine = [row for row in rows if row["task"] == task]
        stops = max((row["checkpoints"] for row in mine), key=len)
        page.table(
            ["contestant", *(f"{stop:,}" for stop in stops), "rounds per second"],
            [
                [
                    row["contestant"],
                    *row["mean"],
                    *(None for _ in stops[len(row["mean"]) :]),
                    round(row["rounds_per_second"]),
                ]
                for row in mine
            ],
            f"{task}: mean accuracy after each number of rounds, and the speed of deciding and "
            "learning. A dash: not all seeds got there in time.",
        )
    add_left_out(page, result["skipped"])
    return page


def _headline(rows: list[dict[str, Any]]) -> tuple[Cell, str]:
    """Our accuracy at the end, and who of the others that are not told labels was best."""
    ends = {row["contestant"]: row["mean"][-1] for row in rows if row["mean"]}
    others = {name: end for name, end in ends.items() if name not in (OURS, CEILING)}
    if not others:
        return ends.get(OURS), "no other bandit was measured"
    best = max(others, key=lambda name: others[name])
    return ends.get(OURS), f"best other bandit: {value_text(others[best])}, {best}"
