"""Options that several commands share."""

from pathlib import Path
from typing import Any

import click

__all__ = ["SPARSITY", "check_figures", "figures_option", "known_sparsity", "report_option"]


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
