"""The report of where a study stands."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from policysieve.report.cost_report import cost_facts, cost_table
from policysieve.report.page import Page
from policysieve.report.run_report import (
    best_in_words,
    leaders_caption,
    problem_settings,
    value_intervals,
)
from policysieve.report.table import Table, gain_fact, value_text

if TYPE_CHECKING:
    from policysieve.study import StudyStatus

__all__ = ["study_page"]

_LEADERS = 15


def study_page(status: "StudyStatus", title: str | None, command: str | None) -> Page:
    """One page about a study."""
    best = status.recommendation
    known = f"{status.name} recommends {best.policy_name}"
    page = Page(
        title or (known if best.rounds else f"{status.name}: nothing is known yet"),
        f"{status.learner} with {status.candidates}, after {status.learnt:,} of "
        f"{status.rounds:,} rounds.",
        configuration={
            "study": status.name,
            "learner": status.learner,
            "candidates": status.candidates,
            **problem_settings(status.problem),
            "created": datetime.fromtimestamp(status.created, UTC).isoformat(" ", "seconds"),
            "deadline in seconds": "none" if status.deadline is None else status.deadline,
            "exploration": status.exploration,
        },
        made_by=command or "Study.report",
    )
    page.facts(
        {
            "Recommended": best.policy_name,
            "Estimated value": (
                best.value,
                f"interval {value_text(best.lower)} to {value_text(best.upper)}",
            ),
            "Suboptimality bound": (
                best.suboptimality_bound,
                f"asked for: epsilon {value_text(status.problem.epsilon)}",
            ),
            "Certified": (
                best.certified,
                "the bound is at most epsilon" if best.certified else "epsilon is not proved",
            ),
            **gain_fact(best.gain, best.against),
            **cost_facts(status.cost),
            "Open": (status.open, "decisions wait for their rewards"),
        }
    )
    page.text(best.guarantee, statement=True)
    page.section("The leading policies")
    if isinstance(best.policy, int) and status.learnt:
        page.figure(value_intervals(status, _LEADERS), leaders_caption(status), name="leaders")
    page.table(
        Table(
            f"The policies with the {best_in_words(status.problem)} estimates",
            ["policy", "estimate", "lower", "upper"],
            [
                [row["name"], row["value"], row["lower"], row["upper"]]
                for row in status.leaders(_LEADERS)
            ],
        )
    )
    if status.cost.rounds:
        page.section("What exploring costs")
        page.text(status.cost.guarantee)
        page.table(cost_table(status.cost))
    page.section("How long will it take?")
    page.text(status.forecast.sentence())
    page.section("The rounds")
    if status.held_up is not None:
        page.text(status.held_up)
    page.table(
        Table(
            "What became of them",
            ["rounds", "how many"],
            list(status.counts.items()),
        )
    )
    return page
