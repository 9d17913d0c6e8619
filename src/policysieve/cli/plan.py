"""``policysieve plan``: how many rounds it takes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    PlotOutput,
    actions_option,
    count_option,
    delta_option,
    epsilon_option,
    figures_option,
    json_option,
    minimize_option,
    plot_option,
    problem_units,
    range_option,
    sparsity_option,
)
from policysieve.cli.output import print_json, print_table, print_text
from policysieve.measured import MeasuredTask
from policysieve.planning import Plan
from policysieve.planning import plan as make_plan
from policysieve.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plan"]


@command(
    short_help="How many rounds a proof takes, before there is any data.",
    examples=(
        "policysieve plan --actions 100 --n-policies 1000 --epsilon 0.05",
        "policysieve plan --actions 100 --n-policies 1000 --epsilon 0.5 --slate 5 --sparsity 3",
    ),
    formerly={"--policies": "--n-policies"},
)
@actions_option("Number of actions; or their names", required=True)
@click.option("--n-policies", required=True, type=click.IntRange(1), help="Number of candidates.")
@epsilon_option
@delta_option()
@sparsity_option
@range_option("Least and largest reward of one item, if not 0 and 1; epsilon is in their units.")
@minimize_option
@count_option("--slate", 1, "Items shown each round.")
@json_option("the plan")
@figures_option
@plot_option
def plan(
    actions: int | tuple[str, ...],
    n_policies: int,
    epsilon: float,
    delta: float,
    sparsity: Any,
    reward_range: tuple[float, float] | None,
    minimize: bool,
    slate: int,
    as_json: bool,
    figures: Path | None,
    plot: PlotOutput,
) -> None:
    """Say how many rounds guarantee a policy within epsilon of the best.

    The numbers hold before any data is seen, in the worst case, with probability 1 - delta. Beside
    them stands what the Sieve needed on similar tasks of the race.
    """
    from policysieve.report import save_figures

    problem = Problem(
        n_actions=actions if isinstance(actions, int) else len(actions),
        slate_size=slate,
        **problem_units(sparsity, reward_range, minimize),
        epsilon=epsilon,
        delta=delta,
    )
    sizes = make_plan(problem, n_policies)
    if figures is not None:
        save_figures({"rounds": _figure(sizes, n_policies)}, figures)
    plot.write(lambda: _figure(sizes, n_policies))
    if as_json:
        print_json(sizes.to_dict())
        return
    guess = "low-variance exploration" if problem.sparsity is None else None
    rows: list[tuple[str, str, int]] = [
        (one.method + (" (first guess)" if one.method == guess else ""), *one[1:])
        for one in sizes.worst_case
    ]
    rows.append(("lower bound", "any", sizes.lower_bound_rounds))
    print_table(
        "Rounds needed in the worst case",
        ["method", "recommends", "rounds", "of uniform"],
        [
            (method, policy, f"{rounds:,}", f"{rounds / sizes.uniform_rounds:.1%}")
            for method, policy, rounds in rows
        ],
        words=(0, 1),
    )
    if sizes.similar_tasks:
        print_table(
            "Rounds that the Sieve needed on similar tasks",
            ["task", "policies", "epsilon", "median", "fewest", "most"],
            [_measured_row(one) for one in sizes.similar_tasks],
        )
    print_text(sizes.explain())
    if figures is not None:
        click.echo(f"Figures: {figures}")


def _measured_row(one: MeasuredTask) -> tuple[str, ...]:
    over = f"over {one.given_up_after:,}"
    needed = (over if n is None else f"{n:,.0f}" for n in (one.median, one.fewest, one.most))
    return (one.task, f"{one.n_policies:,}", f"{one.problem.epsilon:g}", *needed)


def _figure(sizes: Plan, n_policies: int) -> "Figure":
    import numpy as np

    from policysieve.report import rounds_against_epsilon

    problem = sizes.problem
    most = 0.9 * problem.reward_cap if problem.slate_size > 1 else 0.45 * problem.scale.span
    around = np.geomspace(
        problem.epsilon / 30, max(problem.epsilon, min(most, 10 * problem.epsilon)), 40
    )
    plans = [make_plan(replace(problem, epsilon=float(value)), n_policies) for value in around]
    return rounds_against_epsilon(plans)
