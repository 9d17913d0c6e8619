"""``policysieve check``: whether a log can be what it says it is."""

from typing import TYPE_CHECKING

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    LogArgument,
    PageOutput,
    PlotOutput,
    actions_option,
    delta_option,
    json_option,
    log_argument,
    page_options,
    plot_option,
    since_option,
)
from policysieve.cli.output import print_json, print_table, print_text, reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from policysieve.health import LogHealth

__all__ = ["check"]


@command(
    short_help="Whether a log can be believed, and what is wrong with it.",
    examples=(
        "policysieve check log.parquet",
        "policysieve check web.csv --map context=age,action=item,propensity=p,reward=clicked "
        "--report health.html",
    ),
)
@log_argument(parted=True)
@actions_option("Number of actions, by default the largest in the log plus one; or their names")
@delta_option("Probability of calling a healthy log broken, and of seeing a change where none is.")
@since_option
@page_options
@plot_option
@json_option("the findings")
def check(
    log: LogArgument,
    actions: int | tuple[str, ...] | None,
    delta: float,
    since: int,
    page: PageOutput,
    plot: PlotOutput,
    as_json: bool,
) -> None:
    """Look for what is wrong with LOG, one or several files of any format.

    Do actions come up as often as their propensities say, overall, over time, and in groups of
    contexts? Do rewards and contexts come from one world throughout? Are there repeated ids, times
    out of order, missing rewards? The exit code is 1 if the log is broken.
    """
    from policysieve.health import check_log

    names = actions if isinstance(actions, tuple) else None
    opened = log.open(names)
    count = actions if isinstance(actions, int) else None
    track = reading(opened, quiet=as_json)
    health = check_log(opened, n_actions=count, delta=delta, since=since, track=track)
    page.write(health)
    plot.write(lambda: _figure(health))
    if as_json:
        print_json(health.to_dict())
    else:
        print_table(
            f"{health.rounds:,} rounds, {health.n_actions:,} actions"
            + _counted(actions, opened.action_names),
            ["finding", "value", "verdict"],
            [(one.name, one.value, one.verdict) for one in health.findings],
        )
        print_text(health.legend)
        for one in health.findings:
            if one.verdict != "ok":
                print_text(one.sentence)
        print_text(health.verdict)
        page.say_where()
    if health.broken:
        raise click.exceptions.Exit(1)


def _counted(actions: int | tuple[str, ...] | None, names: tuple[str, ...] | None) -> str:
    """How the actions were counted, if nobody said how many there are."""
    if actions is not None:
        return ""
    return " (the largest one plus one)" if names is None else " (those that were shown)"


def _figure(health: "LogHealth") -> "Figure":
    from policysieve.report import mean_weights

    return mean_weights(health)
