"""``policysieve plan``: how many rounds it takes."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.options import (
    PlotOutput,
    count_option,
    delta_option,
    epsilon_option,
    json_option,
    known_sparsity,
    plot_option,
    sparsity_option,
)
from policysieve.cli.output import print_json, print_table, print_text
from policysieve.planning import Plan
from policysieve.planning import plan as make_plan
from policysieve.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plan"]


@click.command(short_help="Say how many rounds it takes.")
@click.option("--actions", required=True, type=click.IntRange(1), help="Number of actions.")
@click.option("--policies", required=True, type=click.IntRange(1), help="Number of policies.")
@epsilon_option
@delta_option
@sparsity_option
@count_option("--slate", 1, "Items shown each round.")
@json_option("the plan")
@plot_option("rounds against epsilon")
def plan(
    actions: int,
    policies: int,
    epsilon: float,
    delta: float,
    sparsity: Any,
    slate: int,
    as_json: bool,
    plot: PlotOutput,
) -> None:
    """Say how many rounds guarantee a policy within epsilon of the best.

    The numbers hold before any data is seen, for every method, with probability 1 - delta.
    """
    problem = Problem(
        n_actions=actions,
        slate_size=slate,
        sparsity=known_sparsity(sparsity),
        epsilon=epsilon,
        delta=delta,
    )
    sizes = make_plan(problem, policies)
    plot.write(lambda: _figure(sizes, policies))
    if as_json:
        print_json(sizes.to_dict())
        return
    by_optimization = sizes.by_optimization_rounds
    print_table(
        "Rounds needed",
        ["method", "rounds", "of uniform"],
        [
            (name, f"{rounds:,}", f"{rounds / sizes.uniform_rounds:.1%}")
            for name, rounds in [
                ("uniform exploration", sizes.uniform_rounds),
                (
                    "low-variance exploration"
                    + (" (first guess)" if problem.sparsity is None else ""),
                    sizes.total_rounds,
                ),
                ("exploration by optimization", by_optimization),
                ("lower bound", sizes.lower_bound_rounds),
            ]
            if rounds is not None
        ],
    )
    print_text(sizes.explain())
    plot.say_where()


def _figure(sizes: Plan, policies: int) -> "Figure":
    import numpy as np

    from policysieve.report import rounds_against_epsilon

    problem = sizes.problem
    most = 0.9 * problem.reward_cap if problem.slate_size > 1 else 0.45
    around = np.geomspace(
        problem.epsilon / 30, max(problem.epsilon, min(most, 10 * problem.epsilon)), 40
    )
    plans = [make_plan(replace(problem, epsilon=float(value)), policies) for value in around]
    return rounds_against_epsilon(plans)
