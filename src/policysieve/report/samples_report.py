"""The report of the race of all learners."""

from typing import Any

from policysieve.report.formats import Beyond, Cell
from policysieve.report.grids import add_left_out, grid
from policysieve.report.page import Page
from policysieve.report.samples_plots import rounds_by_task, suboptimality_by_task

__all__ = ["samples_page"]


def samples_page(result: dict[str, Any], made_by: str) -> Page:
    """A page about the rounds that learners need to be right, and to prove it."""
    settings, picking, proving = result["settings"], result["picking"], result["proving"]
    page = Page(
        "The race",
        f"The rounds that {_count(picking + proving, 'learner')} learners need on "
        f"{_count(picking + proving, 'task')} tasks to be right, with {settings['seeds']} seeds, "
        f"and to prove it, with {settings['proof_seeds']}.",
        configuration=settings,
        made_by=made_by,
    )
    if picking or proving:
        page.facts(_headlines(result["summary"]))
    if picking:
        _add_picking(page, result)
    if proving:
        _add_proving(page, result)
    add_left_out(page, result["skipped"])
    return page


def _headlines(summary: dict[str, Any]) -> dict[str, Cell | tuple[Cell, str]]:
    note = "ratio of rounds, geometric mean; below 1 the Sieve is ahead"
    headlines: dict[str, Cell | tuple[Cell, str]] = {
        "To be right, Sieve / best other": (summary["right_mean"], note)
    }
    for name, mean in summary["proved_mean"].items():
        headlines[f"To prove it, Sieve / {name}"] = (mean, note)
    return headlines


def _add_picking(page: Page, result: dict[str, Any]) -> None:
    rows, most, summary = result["picking"], result["settings"]["most"], result["summary"]
    page.section("Until they are right")
    page.figure(
        rounds_by_task(rows, "needed", most),
        "Rounds until 95% of the seeds are right within epsilon, a line for each task: further "
        "left is better. A hollow mark was not right yet when it was given up there.",
        name="right",
    )
    page.table(
        *grid(rows, "task", "learner", lambda row: _rounds(row, "needed", most)),
        "The same in numbers. A dash: this learner cannot play this task.",
    )
    if summary["right"]:
        page.table(
            ["task", "best other", "ratio"],
            [[task, row["best_other"], row["ratio"]] for task, row in summary["right"].items()],
            "The Sieve's rounds to be right by those of the best other learner of ours, task by "
            "task. Above 1 the Sieve loses.",
        )
        page.table(
            ["learner", "ratio"],
            list(summary["right_means"].items()),
            "The Sieve's rounds by those of each other learner, in the geometric mean over tasks.",
        )
    page.section("On the way")
    page.figure(
        suboptimality_by_task(rows),
        "Mean suboptimality of the recommended policy against rounds, both on log scales: lower is "
        "better. The band holds eight of ten seeds of the Sieve. Zero is drawn as 0.001.",
        name="curves",
    )


def _add_proving(page: Page, result: dict[str, Any]) -> None:
    rows, most = result["proving"], result["settings"]["most_to_prove"]
    page.section("Until they can prove it")
    page.figure(
        rounds_by_task(rows, "median", most),
        "Median rounds until epsilon is certified, by the same certificate for all: further left "
        "is better. A hollow mark had no certificate when it was given up there.",
        name="certified",
    )
    columns, lines = grid(rows, "task", "learner", lambda row: _rounds(row, "median", most))
    planned = {row["task"]: row["planned"] for row in rows}
    wrong = sum(row["false"] for row in rows)
    page.table(
        [*columns, "plan"],
        [[*line, planned[str(line[0])]] for line in lines],
        "The same in numbers, and the rounds that the plan asks for in advance. "
        f"Wrong certificates among all of them: {wrong}.",
    )


def _rounds(row: dict[str, Any], key: str, most: int) -> Cell:
    """The rounds under a key, or more than were tried: than the last budget, if there are any."""
    return Beyond(row.get("budgets", [most])[-1]) if row[key] is None else round(row[key])


def _count(rows: list[dict[str, Any]], key: str) -> int:
    return len({row[key] for row in rows})
