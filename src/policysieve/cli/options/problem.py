"""What is asked: the best within epsilon, of how many actions, by rewards of which kind."""

from decimal import ROUND_FLOOR, Decimal
from typing import Any

import click

from policysieve.cli.options.grouping import Decorator
from policysieve.cli.options.values import Actions, Number, Sparsity

__all__ = [
    "actions_option",
    "as_floor",
    "delta_option",
    "epsilon_option",
    "minimize_option",
    "problem_units",
    "range_option",
    "sparsity_option",
]

epsilon_option = click.option(
    "--epsilon",
    required=True,
    type=Number(),
    help="How far from the best policy the answer may be, in units of the reward, such as 0.05.",
)
sparsity_option = click.option(
    "--sparsity",
    show_default="1, or unknown with a range of rewards or costs",
    type=Sparsity(),
    metavar="NUMBER|unknown",
    help="Largest sum of all actions' rewards at one context: 1 for one right label or one click.",
)
minimize_option = click.option(
    "--minimize", is_flag=True, help="Rewards are costs: the lower, the better."
)


def delta_option(help: str = "Probability with which the answer may be wrong.") -> Decorator:
    """The option ``--delta``."""
    return click.option("--delta", default=0.05, show_default=True, type=Number(), help=help)


def range_option(help: str) -> Decorator:
    """The option ``--reward-range``."""
    return click.option("--reward-range", nargs=2, type=Number(), metavar="LOW HIGH", help=help)


def actions_option(what: str, *, required: bool = False) -> Decorator:
    """The option ``--actions``: how many there are, or what they are called."""
    where = "with commas between them or one on each line of a file"
    return click.option("--actions", type=Actions(), required=required, help=f"{what}, {where}.")


def problem_units(
    sparsity: Any, reward_range: tuple[float, float] | None, minimize: bool
) -> dict[str, Any]:
    """What a problem is told about its rewards; the sparsity only if it was typed."""
    said: dict[str, Any] = {"reward_range": reward_range}
    if sparsity is not None:
        said["sparsity"] = None if sparsity == "unknown" else float(sparsity)
    return {**said, "objective": "minimize" if minimize else "maximize"}


def as_floor(smallest: float) -> str:
    """A smallest propensity with four digits, rounded down, so that none is below what is said."""
    exact = Decimal(f"{smallest:.12g}")  # 0.3, not 0.299999999999999989
    step = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{float(exact.quantize(step, ROUND_FLOOR)):.4g}"
