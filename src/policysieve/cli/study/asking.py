"""``policysieve study ask``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policysieve.cli.decide import parts_of, read_contexts, write_decisions
from policysieve.cli.options import ContextsOptions, contexts_options, json_option, out_option
from policysieve.cli.output import print_json, print_text
from policysieve.cli.study.decided import as_dicts, as_rounds
from policysieve.cli.study.where import Where, study_command, where

if TYPE_CHECKING:
    from policysieve.cli.decide import Pieces
    from policysieve.log import Rounds
    from policysieve.study import Study

__all__ = ["ask"]

_BATCH = 10_000  # contexts asked for at once


@study_command(
    short_help="What to show at contexts, kept in the database.",
    examples=(
        "policysieve study ask sqlite:///shop.db homepage --policies table.npy "
        "--contexts users.npy --out decisions.parquet",
    ),
)
@where
@contexts_options(
    "A .npy array, or a file of contexts; if it has ids, these are the ids of the decisions."
)
@out_option("the decisions here, to a new file: .parquet or .csv")
@json_option("the decisions")
def ask(
    where: Where,
    contexts: ContextsOptions,
    out: Path | None,
    as_json: bool,
) -> None:
    """Decide what to show at contexts; the decisions are in the database when it ends.

    The file of --out is a log with ids whose rewards are missing: fill them in, and tell takes it.
    If it was not written to its end, the command decisions writes it again.
    """
    from policysieve.policies.policy_class import names_of_actions

    if out is None and not as_json:
        raise click.UsageError("--out or --json is needed: where should the decisions go?")
    opened = where.open()
    names = names_of_actions(opened.policies, opened.problem)
    pieces = read_contexts(contexts, names)
    decisions = _asked(opened, parts_of(pieces, _BATCH, _BATCH))
    if out is not None:
        rounds, _ = write_decisions(decisions, out)
        if as_json:
            print_json({"rounds": rounds, "out": str(out)})
        else:
            print_text(f"{rounds:,} decisions, whose rewards are to be told.")
            click.echo(f"Decisions: {out}")
        return
    print_json([one for rounds in decisions for one in as_dicts(rounds)])


def _asked(opened: "Study", pieces: "Pieces") -> "Iterator[Rounds]":
    """Decisions as rounds without rewards."""
    from policysieve.errors import InvalidArgumentError

    for contexts, ids, _, beside in pieces:
        if beside.units is not None:
            raise InvalidArgumentError(
                "--contexts must not name units: a study does not know who has come before; leave "
                "that column out, and ask for the first round of each unit"
            )
        made = opened.ask(contexts, ids=ids, available=beside.available)
        yield as_rounds(made, opened.problem)
