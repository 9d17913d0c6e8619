"""What exploring has cost, as a part of a page."""

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from policysieve.report.page import Page
from policysieve.report.style import BLUE, INK, legend, look, new_figure, rounds_axis, say
from policysieve.report.table import CellValue, Table, value_text

if TYPE_CHECKING:
    from policysieve.exploration import ExploringCost, Loss
    from policysieve.simulate import RunResult

__all__ = ["add_cost", "cost_facts", "cost_over_rounds", "cost_table"]


def add_cost(page: Page, result: "RunResult") -> None:
    """A section with the table, and a figure if it is known what runs today."""
    if result.cost is None or not result.cost.rounds:
        return
    page.section("What exploring costs")
    page.text(result.cost.guarantee)
    if result.cost.today is not None:
        page.figure(
            cost_over_rounds(result),
            "What exploring has cost in all, compared with "
            f"{result.cost.today.policy_name}, which runs today: the estimate, in a band of its "
            "confidence limits. Below zero, exploring has "
            f"{'cost less' if result.cost.minimize else 'earned more'} than that."
            + ("" if result.problem.max_loss is None else " The dashed line is the limit."),
            name="cost",
        )
    page.table(cost_table(result.cost))


def cost_facts(cost: "ExploringCost | None") -> dict[str, tuple[CellValue, str]]:
    """The one number about it, if it is known what runs today."""
    if cost is None or cost.today is None:
        return {}
    lost = cost.today
    between = f"between {value_text(lost.lower)} and {value_text(lost.upper)}"
    return {"Cost of exploring": (lost.estimate, f"{between}, against {lost.policy_name}")}


def cost_table(cost: "ExploringCost") -> Table:
    """One row for each policy that the rounds are compared with."""
    found = [cost.best] if cost.today is None else [cost.today, cost.best]
    return Table(
        f"Expected {'extra cost of exploring' if cost.minimize else 'reward that exploring lost'}",
        [
            "compared with",
            "lost",
            "lower",
            "upper",
            "per round",
            "lower per round",
            "upper per round",
        ],
        [_row(lost) for lost in found],
        note=f"{cost.rounds:,} rounds, of which {cost.explored_in_words}, have "
        f"{'cost' if cost.minimize else 'earned'} {value_text(cost.earned)}.",
    )


def _row(lost: "Loss") -> list[CellValue]:
    return [lost.policy_name, lost.estimate, lost.lower, lost.upper, *lost.per_round]


def cost_over_rounds(result: "RunResult") -> Figure:
    """Draw what exploring had cost at each checkpoint, compared with the policy that runs today.

    The problem's `max_loss` is a dashed level.
    """
    seen = [checkpoint.lost for checkpoint in result.history]
    known = [lost for lost in seen if lost is not None and lost.rounds and isfinite(lost.estimate)]
    rounds, estimate, lower, upper = (
        np.array([getattr(lost, name) for lost in known], dtype=float)
        for name in ("rounds", "estimate", "lower", "upper")
    )
    with look():
        figure, axes = new_figure(3.3)
        if not len(rounds):
            say(figure, axes, "It is not known what runs today.")
            return figure
        if len(rounds) == 1:
            axes.vlines(rounds, lower, upper, BLUE, lw=2.4, alpha=0.5, label="interval")
        else:
            axes.fill_between(rounds, lower, upper, color=BLUE, alpha=0.18, lw=0, label="interval")
        axes.plot(rounds, estimate, "o-", color=BLUE, label="estimate")
        axes.axhline(0.0, color=INK, lw=0.8)
        most = result.problem.max_loss
        if most is not None:
            axes.axhline(most, color=INK, ls="--", lw=1, label=f"limit {value_text(most)}")
        rounds_axis(axes, rounds[0], rounds[-1])
        axes.set_ylabel("extra cost in all" if result.problem.scale.minimize else "lost in all")
        legend(figure, axes)
    return figure
