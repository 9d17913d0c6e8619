"""``policysieve check``: whether a log can be what it says it is."""

from pathlib import Path

import click

from policysieve.cli.options import check_figures, figures_option, report_option
from policysieve.cli.output import command_line, print_json, print_table, print_text
from policysieve.cli.progress import with_progress

__all__ = ["check"]


@click.command(short_help="Look for what is wrong with a log.")
@click.argument("log", type=click.Path(dir_okay=False))
@click.option("--from", "source", help="Format of the log; by default what its name says.")
@click.option(
    "--actions",
    type=click.IntRange(1),
    help="Number of actions; by default the largest in the log plus one.",
)
@click.option(
    "--delta",
    default=0.05,
    show_default=True,
    type=float,
    help="Probability of calling a healthy log broken.",
)
@click.option(
    "--reward-range",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Range of the rewards, if it is not 0 to 1.",
)
@report_option
@figures_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw importance weights into this file (.png, .svg or .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(
    log: str,
    source: str | None,
    actions: int | None,
    delta: float,
    reward_range: tuple[float, float] | None,
    report: Path | None,
    figures: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Look for what is wrong with LOG, a file of any format that can be converted.

    Do actions come up as often as their propensities say, overall, over time, and in groups of
    contexts? Are there repeated ids, times out of order, missing rewards? The exit code is 1 if the
    log is broken.
    """
    from policysieve.errors import InvalidArgumentError
    from policysieve.evidence import check_log
    from policysieve.formats import open_rounds

    check_figures(report, figures)
    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise InvalidArgumentError(f"--plot must end in .png, .svg or .pdf, got {plot}")
    rounds = open_rounds(log, source, reward_range=reward_range)
    batches = with_progress(rounds, "Reading", quiet=as_json)
    health = check_log(batches, n_actions=actions, delta=delta)
    if report is not None:
        health.report(report, figures=figures, command=command_line())
    if plot is not None:
        from policysieve.report import mean_weights

        mean_weights(health).savefig(plot, dpi=150)
    if as_json:
        print_json(health.to_dict())
    else:
        print_table(
            f"{health.rounds:,} rounds, {health.n_actions:,} actions"
            + (" (the largest one plus one)" if actions is None else ""),
            ["finding", "value", "verdict"],
            [(one.name, one.value, one.verdict) for one in health.findings],
        )
        print_text(health.legend)
        for one in health.findings:
            if one.verdict != "ok":
                print_text(one.sentence)
        print_text(health.verdict)
        for what, path in (("Report", report), ("Plot", plot)):
            if path is not None:
                click.echo(f"{what}: {path}")
    if health.broken:
        raise click.exceptions.Exit(1)
