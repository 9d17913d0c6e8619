"""``policysieve select``: the best policy from a log, with a certificate."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    CandidatesOptions,
    LogArgument,
    OutcomeOptions,
    PageOutput,
    against_option,
    candidates_options,
    json_option,
    log_argument,
    outcome_options,
    page_options,
    since_option,
)
from policysieve.cli.options.values import Number
from policysieve.cli.output import print_json, print_result, print_table, print_text, reading

if TYPE_CHECKING:
    from policysieve.evidence import Selection

__all__ = ["select"]

_METHODS = ("capped", "betting", "empirical_bernstein", "stitched", "fixed", "checkpoints")


@command(
    short_help="The best policy according to a log, and a proof of how good it is.",
    examples=(
        "policysieve select log.parquet --policies table.npy --actions 5 --epsilon 0.1 --floor 0.2",
        "policysieve select monday.csv tuesday.csv --policies pol.py:policies --epsilon 0.1 "
        "--floor 0.2 --against 0 --report page.html",
    ),
)
@candidates_options
@click.option(
    "--floor",
    type=Number(),
    help="Smallest propensity that any action could have had, as design and decide print it.",
)
@click.option(
    "--design",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The design that decided all rounds, which knows the propensities of all actions.",
)
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    help="Kind of proof; by default the sharpest that can be had.",
)
@against_option(": by how much is the selected one better?")
@outcome_options
@click.option(
    "--segment",
    metavar="COLUMN",
    help="Name or number of a column of the contexts: for whom is the selected policy better?",
)
@since_option
@log_argument(parted=True)
@json_option()
@page_options
def select(
    log: LogArgument,
    candidates: CandidatesOptions,
    method: Any,
    floor: float | None,
    design: str | None,
    since: int,
    against: str | None,
    outcomes: OutcomeOptions,
    segment: str | None,
    as_json: bool,
    page: PageOutput,
) -> None:
    """Choose the best policy from LOG, one or several files, and say what the log proves about it.

    Files of any format are read in pieces, so they may be larger than memory. Propensities must
    have been fixed before each round. A proof needs more than those of shown actions: those of all
    actions, from the log or a --design, or a --floor under them.
    """
    from policysieve.cli.loading import in_words, policy_given
    from policysieve.evidence import select as choose
    from policysieve.exploration.designs.saving import ExplorationFile

    opened = log.open(candidates.action_names)
    policies, problem = candidates.load(opened.slate_size, opened.reward_range)
    if against is not None:
        problem = replace(problem, against=policy_given(against, policies))
    problem = outcomes.declared(problem)
    track = reading(opened, quiet=as_json)
    exploration = None if design is None else ExplorationFile.read(design).exploration(policies)
    selection = choose(
        opened,
        policies,
        problem,
        method=method,
        floor=floor,
        exploration=exploration,
        since=since,
        segment=int(segment) if segment is not None and segment.isdecimal() else segment,
        track=track,
    )
    page.write(selection)
    if as_json:
        print_json(selection.to_dict())
        return
    some = f", of which {selection.certificate.rounds:,} count: the first of each unit"
    counted = some if selection.returning else ""
    print_table(
        f"Leaders of {in_words(policies)} after {len(opened) - since:,} logged rounds{counted}",
        ["policy", "estimate", "interval", "eliminated"],
        [_cells(selection, row) for row in selection.leaders()],
    )
    print_text(selection.guarantee)
    _print_beside(selection)
    page.say_where()


def _print_beside(selection: "Selection") -> None:
    """Outcomes, guardrails and segments, if they were asked for."""
    from policysieve.report.outcome_report import guardrail_table, outcome_table, segment_table

    tables = []
    if selection.outcomes is not None:
        tables.append(outcome_table(selection))
    if selection.guardrails is not None:
        against = selection.certificate.against
        tables.append(guardrail_table(selection.guardrails, selection.policy_name, against))
    if selection.segments is not None:
        tables.append(segment_table(selection.segments))
    for table in tables:
        print_result(table)
    if selection.segments is not None:
        print_text(selection.segments.guarantee)


def _cells(selection: "Selection", leader: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table; a class that cannot be listed has one, of the policy it selects."""
    name, gone = selection.policy_name, False
    if isinstance(selection.policy, int):
        name = selection.intervals.label_of(leader["policy"])
        gone = selection.certificate.eliminated[leader["policy"]]
    interval = f"[{leader['lower']:.4f}, {leader['upper']:.4f}]"
    return name, f"{leader['value']:.4f}", interval, "yes" if gone else "no"
