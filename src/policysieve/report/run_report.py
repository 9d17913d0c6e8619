"""One run: its figures and its page."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from policysieve.checks import integer
from policysieve.report.cost_report import add_cost, cost_facts
from policysieve.report.page import Page
from policysieve.report.style import (
    BLUE,
    INK,
    PAPER,
    legend,
    line_looks,
    look,
    name_rows,
    new_figure,
    rounds_axis,
    say,
    short_names,
)
from policysieve.report.table import CellValue, Table, gain_fact, shown_text, value_text
from policysieve.report.usage_report import add_usage
from policysieve.scaling import range_in_words

if TYPE_CHECKING:
    from policysieve.evidence import Selection
    from policysieve.problem import Problem
    from policysieve.simulate import RunResult
    from policysieve.study import StudyStatus

__all__ = [
    "best_in_words",
    "estimate_over_rounds",
    "leaders_caption",
    "problem_settings",
    "run_page",
    "suboptimality_over_rounds",
    "value_intervals",
]

_LEADERS = 15
_FEW = 20  # names of actions that a configuration lists


def run_page(result: "RunResult", title: str | None, command: str | None) -> Page:
    """One page about a run."""
    best, problem = result.recommendation, result.problem
    page = Page(
        title if title is not None else f"{result.learner} recommends {best.policy_name}",
        f"{result.learner} looked for the best of {result.intervals.candidates} on "
        f"{problem.n_actions:,} actions, {shown_text(problem.slate_size)} in each of "
        f"{result.rounds:,} rounds.",
        configuration=_configuration(result),
        made_by=command or "policysieve.run",
    )
    page.facts(_headlines(result))
    page.text(best.guarantee, statement=True)
    page.section("The leading policies")
    _add_leaders(page, result)
    page.section("How it got there")
    _add_progress(page, result)
    add_cost(page, result)
    add_usage(page, result.usage)
    return page


def _headlines(result: "RunResult") -> dict[str, CellValue | tuple[CellValue, str]]:
    best, epsilon = result.recommendation, result.problem.epsilon
    stop = "the learner finished" if result.finished else "the learner had not finished"
    return {
        "Recommended": best.policy_name,
        "Estimated value": (
            best.value,
            f"interval {value_text(best.lower)} to {value_text(best.upper)}",
        ),
        "Suboptimality bound": (
            best.suboptimality_bound,
            f"asked for: epsilon {value_text(epsilon)}",
        ),
        "Certified": (
            best.certified,
            "the bound is at most epsilon" if best.certified else "epsilon is not proved",
        ),
        **gain_fact(best.gain, best.against),
        **cost_facts(result.cost),
        "Rounds": (result.rounds, stop),
        "True suboptimality": (
            result.suboptimality,
            "not known" if result.suboptimality is None else "distance to the best",
        ),
    }


def _add_leaders(page: Page, result: "RunResult") -> None:
    leaders = result.leaders(_LEADERS)
    best, earned = best_in_words(result.problem), earned_in_words(result.problem)
    known = result.true_values is not None
    page.figure(value_intervals(result, _LEADERS), leaders_caption(result), name="leaders")
    columns = ["policy", "estimate", "lower", "upper"] + ["true value"] * known
    fields = ["value", "lower", "upper"] + ["true_value"] * known
    page.table(
        Table(
            f"The {len(leaders)} policies with the {best} estimates of {earned}",
            columns,
            [
                [
                    result.intervals.label_of(leader["policy"]),
                    *(leader[field] for field in fields),
                ]
                for leader in leaders
            ],
        )
    )


def _add_progress(page: Page, result: "RunResult") -> None:
    known = any(checkpoint.suboptimality is not None for checkpoint in result.history)
    looks = [checkpoint.recommendation for checkpoint in result.history]
    costs = result.problem.objective == "minimize"
    beyond = "below all that a round can cost" if costs else "above all that a round can earn"
    page.figure(
        estimate_over_rounds(result),
        "The estimate of the policy that led at the time, and its confidence interval, which "
        "narrows as rounds come in."
        + (
            f" An importance-weighted estimate from few rounds can lie {beyond}."
            if any(seen.value < seen.lower if costs else seen.value > seen.upper for seen in looks)
            else ""
        )
        + (
            f" The dashed line is the true value of {result.recommendation.policy_name}."
            if result.true_values is not None
            else ""
        ),
        name="estimate",
    )
    page.figure(
        suboptimality_over_rounds(result),
        "The suboptimality bound (dashed): the best policy is better than the recommended one by "
        "at most this much."
        + (" The solid line is by how much it truly is better." if known else "")
        + " The dotted line is epsilon. The bound is a proof only if the guarantee above says so.",
        name="suboptimality",
    )
    columns = ["rounds", "policy", "estimate", "lower", "upper", "bound", "certified"]
    rows: list[list[CellValue]] = []
    for checkpoint in result.history:
        seen = checkpoint.recommendation
        row: list[CellValue] = [seen.rounds, seen.policy_name, seen.value, seen.lower, seen.upper]
        row += [seen.suboptimality_bound, seen.certified]
        rows.append(row + [checkpoint.suboptimality] * known)
    page.table(
        Table(
            "What the learner would have recommended at each checkpoint",
            columns + ["true distance"] * known,
            rows,
            fold=f"All {len(rows)} checkpoints" if len(rows) != 1 else "The one checkpoint",
        )
    )


def _configuration(result: "RunResult") -> dict[str, Any]:
    return {
        "learner": result.learner,
        "candidates": result.intervals.candidates,
        **problem_settings(result.problem),
        **result.configuration,
        "rounds": result.rounds,
        "finished": result.finished,
    }


def problem_settings(problem: "Problem") -> dict[str, Any]:
    """What is asked, for the configuration of a page."""
    names = problem.actions
    return {
        "n_actions": problem.n_actions,
        **({} if names is None else {"actions": _listed(names)}),
        "slate_size": problem.slate_size,
        "sparsity": "not known" if problem.sparsity is None else problem.sparsity,
        "epsilon": problem.epsilon,
        "delta": problem.delta,
        **({} if problem.against is None else {"against": problem.against}),
        **(
            {}
            if problem.reward_range is None
            else {"reward_range": range_in_words(problem.reward_range)}
        ),
        **({"objective": "minimize"} if problem.objective == "minimize" else {}),
        **({} if problem.traffic == 1 else {"traffic": problem.traffic}),
        **({} if problem.max_loss is None else {"max_loss": problem.max_loss}),
        **{
            f"outcome {name}": f"{one.low:g} to {one.high:g}, {one.objective}"
            for name, one in (problem.outcomes or {}).items()
        },
        **{f"guardrail on {name}": amount for name, amount in (problem.guardrails or {}).items()},
    }


def best_in_words(problem: "Problem") -> str:
    """Which estimates are the best ones."""
    return "lowest" if problem.objective == "minimize" else "largest"


def earned_in_words(problem: "Problem") -> str:
    """What the value of a policy is."""
    return f"expected {'cost' if problem.objective == 'minimize' else 'reward'} per round"


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names):,} in all)" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def leaders_caption(result: "RunResult | StudyStatus") -> str:
    """What there is to see in `value_intervals`."""
    best, known = best_in_words(result.problem), result.true_values is not None
    return (
        f"The policies with the best estimates, {best} first, and their confidence intervals. A "
        "proof compares policies directly, so it can tell two apart although their intervals "
        "overlap. An eliminated policy keeps the interval that it had then."
        + (" Hollow diamonds are true values; they should lie on their lines." if known else "")
    )


def value_intervals(result: "RunResult | Selection | StudyStatus", count: int = 15) -> Figure:
    """Draw the intervals of the leading policies, the best estimate on top.

    Parameters
    ----------
    result : RunResult, Selection or StudyStatus
    count : int
        How many policies. The recommended one is added below when it is not among them.

    Returns
    -------
    Figure
        A dot for each estimate, and a hollow diamond for each true value that is known.
    """
    count = integer("count", count, low=1)
    limits, truth, chosen = result.intervals, result.true_values, result.chosen
    shown = [row["policy"] for row in result.leaders(count)]
    if isinstance(chosen, int) and chosen not in shown:
        shown.append(chosen)
    rows = np.arange(len(shown))
    with look():
        figure, axes = new_figure(0.95 + 0.26 * len(shown))
        for mine, colour, label in [(True, BLUE, "recommended"), (False, INK, "others")]:
            part = np.array([(policy == chosen) is mine for policy in shown])
            if not part.any():
                continue
            at, which = rows[part], np.array(shown)[part]
            width, strength = (2.4, 1.0) if mine else (1.4, 0.62)
            axes.hlines(
                at, limits.lower[which], limits.upper[which], colour, lw=width, alpha=strength
            )
            axes.plot(
                limits.values[which],
                at,
                "o",
                color=colour,
                ms=6 if mine else 4.5,
                mew=0,
                alpha=strength,
                label=label,
                zorder=3,
            )
        if truth is not None:
            axes.plot(
                truth[shown], rows, "D", ms=5, mfc=PAPER, mec=INK, mew=1.1, label="true value"
            )
        name_rows(axes, short_names([limits.name_of(p) for p in shown]), lines=False)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel(earned_in_words(result.problem))
        legend(figure, axes)
    return figure


def estimate_over_rounds(result: "RunResult") -> Figure:
    """Draw the estimate of the policy that led at each checkpoint, with its interval as a band.

    Where the world knows it, the true value of the finally recommended policy is a dashed line.
    """
    truth, gap = result.true_values, result.suboptimality
    looks = [checkpoint.recommendation for checkpoint in result.history]
    looks = [one for one in looks if one.rounds > 0 and isfinite(one.value)]
    rounds, value, lower, upper = (
        np.array([getattr(one, name) for one in looks], dtype=float)
        for name in ("rounds", "value", "lower", "upper")
    )
    with look():
        figure, axes = new_figure(3.3)
        if not len(rounds):
            say(figure, axes, "No rounds were played.")
            return figure
        if len(rounds) == 1:
            axes.vlines(rounds, lower, upper, BLUE, lw=2.4, alpha=0.5, label="interval")
        else:
            axes.fill_between(rounds, lower, upper, color=BLUE, alpha=0.18, lw=0, label="interval")
        axes.plot(rounds, value, "o-", color=BLUE, label="estimate")
        if truth is not None and gap is not None and isfinite(gap):
            costs = result.problem.objective == "minimize"
            level = truth.min() + gap if costs else truth.max() - gap
            axes.axhline(level, color=INK, ls="--", lw=1, label="true value")
        rounds_axis(axes, rounds[0], rounds[-1])
        axes.set_ylabel(earned_in_words(result.problem))
        legend(figure, axes)
    return figure


def suboptimality_over_rounds(results: "RunResult | Iterable[RunResult]") -> Figure:
    """Draw how far the recommended policy was from the best: the truth, and what was proved.

    Parameters
    ----------
    results : RunResult or several
        Several are drawn into the same axes, one colour for each.

    Returns
    -------
    Figure
        Solid lines for the true distance where it is known, dashed ones for the bound, and a
        dotted level for each problem's epsilon.
    """
    runs = list(results) if isinstance(results, Iterable) else [results]
    names = _names(runs)
    drawn: list[float] = []
    with look():
        figure, axes = new_figure(3.3 + 0.2 * (len(runs) - 1))  # room for the legend
        for run, name, (colour, marker, _) in zip(runs, names, line_looks(len(runs)), strict=True):
            whose = f"{name}: " if len(runs) > 1 else ""
            looks = [(one.recommendation, one.suboptimality) for one in run.history]
            rounds = [proved.rounds for proved, _ in looks]
            true = [distance for _, distance in looks]
            bound = [proved.suboptimality_bound for proved, _ in looks]
            style = {"color": colour, "marker": marker}
            drawn += _line(axes, rounds, true, ls="-", label=f"{whose}true", **style)
            drawn += _line(axes, rounds, bound, ls="--", mfc=PAPER, label=f"{whose}bound", **style)
        if not drawn:
            say(figure, axes, "No rounds were played.")
            return figure
        for epsilon in sorted({run.problem.epsilon for run in runs}):
            label = f"epsilon {epsilon:g}"
            axes.axhline(epsilon, color=INK, ls=(0, (1, 2)), lw=1.3, label=label)
        rounds_axis(axes, min(drawn), max(drawn))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("distance to the best policy")
        legend(figure, axes, columns=3 if len(runs) == 1 else 2)
    return figure


def _line(
    axes: Axes, rounds: Sequence[int], distances: Sequence[float | None], **style: Any
) -> list[float]:
    """Draw what is known and finite; return the rounds at which something was."""
    x, y = np.array(rounds, dtype=float), np.array(distances, dtype=float)  # None becomes NaN
    kept = (x > 0) & np.isfinite(y)
    if kept.any():
        # Not clipped: a distance of zero is good news and must not hide half behind the axis.
        axes.plot(x[kept], y[kept], clip_on=False, zorder=3, **style)
    return [float(at) for at in x[kept]]


def _names(runs: "list[RunResult]") -> list[str]:
    """The learners' names, numbered where the same one comes again."""
    seen: Counter[str] = Counter()
    names = []
    for run in runs:
        seen[run.learner] += 1
        again = seen[run.learner] > 1
        names.append(f"{run.learner} {seen[run.learner]}" if again else run.learner)
    return names
