"""``policysieve convert``: a log from one format to another."""

from collections.abc import Iterable
from typing import Any

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    LogArgument,
    actions_option,
    column_map,
    format_option,
    json_option,
    log_argument,
)
from policysieve.cli.output import print_json, print_text
from policysieve.progress import tracked

__all__ = ["convert"]


@command(
    short_help="A log in another format, and what that format cannot hold.",
    examples=(
        "policysieve convert clicks.csv log.parquet",
        "policysieve convert old.dat log.jsonl.gz --from vw --skip-bad",
    ),
)
@log_argument("IN... OUT")
@format_option("--to", "to_format", "OUT")
@actions_option("Number of actions, by default the largest seen plus one; or their names")
@click.option(
    "--skip-bad", is_flag=True, help="Leave bad rows out, and write them to OUT.skipped.jsonl."
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@json_option()
def convert(
    log: LogArgument,
    to_format: str | None,
    actions: int | tuple[str, ...] | None,
    skip_bad: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Convert the log IN, one or several files, to OUT, and say what the new format cannot hold.

    Files are read in pieces, so they may be larger than memory; text is compressed if its name ends
    in .gz. OUT is a new file, and appears when all is written. A bad row or a missing reward stops
    everything, unless --skip-bad leaves such rows out, or --missing-reward says what counts.
    """
    from policysieve.formats import convert as convert_file

    *sources, target = log.paths
    if not sources:
        raise click.UsageError(
            f"name the file to write after those to read, got only {target}; for instance "
            f"policysieve convert {target} log.parquet"
        )

    def track(batches: Iterable[Any], total: int) -> Iterable[Any]:
        return tracked(batches, "Converting", total, size=len, quiet=as_json)

    done = convert_file(
        sources,
        target,
        from_format=log.format,
        to_format=to_format,
        reward_range=log.reward_range,
        n_actions=actions if isinstance(actions, int) else None,
        missing_reward=log.missing_reward,
        columns=column_map(log.columns),
        actions=actions if isinstance(actions, tuple) else None,
        max_bytes=log.max_bytes,
        skip_bad=skip_bad,
        overwrite=overwrite,
        track=track,
    )
    if as_json:
        print_json(done.to_dict())
        return
    click.echo(f"{target}  ({done.target_format})")
    slates = f", slates of {done.slate_size}" if done.slate_size > 1 else ""
    click.echo(f"  rounds               {done.rounds:,}{slates}")
    click.echo(f"  contexts             {done.contexts}")
    click.echo(f"  actions seen         {done.actions_seen:,}")
    click.echo(f"  mean reward          {done.mean_reward:.6g}")
    click.echo(f"  smallest propensity  {done.smallest_propensity:.6g}")
    if done.skipped_file is not None:
        click.echo(f"  skipped              {done.skipped:,}, see {done.skipped_file}")
    for phrase in done.not_held:
        print_text(f"Not held by {done.target_format}: {phrase}.")
