"""List classifiers compared, in tables and a figure, and on a page."""

from dataclasses import replace
from typing import Any

from policysieve.bench.classify import page as classify
from policysieve.bench.classify.contestants import CEILING
from policysieve.report import Page, Table

__all__ = ["page", "tables"]


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Mean shares of right labels and rounds per second, a table for each task."""
    seeds = result["settings"]["seeds"]
    return {
        task: replace(table, title=f"{task}: share of right labels in lists, mean of {seeds} seeds")
        for task, table in classify.tables(result).items()
    }


def page(result: dict[str, Any]) -> Page:
    """A page about how many labels in lists are right, and the speed of those who show them."""
    settings, rows = result["settings"], result["rows"]
    options: dict[str, dict[str, Any]] = {}
    for row in rows:
        options.setdefault(row["task"], {})[row["contestant"]] = row["options"]
    page = Page(
        "List classifiers compared",
        f"The share of right labels in lists for held-out rows after up to {settings['rounds']:,} "
        f"rounds, with {settings['seeds']} seeds. Bandits only hear which labels of their lists "
        f"were right; {CEILING} is told about all.",
        configuration={**settings, "options": options},
    )
    if rows:
        page.figure(
            classify.accuracy_by_task(rows),
            "Mean share of right labels against rounds: higher is better. Ours is the thick line, "
            "with a band from its worst to its best seed; the thin dark line is a fit that is told "
            "about all labels.",
            name="lists",
        )
    for table in tables(result).values():
        page.table(table)
    return page
