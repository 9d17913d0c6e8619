"""An experiment, learners compared over seeds: its figures and its page."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from policysieve.report.page import Page
from policysieve.report.run_report import best_in_words, leaders_caption, value_intervals
from policysieve.report.style import (
    INK,
    PAPER,
    colours,
    legend,
    line_looks,
    look,
    new_figure,
    rounds_axis,
    say,
)
from policysieve.report.table import CellValue, Table, shown_text

if TYPE_CHECKING:
    from policysieve.experiment import ExperimentResult, LearnerResult, SeedResult

__all__ = ["bound_by_learner", "experiment_page", "suboptimality_by_learner"]

_LEADERS = 15
_TITLE = 3  # names that go into a title
_SIEVE = (
    "The Sieve aims at epsilon, not at small bounds on the way. It spends its rounds on policies "
    "of close value, and seldom shows what only poor policies would show, so it eliminates these "
    "late. Until then its bound may be larger than that of other learners."
)
_SHORT = 12  # letters of a name that goes into a narrow column
_MARKS = 8  # on a line, where it has many points
_LOWEST = 0.1  # of epsilon: where the axis of the bound ends

Array = npt.NDArray[np.float64]
Points = Callable[["SeedResult"], Sequence[float]]


def experiment_page(result: "ExperimentResult", title: str | None, command: str | None) -> Page:
    """One page about an experiment."""
    problem, n_seeds = result.problem, len(result.seeds)
    n_policies = len(result.learners[0].seeds[0].result.intervals.values)
    names = [learner.name for learner in result.learners]
    page = Page(
        title if title is not None else _title(names),
        f"Looking for the best of {n_policies:,} policies on {problem.n_actions:,} actions, "
        f"{shown_text(problem.slate_size)} in each round, for at most {result.rounds:,} rounds"
        + (f", with {n_seeds} seeds each." if n_seeds > 1 else "."),
        configuration=result.configuration,
        made_by=command or "Experiment.run",
    )
    page.facts({learner.name: _headline(learner, result) for learner in result.learners})
    first = result.learners[0]
    page.text(
        f"{first.name} recommends {_policy(first, result)}"
        + (f" with seed {result.seeds[0]}" if n_seeds > 1 else "")
        + f". {first.recommendation.guarantee}",
        statement=True,
    )
    _add_proofs(page, result)
    if first.median_suboptimality is not None:
        _add_truth(page, result)
    _add_leaders(page, result)
    _add_runs(page, result)
    return page


def _headline(learner: "LearnerResult", result: "ExperimentResult") -> tuple[CellValue, str]:
    rounds, epsilon = learner.certified_rounds, result.problem.epsilon
    if rounds is None:
        return "not proved", f"epsilon {epsilon:g}, in {result.rounds:,} rounds"
    median = ", median" if len(result.seeds) > 1 else ""
    return round(rounds), f"rounds to prove epsilon {epsilon:g}{median}"


def _add_proofs(page: Page, result: "ExperimentResult") -> None:
    many = len(result.seeds) > 1
    page.section("What was proved")
    page.figure(
        bound_by_learner(result),
        "The best policy is better than the leading one by at most this much. The rounds of each "
        f"learner prove it with probability {1 - result.problem.delta:g}, whenever one looks. "
        + ("Lines are medians over seeds; bands reach from the best to the worst. " if many else "")
        + "A diamond marks the first checkpoint at which epsilon was proved. Bounds below a tenth "
        "of epsilon are drawn at a tenth.",
        name="bounds",
    )
    if any(learner.seeds[0].result.learner == "Sieve" for learner in result.learners):
        page.text(_SIEVE)
    known = result.learners[0].median_suboptimality is not None
    page.table(
        Table(
            "Rounds until epsilon was proved, and the bound at the end"
            + (", with the true distance of the recommended policy to the best" if known else ""),
            ["learner", "proved after"]
            + ["by seeds"] * many
            + ["bound at end"]
            + ["distance"] * known
            + ["worst"] * (known and many)
            + ["recommends"],
            [
                [
                    learner.name,
                    None if learner.certified_rounds is None else round(learner.certified_rounds),
                    *([f"{learner.n_certified} of {len(learner.seeds)}"] * many),
                    learner.median_bound,
                    *([learner.median_suboptimality] * known),
                    *([learner.worst_suboptimality] * (known and many)),
                    learner.recommendation.policy_name,
                ]
                for learner in result.learners
            ],
            ("Medians over seeds; the recommendation is that of the first. " if many else "")
            + "Some learners stop once epsilon is proved, others play on.",
        )
    )


def _add_truth(page: Page, result: "ExperimentResult") -> None:
    page.section("How good it was")
    page.figure(
        suboptimality_by_learner(result),
        "By how much the best policy is truly better than the one that the learner would have "
        "recommended then."
        + (
            " Lines are medians over seeds, in bands of all seeds." if len(result.seeds) > 1 else ""
        ),
        name="suboptimality",
    )


def _add_leaders(page: Page, result: "ExperimentResult") -> None:
    learner = result.learners[0]
    run = learner.seeds[0].result
    known, best = run.true_values is not None, best_in_words(result.problem)
    page.section(f"The leading policies of {learner.name}")
    page.figure(value_intervals(run, _LEADERS), leaders_caption(run), name="leaders")
    columns = {"description": "what it is", "value": "estimate", "lower": "lower", "upper": "upper"}
    if result.descriptions is None:
        del columns["description"]
    if known:
        columns["true_value"] = "true value"
    leaders = result.leaders(learner, _LEADERS)
    page.table(
        Table(
            f"The {len(leaders)} policies with the {best} estimates"
            + (f", with seed {result.seeds[0]}" if len(result.seeds) > 1 else ""),
            ["policy", *columns.values()],
            [
                [run.intervals.label_of(leader["policy"]), *(leader[name] for name in columns)]
                for leader in leaders
            ],
        )
    )


def _add_runs(page: Page, result: "ExperimentResult") -> None:
    page.section("Every run")
    rows: list[list[CellValue]] = [
        [
            learner.name,
            one.seed,
            one.result.rounds,
            one.result.finished,
            one.certified_rounds,
            one.proofs[-1].suboptimality_bound,
            one.result.suboptimality,
            one.result.recommendation.policy_name,
            one.proofs[-1].survivors,
        ]
        for learner in result.learners
        for one in learner.seeds
    ]
    columns = ["learner", "seed", "rounds", "finished", "proved after", "bound at end"]
    page.table(
        Table(
            "Learners with the same seed meet the same world",
            [*columns, "distance", "recommends", "policies left"],
            rows,
            fold=f"All {len(rows)} runs" if len(rows) != 1 else "The one run",
        )
    )


def _policy(learner: "LearnerResult", result: "ExperimentResult") -> str:
    best = learner.recommendation
    if result.descriptions is None or not isinstance(best.policy, int):
        return best.policy_name
    return f"{best.policy_name} ({result.descriptions[best.policy]})"


def _title(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    if len(names) > _TITLE:
        return f"{len(names)} learners compared"
    return f"{', '.join(names[:-1])} and {names[-1]} compared"


def bound_by_learner(result: "ExperimentResult") -> Figure:
    """Draw what each learner's rounds had proved, the median over seeds in a band of all of them.

    Returns
    -------
    Figure
        On log axes, with a dotted level for epsilon and a diamond where a seed had proved it.
        Bounds below a tenth of epsilon lie at the lower end.
    """
    lowest = _LOWEST * result.problem.epsilon
    with look():
        figure, axes = new_figure(3.8)
        drawn = _draw_learners(
            figure,
            result,
            lambda one: [max(proof.suboptimality_bound, lowest) for proof in one.proofs],
        )
        if not drawn:
            return figure
        for learner, colour in zip(result.learners, colours(len(result.learners)), strict=True):
            proofs = [
                next((proof for proof in one.proofs if proof.certified), None)
                for one in learner.seeds
            ]
            marks = [(p.rounds, max(p.suboptimality_bound, lowest)) for p in proofs if p]
            if marks:
                x, y = zip(*marks, strict=True)
                axes.plot(x, y, "D", ms=5.5, mfc=PAPER, mec=colour, clip_on=False, zorder=4)
        axes.axhline(
            result.problem.epsilon,
            color=INK,
            ls=(0, (1, 2)),
            lw=1.3,
            label=f"epsilon {result.problem.epsilon:g}",
        )
        axes.set_yscale("log")
        axes.set_ylim(bottom=lowest)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("suboptimality bound")
        _legend(figure, result)
    return figure


def suboptimality_by_learner(result: "ExperimentResult") -> Figure:
    """Draw how far the recommended policy truly was from the best one, where that is known.

    The median over seeds, in a band of all of them.
    """
    with look():
        figure, axes = new_figure(3.4)
        if not _draw_learners(
            figure,
            result,
            lambda one: [
                np.nan if checkpoint.suboptimality is None else checkpoint.suboptimality
                for checkpoint in one.result.history
            ],
            nothing="The distance to the best policy is not known.",
        ):
            return figure
        axes.set_ylim(bottom=0)
        axes.set_ylabel("distance to the best policy")
        _legend(figure, result)
    return figure


def _legend(figure: Figure, result: "ExperimentResult") -> None:
    """Name the lines, in few columns when the names are long."""
    longest = max(len(learner.name) for learner in result.learners)
    legend(figure, figure.axes[0], columns=4 if longest <= _SHORT else 2)


def _draw_learners(
    figure: Figure,
    result: "ExperimentResult",
    points: Points,
    nothing: str = "No rounds were played.",
) -> bool:
    """Draw a line and a band for each learner; say `nothing`, and return False, without points."""
    axes = figure.axes[0]
    drawn: list[float] = []
    many = len(result.seeds) > 1
    looks = line_looks(len(result.learners))
    for learner, (colour, marker, dashes) in zip(result.learners, looks, strict=True):
        rounds, values = _over_rounds(learner, points)
        if not len(rounds):
            continue
        drawn += [rounds[0], rounds[-1]]
        if many:
            axes.fill_between(
                rounds, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.16, lw=0
            )
        axes.plot(
            rounds,
            np.median(values, axis=0),
            color=colour,
            ls=dashes,
            marker=marker,
            markevery=(0, max(1, len(rounds) // _MARKS)),
            label=learner.name,
            clip_on=False,
            zorder=3,
        )
    if not drawn:
        say(figure, axes, nothing)
        return False
    rounds_axis(axes, min(drawn), max(drawn))
    return True


def _over_rounds(learner: "LearnerResult", points: Points) -> tuple[Array, Array]:
    """The rounds of any checkpoint, and the values of each seed there, shape (seeds, rounds).

    A seed keeps its last value after it has stopped. Rounds before the first checkpoint of any seed
    are left out, as is what is not known.
    """
    curves = []
    for one in learner.seeds:
        rounds = np.array([proof.rounds for proof in one.proofs], dtype=float)
        values = np.array(points(one), dtype=float)
        kept = (rounds > 0) & np.isfinite(values)
        curves.append((rounds[kept], values[kept]))
    if not all(len(rounds) for rounds, _ in curves):
        return np.empty(0), np.empty((len(curves), 0))
    grid = np.unique(np.concatenate([rounds for rounds, _ in curves]))
    grid = grid[grid >= max(rounds[0] for rounds, _ in curves)]
    return grid, np.array(
        [values[np.searchsorted(rounds, grid, side="right") - 1] for rounds, values in curves]
    )
