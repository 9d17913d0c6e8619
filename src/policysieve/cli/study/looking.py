"""``policysieve study list``, ``show``, ``decisions``, ``report``, ``export`` and ``verify``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from policysieve.cli.commands import command
from policysieve.cli.decide import write_decisions
from policysieve.cli.options import format_option, json_option, out_option
from policysieve.cli.output import command_line, print_json, print_table, print_text
from policysieve.cli.study.decided import as_dicts, as_rounds
from policysieve.cli.study.ids import Ids, ids_options
from policysieve.cli.study.status import print_status
from policysieve.cli.study.where import Where, study_command, url_argument, where

if TYPE_CHECKING:
    from policysieve.exploration.decisions import Decisions

__all__ = ["decisions", "export", "list_", "report", "show", "verify"]

_ROWS = 20  # of a table of decisions


@command(
    name="list",
    short_help="The studies of a database.",
    examples=("policysieve study list sqlite:///shop.db",),
)
@url_argument
@json_option("the studies")
def list_(url: str, as_json: bool) -> None:
    """List the studies of the database at URL, such as sqlite:///shop.db."""
    from policysieve.study import summaries

    found = summaries(url)
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    print_table(
        f"{len(found):,} {'study' if len(found) == 1 else 'studies'}",
        ["study", "learner", "rounds", "settled", "archived"],
        [
            (
                one.name,
                one.learner,
                f"{one.rounds:,}",
                f"{one.settled:,}",
                "yes" if one.archived else "no",
            )
            for one in found
        ],
        words=(0, 1, 4),
    )


@study_command(
    short_help="Where a study stands, and what it recommends.",
    examples=("policysieve study show sqlite:///shop.db homepage --policies table.npy",),
)
@where
@json_option("the status")
def show(where: Where, as_json: bool) -> None:
    """Show where a study stands: what is open, settled and learnt, and what it recommends."""
    print_status(where.open(), as_json)


@study_command(
    short_help="What was decided, or still waits for its reward.",
    examples=(
        'policysieve study decisions sqlite:///shop.db homepage --policies table.npy "order 17" '
        '"order 18"',
        "policysieve study decisions sqlite:///shop.db homepage --policies table.npy --open "
        "--older-than 1h",
    ),
)
@where
@ids_options
@click.option("--open", "is_open", is_flag=True, help="All decisions that wait for their rewards.")
@click.option(
    "--older-than",
    metavar="DURATION",
    help="With --open: only those that have waited for so long, such as 90s, 15m, 2h or 3d.",
)
@out_option("the decisions here, to a new file: .parquet or .csv")
@json_option("the decisions")
def decisions(
    where: Where,
    ids: Ids,
    is_open: bool,
    older_than: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show what was decided for IDS, or all decisions that wait for their rewards.

    For a program that asked and did not get the answer, and to see what holds up learning.
    """
    if is_open == bool(ids):
        raise click.UsageError("either IDS or --open is needed: which decisions are meant?")
    if older_than is not None and not is_open:
        raise click.UsageError("--older-than needs --open")
    named = None if is_open else ids.read()
    with where.open() as opened:
        found = (
            opened.open_decisions(older_than=older_than)
            if named is None
            else opened.decisions(named)
        )
        rounds = as_rounds(found, opened.problem)
    if out is not None and len(rounds):
        _check_contexts(found)
        write_decisions(iter([rounds]), out)
    if as_json:
        written = {"rounds": len(rounds), "out": str(out) if len(rounds) else None}
        print_json(written if out is not None else as_dicts(rounds))
    elif not len(rounds):
        print_text("No decisions are open." if older_than is None else "None have waited so long.")
    elif out is not None:
        print_text(f"{len(rounds):,} decisions.")
        click.echo(f"Decisions: {out}")
    else:
        _print_decisions(found)


@study_command(
    short_help="A page about where a study stands.",
    examples=(
        "policysieve study report sqlite:///shop.db homepage page.html --policies table.npy",
    ),
)
@where
@click.argument("page", type=click.Path(dir_okay=False, path_type=Path))
@json_option("the status")
def report(where: Where, page: Path, as_json: bool) -> None:
    """Write the HTML page PAGE about where a study stands."""
    opened = where.open()
    opened.report(page, command=command_line())
    if as_json:
        print_json(opened.status().to_dict())
    else:
        click.echo(f"Report: {page}")


@study_command(
    short_help="The rounds that were learnt from, as a log of any format.",
    examples=(
        "policysieve study export sqlite:///shop.db homepage log.parquet --policies table.npy",
    ),
)
@where
@click.argument("log", type=click.Path(dir_okay=False, path_type=Path))
@format_option("--to", "format", "LOG")
@click.option("--overwrite", is_flag=True, help="Replace LOG if it exists.")
@json_option()
def export(where: Where, log: Path, format: str | None, overwrite: bool, as_json: bool) -> None:
    """Write the rounds that were learnt from to the file LOG, with ids and times."""
    opened = where.open()
    written = opened.log(log, format=format, overwrite=overwrite)
    if as_json:
        print_json({"rounds": len(written), "out": str(log)})
        return
    click.echo(f"{len(written):,} rounds: {log}")
    held_up = opened.status().held_up
    if held_up is not None:
        print_text(f"Not written: {held_up}")


@study_command(
    short_help="Whether a replay of all rounds gives the same explorations.",
    examples=("policysieve study verify sqlite:///shop.db homepage --policies table.npy",),
)
@where
@json_option("what was found")
def verify(where: Where, as_json: bool) -> None:
    """Learn from all rounds again, from the beginning, and compare with what was published.

    Every published exploration must be the same, bit by bit. The exit code is 1 if one differs.
    """
    found = where.open().verify()
    if as_json:
        print_json(found.to_dict())
    else:
        for difference in found.differences:
            print_text(f"Not as it should be: {difference}.")
        print_text(
            f"{found.rounds:,} rounds and {found.explorations:,} explorations: {found.verdict}"
        )
    if not found.holds:
        raise click.exceptions.Exit(1)


def _check_contexts(found: "Decisions") -> None:
    """Raise if some were erased, without which there is no log of these decisions."""
    from policysieve.errors import InvalidArgumentError

    if any(context is None for context in found.contexts[:1]):  # if one was erased, all are None
        raise InvalidArgumentError(
            "--out is for decisions with contexts, and some of these were erased; leave those "
            "decisions out, or print them with --json"
        )


def _print_decisions(found: "Decisions") -> None:
    """A table of the first."""
    from policysieve.study.durations import in_words

    assert found.ids is not None
    names = found.actions if found.action_names is None else found.action_names
    rows = [
        (
            str(id),
            ", ".join(map(str, shown)),
            ", ".join(f"{p:.3g}" for p in chances),
            f"{in_words(age)} ago",
        )
        for id, shown, chances, age in zip(
            found.ids[:_ROWS], names, found.propensities, found.ages, strict=False
        )
    ]
    print_table(
        f"{len(found):,} decisions",
        ["id", "shown", "propensity", "asked for"],
        rows,
        words=(0, 1),
    )
    if len(found) > _ROWS:
        print_text(f"and {len(found) - _ROWS:,} more; --json and --out have all.")
