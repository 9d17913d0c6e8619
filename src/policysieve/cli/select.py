"""``policysieve select``: the best policy from a log, with a certificate."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from policysieve.cli.options import (
    candidates_options,
    check_figures,
    figures_option,
    report_option,
)
from policysieve.cli.output import command_line, print_json, print_table, print_text
from policysieve.cli.progress import with_progress

__all__ = ["select"]

_METHODS = ("betting", "empirical_bernstein", "stitched", "fixed", "checkpoints")


@click.command(short_help="Choose the best policy from a log.")
@click.argument("log", type=click.Path(dir_okay=False))
@candidates_options
@click.option(
    "--method",
    default="betting",
    show_default=True,
    type=click.Choice(_METHODS),
    help="Kind of proof.",
)
@click.option(
    "--floor",
    type=float,
    help="Smallest propensity possible, as design and decide say it; by default the smallest in "
    "the log.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@report_option
@figures_option
def select(
    log: str,
    policies: str,
    epsilon: float,
    delta: float,
    actions: int | None,
    sparsity: Any,
    method: Any,
    floor: float | None,
    as_json: bool,
    report: Path | None,
    figures: Path | None,
) -> None:
    """Choose the best policy from LOG, a Parquet file, and say what the log proves about it.

    The log is read in pieces, so it may be larger than memory. Its propensities must have been
    fixed before each round.
    """
    from policysieve.cli.loading import in_words, load_problem
    from policysieve.evidence import select as choose
    from policysieve.log import LogFile

    check_figures(report, figures)
    file = LogFile(log)
    candidates, problem = load_problem(
        policies, actions, file.slate_size, sparsity=sparsity, epsilon=epsilon, delta=delta
    )

    def track(pieces: Iterable[Any]) -> Iterable[Any]:
        return with_progress(pieces, "Reading", total=len(file), quiet=as_json)

    selection = choose(file, candidates, problem, method=method, floor=floor, track=track)
    if report is not None:
        selection.report(report, figures=figures, command=command_line())
    if as_json:
        print_json(selection.to_dict())
        return
    print_table(
        f"Leaders of {in_words(candidates)} after {len(file):,} logged rounds",
        ["policy", "estimate", "interval", "eliminated"],
        [
            (
                str(row["policy"]),
                f"{row['value']:.4f}",
                f"[{row['lower']:.4f}, {row['upper']:.4f}]",
                "yes" if selection.certificate.eliminated[row["policy"]] else "no",
            )
            for row in selection.leaders()
        ],
    )
    print_text(selection.guarantee)
    if report is not None:
        click.echo(f"Report: {report}")
