"""The report of a selection from a log."""

from typing import TYPE_CHECKING

from policysieve.report.outcome_report import add_outcomes, add_segments
from policysieve.report.page import Page
from policysieve.report.run_report import best_in_words, problem_settings, value_intervals
from policysieve.report.table import Table, gain_fact, value_text

if TYPE_CHECKING:
    from policysieve.evidence import Selection

__all__ = ["selection_page"]

_LEADERS = 15


def selection_page(selection: "Selection", title: str | None, command: str | None) -> Page:
    """One page about what a log proves."""
    proof, problem = selection.certificate, selection.problem
    candidates, best = selection.intervals.candidates, best_in_words(problem)
    eliminated = set(proof.eliminated.nonzero()[0].tolist())
    page = Page(
        title if title is not None else f"The log selects {selection.policy_name}",
        f"The best of {candidates} on {proof.rounds:,} logged rounds with "
        f"{problem.n_actions:,} actions.",
        configuration={
            "method": proof.method,
            "candidates": candidates,
            **problem_settings(problem),
            "floor of propensities": "none" if selection.floor is None else selection.floor,
            "rounds": proof.rounds,
        },
        made_by=command or "policysieve.select",
    )
    page.facts(
        {
            "Selected": selection.policy_name,
            "Estimated value": (
                selection.value,
                f"interval {value_text(float(selection.lower[selection.chosen]))} to "
                f"{value_text(float(selection.upper[selection.chosen]))}",
            ),
            "Suboptimality bound": (
                proof.suboptimality_bound,
                f"asked for: epsilon {value_text(problem.epsilon)}",
            ),
            "Certified": (
                proof.certified,
                "the bound is at most epsilon" if proof.certified else "epsilon is not proved",
            ),
            **gain_fact(proof.gain, proof.against),
            "Eliminated": (len(eliminated), f"of {candidates}"),
            "Rounds": (proof.rounds, f"{proof.pending:,} pending" if proof.pending else "all told"),
        }
    )
    page.text(selection.guarantee, statement=True)
    add_outcomes(page, selection)
    add_segments(page, selection.segments)
    page.section("The leading policies")
    page.figure(
        value_intervals(selection, _LEADERS),
        f"The policies with the best estimates, {best} first. Their confidence intervals hold for "
        "all policies at once and at any time. The certificate compares policies directly, and is "
        "tighter than these intervals.",
        name="leaders",
    )
    fields = ("value", "lower", "upper")
    page.table(
        Table(
            f"The {min(_LEADERS, len(selection.values))} policies with the {best} estimates",
            ["policy", "estimate", "lower", "upper", "eliminated"],
            [
                [
                    selection.intervals.label_of(row["policy"]),
                    *(row[name] for name in fields),
                    row["policy"] in eliminated,
                ]
                for row in selection.leaders(_LEADERS)
            ],
        )
    )
    return page
