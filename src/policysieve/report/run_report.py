"""The report of one run."""

from typing import TYPE_CHECKING, Any

from policysieve.report.formats import Cell, shown_text, value_text
from policysieve.report.page import Page
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.table import Table

if TYPE_CHECKING:
    from policysieve.simulate import RunResult

__all__ = ["run_page"]

_LEADERS = 15


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
    return page


def _headlines(result: "RunResult") -> dict[str, Cell | tuple[Cell, str]]:
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
            "the bound proves epsilon" if best.certified else "the bound does not prove epsilon",
        ),
        "Rounds": (result.rounds, stop),
        "True suboptimality": (
            result.suboptimality,
            "this world cannot know it" if result.suboptimality is None else "distance to the best",
        ),
    }


def _add_leaders(page: Page, result: "RunResult") -> None:
    leaders = result.leaders(_LEADERS)
    known = result.true_values is not None
    page.figure(
        value_intervals(result, _LEADERS),
        "The best estimates, largest first. Where intervals overlap, the evidence cannot yet tell "
        "policies apart."
        + (" A hollow diamond outside its line would be a miss." if known else ""),
        name="leaders",
    )
    columns = ["policy", "estimate", "lower", "upper"] + ["true value"] * known
    fields = ["value", "lower", "upper"] + ["true_value"] * known
    page.table(
        Table(
            f"The {len(leaders)} policies with the largest estimates of expected reward per round",
            columns,
            [[str(leader["policy"]), *(leader[field] for field in fields)] for leader in leaders],
        )
    )


def _add_progress(page: Page, result: "RunResult") -> None:
    known = any(checkpoint.suboptimality is not None for checkpoint in result.history)
    looks = [checkpoint.recommendation for checkpoint in result.history]
    page.figure(
        estimate_over_rounds(result),
        "The estimate of the policy that led at the time, and its interval, which narrows as "
        "rounds come in."
        + (
            " An estimate from few rounds can lie above all that a round can earn."
            if any(look.value > look.upper for look in looks)
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
        "How much better the best policy can be than the recommended one, at most (dashed)"
        + (", and truly is (solid)" if known else "")
        + ". The aim is a bound below the dotted line; it is a proof only where the guarantee "
        "above says so.",
        name="suboptimality",
    )
    columns = ["rounds", "policy", "estimate", "lower", "upper", "bound", "certified"]
    rows: list[list[Cell]] = []
    for checkpoint in result.history:
        look = checkpoint.recommendation
        row: list[Cell] = [look.rounds, look.policy_name, look.value, look.lower, look.upper]
        row += [look.suboptimality_bound, look.certified]
        rows.append(row + [checkpoint.suboptimality] * known)
    page.table(
        Table(
            "What the learner would have recommended on the way",
            columns + ["true distance"] * known,
            rows,
            fold=f"All {len(rows)} checkpoints" if len(rows) != 1 else "The one checkpoint",
        )
    )


def _configuration(result: "RunResult") -> dict[str, Any]:
    problem = result.problem
    return {
        "learner": result.learner,
        "candidates": result.intervals.candidates,
        "n_actions": problem.n_actions,
        "slate_size": problem.slate_size,
        "sparsity": "not known" if problem.sparsity is None else problem.sparsity,
        "epsilon": problem.epsilon,
        "delta": problem.delta,
        **result.configuration,
        "rounds": result.rounds,
        "finished": result.finished,
    }
