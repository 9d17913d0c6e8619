"""The race in tables and figures, and its page."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from policysieve.report import Page, Table
from policysieve.report.style import (
    INK,
    LineLook,
    legend,
    line_looks,
    log_axes,
    look,
    name_rows,
    new_figure,
    new_panels,
    rounds_axis,
    shared_legend,
)
from policysieve.report.table import Beyond, CellValue, value_text

__all__ = ["page", "rounds_by_task", "suboptimality_by_task", "tables"]

_NOTE = "ratio of rounds, geometric mean; below 1 the Sieve is ahead"
_GAP_NOTE = "up to 3,000 rounds, geometric mean; below 1 the Sieve is ahead"
_COLUMNS = 3  # of panels
_WORDS = {
    "SieveOnFunctions": "Sieve on functions",
    "PoliciesAsArms": "policies as arms",
    "AllLabelsRevealed": "all labels revealed",
    "SieveWithVote": "Sieve with a vote",
    "SieveWithFittedVotes": "Sieve with fitted votes",
    "VoteOfSieve": "vote of the Sieve",
}
_PROVERS_NOTE = (
    "Sieve on functions: the same policies, of which contexts cannot be listed. Policies as arms: "
    "an A/B/n test with best-arm identification, each candidate judged by its own rounds. All "
    "labels revealed: the same certificate when every reward of a round is seen, which no bandit "
    "can beat. With a vote: the vote of all candidates is one of them. With fitted votes: so are "
    "votes with weights from the first 100 rounds, which do not judge them."
)
_SMALLEST_GAP = 1e-3  # drawn; zero has no place on a log axis


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Rounds to be right and to a certificate, and ratios of them."""
    settings, summary = result["settings"], result["summary"]
    right, best, mean = result["picking"], summary["right"], summary["right_mean"]
    certified = result["proving"]
    planned = {row["task"]: row["planned"] for row in certified}
    learners, rows = _grid(certified, "median", settings["most_to_prove"])
    gaps, gap_means = summary.get("gaps", {}), summary.get("gap_means", {})
    others = dict.fromkeys([*summary["right_means"], *summary["proved_mean"]])
    found = {
        "right": Table(
            "Rounds until 95% of the seeds are right within epsilon",
            *_grid(right, "needed", settings["most"]),
            "A dash: this learner cannot play this task. Who may deploy a vote of the candidates "
            "is right, too, when that is better than the best of them.",
        ),
        "best": Table(
            "The Sieve's rounds to be right by those of the best other learner of ours",
            ["task", "best other", "ratio"],
            [[task, row["best_other"], row["ratio"]] for task, row in best.items()],
            "Above 1 the Sieve loses." + _mean_words(mean),
        ),
        "gaps": Table(
            "Average suboptimality over the budgets up to 3,000 rounds",
            *_gap_grid(gaps, summary.get("gap", {})),
            "The mean over seeds and then over budgets, which grow by half; lower is better. "
            "Learners that did not play all of these budgets are left out. The ratio is the "
            "Sieve's by that of the best other learner of ours, where less than 0.0001 counts as "
            "that." + _mean_words(summary.get("gap_mean")),
        ),
        "certified": Table(
            "Median rounds until epsilon is certified, and those that the plan asks for in advance",
            [*learners, "plan"],
            [[*row, planned[str(row[0])]] for row in rows],
            f"Wrong certificates among all of them: {sum(row['false'] for row in certified)}. "
            + _PROVERS_NOTE,
        ),
        "means": Table(
            "The Sieve's rounds and suboptimality by those of others, in the geometric mean over "
            "tasks",
            ["against", "rounds to be right", "average suboptimality", "rounds to prove it"],
            [
                [
                    _WORDS.get(name, name),
                    summary["right_means"].get(name),
                    gap_means.get(name),
                    summary["proved_mean"].get(name),
                ]
                for name in others
            ],
            "A dash: not measured, or the Sieve was given up itself.",
        ),
    }
    return {name: table for name, table in found.items() if table.rows}


def page(result: dict[str, Any]) -> Page:
    """A page about the rounds that learners need to be right, and to prove it."""
    settings, right, certified = result["settings"], result["picking"], result["proving"]
    shown = tables(result)
    n_learners, n_tasks = (
        len({row[key] for row in right + certified}) for key in ("learner", "task")
    )
    page = Page(
        "The race",
        f"The rounds that {n_learners} learners need on {n_tasks} tasks to be right, with "
        f"{settings['seeds']} seeds, and to prove it, with {settings['proof_seeds']}.",
        configuration=settings,
    )
    if shown:
        page.facts(_headlines(result["summary"]))
    if right:
        page.section("Until they are right")
        page.figure(
            rounds_by_task(right, "needed", settings["most"]),
            "Rounds until 95% of the seeds are right within epsilon, a line for each task: further "
            "left is better. A hollow mark was not right yet when it was given up there.",
            name="right",
        )
        for name in ("right", "best"):
            if name in shown:
                page.table(shown[name])
        page.section("On the way")
        if "gaps" in shown:
            page.table(shown["gaps"])
        page.figure(
            suboptimality_by_task(right),
            "Mean suboptimality of the recommended policy against rounds, both on log scales: "
            "lower is better. The band holds eight of ten seeds of the Sieve. Zero is drawn as "
            "0.001.",
            name="curves",
        )
    if certified:
        page.section("Until they can prove it")
        page.figure(
            rounds_by_task(certified, "median", settings["most_to_prove"]),
            "Median rounds until epsilon is certified, by the same certificate for all but "
            "policies as arms: further left is better. A hollow mark had no certificate when it "
            "was given up there.",
            name="certified",
        )
        page.table(shown["certified"])
    if "means" in shown:
        page.section("All in all").table(shown["means"])
    return page


