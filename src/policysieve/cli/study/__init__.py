"""``policysieve study``: durable ask and tell as files."""

import click

from policysieve.cli.study.asking import ask
from policysieve.cli.study.creating import create
from policysieve.cli.study.ending import archive, forget
from policysieve.cli.study.learning import learn
from policysieve.cli.study.looking import decisions, export, list_, report, show, verify
from policysieve.cli.study.settling import discard, expire, tell

__all__ = ["study"]


@click.group(short_help="Durable ask and tell in a database.")
def study() -> None:
    """Ask, tell and learn through a database, from any number of processes.

    URL is that of a database, such as sqlite:///shop.db or postgresql://user@host/shop; NAME is
    that of a study in it.
    """


for command in (
    create, list_, show, ask, decisions, tell, expire, discard, learn, report, export, verify,
    forget, archive,
):  # fmt: skip
    study.add_command(command)
