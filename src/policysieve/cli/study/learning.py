"""``policysieve study learn``: the worker."""

import json
import time
from typing import TYPE_CHECKING

import click

from policysieve.cli.options import json_option
from policysieve.cli.output import print_text
from policysieve.cli.study.where import Where, study_command, where

if TYPE_CHECKING:
    from policysieve.study import Study

__all__ = ["learn"]


@study_command(
    short_help="A worker that learns from rewards, until it is stopped.",
    examples=(
        "policysieve study learn sqlite:///shop.db homepage --policies table.npy --once",
        "policysieve study learn sqlite:///shop.db homepage --policies table.npy --every 5s",
    ),
)
@where
@click.option(
    "--every",
    default="2s",
    metavar="DURATION",
    show_default=True,
    help="How long to wait before the next look.",
)
@click.option("--once", is_flag=True, help="Learn from what is settled, and end.")
@json_option("how many rounds were learnt from, a line each time,")
def learn(where: Where, every: str, once: bool, as_json: bool) -> None:
    """Learn from settled rounds and publish the next exploration, until it is stopped.

    Any number of these may run: one learns, and when it dies another takes over. With --once it
    learns from what is there, and ends: for a job that a scheduler starts.
    """
    from policysieve.study.durations import seconds

    pause, opened = seconds("--every", every), where.open(learn=True)
    try:
        while True:
            learnt = opened.learn()
            if learnt or once:
                _say_learnt(opened, learnt, as_json)
            if once:
                return
            time.sleep(pause)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
    finally:
        opened.close()


def _say_learnt(opened: "Study", learnt: int, as_json: bool) -> None:
    status = opened.status()
    if as_json:
        found = {"learnt": learnt, "exploration": status.exploration, "finished": status.finished}
        click.echo(json.dumps(found))  # on one line
    else:
        print_text(f"Learnt from {learnt:,} rounds; exploration {status.exploration} is in use.")
        if status.held_up is not None and not learnt:
            print_text(status.held_up)