def _headlines(summary: dict[str, Any]) -> dict[str, tuple[CellValue, str]]:
    headlines = {"To be right, Sieve / best other": (summary["right_mean"], _NOTE)}
    if "gap_mean" in summary:
        headlines["Average suboptimality, Sieve / best other"] = (summary["gap_mean"], _GAP_NOTE)
    for name, mean in summary["proved_mean"].items():
        headlines[f"To prove it, Sieve / {_WORDS.get(name, name)}"] = (mean, _NOTE)
    return headlines


def _grid(
    rows: list[dict[str, Any]], key: str, most: int
) -> tuple[list[str], list[list[CellValue]]]:
    """Columns and rows of a table with a row for each task and a column for each learner."""
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    found = {(row["task"], row["learner"]): _rounds(row, key, most) for row in rows}
    tasks = dict.fromkeys(row["task"] for row in rows)
    return ["task", *(_WORDS.get(name, name) for name in learners)], [
        [task, *(found.get((task, learner)) for learner in learners)] for task in tasks
    ]


def _gap_grid(
    gaps: dict[str, dict[str, float]], best: dict[str, dict[str, Any]]
) -> tuple[list[str], list[list[CellValue]]]:
    """Columns and rows of average suboptimalities, and the Sieve's ratio to the best other's."""
    learners = list(dict.fromkeys(name for found in gaps.values() for name in found))
    return ["task", *learners, "Sieve / best other"], [
        [task, *(found.get(name) for name in learners), best.get(task, {}).get("ratio")]
        for task, found in gaps.items()
    ]


def _mean_words(mean: float | None) -> str:
    return "" if mean is None else f" The geometric mean is {value_text(mean)}."


def _rounds(row: dict[str, Any], key: str, most: int) -> CellValue:
    """The rounds under a key, or more than were tried: than the last budget, if there are any."""
    return Beyond(row.get("budgets", [most])[-1]) if row[key] is None else round(row[key])


def rounds_by_task(rows: list[dict[str, Any]], key: str, most: int) -> Figure:
    """Draw the rounds of every learner on a line for each task; hollow where it was given up.

    Parameters
    ----------
    rows : list of dict
        With ``task``, ``learner`` and the rounds under `key`, None beyond the last of ``budgets``,
        or beyond `most` without them.
    key : str
    most : int
    """
    tasks, learners = _unique(rows, "task"), _unique(rows, "learner")
    with look():
        figure, axes = new_figure(1.2 + 0.3 * len(tasks))
        drawn: list[float] = []
        for learner, (colour, marker, _) in _looks(learners).items():
            mine = [row for row in rows if row["learner"] == learner]
            at = [tasks.index(row["task"]) for row in mine]
            known = [row[key] is not None for row in mine]
            tried = [row.get("budgets", [most])[-1] for row in mine]
            rounds = [
                n if row[key] is None else row[key] for n, row in zip(tried, mine, strict=True)
            ]
            drawn += rounds
            front = learner == "Sieve"
            for done in (True, False):
                pairs = [
                    (n, y)
                    for n, y, is_known in zip(rounds, at, known, strict=True)
                    if is_known is done
                ]
                if not pairs and not done:
                    continue
                axes.plot(
                    [n for n, _ in pairs],
                    [y for _, y in pairs],
                    marker,
                    ms=8 if front else 5.5,
                    mfc=colour if done else "none",
                    mec=colour,
                    mew=0 if done else 1,
                    alpha=1.0 if front else 0.9,
                    label=_WORDS.get(learner, learner) if done else None,
                    zorder=4 if front else 3,
                )
        name_rows(axes, tasks)
        rounds_axis(axes, min(drawn) * 0.8, max(drawn) * 1.25)
        legend(figure, axes)
    return figure


def suboptimality_by_task(rows: list[dict[str, Any]]) -> Figure:
    """Draw the mean suboptimality against rounds, a panel for each task, the Sieve with its band.

    The band holds eight of ten seeds.
    """
    tasks, learners = _unique(rows, "task"), _unique(rows, "learner")
    with look():
        figure, panels = new_panels(len(tasks), columns=min(_COLUMNS, len(tasks)), height=2.1)
        for axes, task in zip(panels, tasks, strict=True):
            for learner, (colour, _, dashes) in _looks(learners).items():
                for row in rows:
                    if (row["task"], row["learner"]) != (task, learner):
                        continue
                    mean, low, high = (
                        [max(gap, _SMALLEST_GAP) for gap in row[name]]
                        for name in ("mean", "low", "high")
                    )
                    front = learner == "Sieve"
                    if front:
                        axes.fill_between(row["budgets"], low, high, color=colour, alpha=0.18, lw=0)
                    axes.plot(
                        row["budgets"],
                        mean,
                        color=colour,
                        lw=2.2 if front else 1.0,
                        ls=dashes,
                        label=learner,
                        zorder=4 if front else 3,
                    )
            log_axes(axes, "")
            axes.set_title(task, fontsize=9, color=INK, loc="left")
        shared_legend(figure, panels)
        figure.supxlabel("rounds", fontsize=9.5)
        figure.supylabel("mean suboptimality", fontsize=9.5)
    return figure


def _unique(rows: Iterable[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _looks(learners: list[str]) -> dict[str, LineLook]:
    """The look of each learner; the Sieve alone is blue."""
    ours, *looks = line_looks(2 * len(learners) + 1)
    theirs = iter(look for look in looks if look.colour != ours.colour)
    return {name: ours if name == "Sieve" else next(theirs) for name in learners}
