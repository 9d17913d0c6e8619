"""Options that several commands share."""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

import click

__all__ = [
    "SPARSITY",
    "as_floor",
    "candidates_options",
    "check_figures",
    "figures_option",
    "known_sparsity",
    "report_option",
]

_POLICIES_HELP = (
    "A .npy table of actions, of shape (n_contexts, n_policies); a .npz with linear weights, of "
    "shape (n_policies, n_actions, n_features); or module:attribute."
)


class _Sparsity(click.ParamType[Any]):
    """A positive number, or the word unknown."""

    name = "NUMBER|unknown"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "unknown":
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor the word unknown", param, ctx)


SPARSITY = _Sparsity()


def known_sparsity(value: Any) -> float | None:
    """The number, or None for the word unknown."""
    return None if value == "unknown" else float(value)


def as_floor(smallest: float) -> str:
    """A smallest propensity with four digits, rounded down, so that none is below what is said."""
    exact = Decimal(f"{smallest:.12g}")  # 0.3, not 0.299999999999999989
    step = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{float(exact.quantize(step, ROUND_FLOOR)):.4g}"


def candidates_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name the candidates and what is asked of them."""
    for option in (
        click.option(
            "--sparsity",
            default=1.0,
            show_default=True,
            type=SPARSITY,
            help="Bound on the sum of a context's rewards.",
        ),
        click.option(
            "--actions", type=click.IntRange(1), help="Number of actions, for a .npy table."
        ),
        click.option("--delta", required=True, type=float, help="Probability of failure."),
        click.option("--epsilon", required=True, type=float, help="Distance to the best policy."),
        click.option("--policies", required=True, help=_POLICIES_HELP),
    ):
        command = option(command)
    return command


report_option = click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write an HTML report here."
)
figures_option = click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report's figures as PNG and SVG.",
)


def check_figures(report: Path | None, figures: Path | None) -> None:
    """Figures are those of a report: refuse to write them without one."""
    if figures is not None and report is None:
        raise click.UsageError("--figures needs --report, whose figures it writes")
