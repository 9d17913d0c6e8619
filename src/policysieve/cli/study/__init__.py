"""``policysieve study``: durable ask and tell as files."""

from policysieve.cli.commands import group
from policysieve.cli.study.asking import ask
from policysieve.cli.study.creating import create
from policysieve.cli.study.ending import archive, forget
from policysieve.cli.study.learning import learn
from policysieve.cli.study.looking import decisions, export, list_, report, show, verify
from policysieve.cli.study.settling import discard, expire, tell

__all__ = ["study"]


@group(
    short_help="Decide and learn through a database, from any number of processes.",
    examples=(
        "policysieve study create sqlite:///shop.db homepage --policies table.npy --actions 10 "
        "--epsilon 0.05",
        "policysieve study show sqlite:///shop.db homepage --policies table.npy",
    ),
)
def study() -> None:
    """Ask, tell and learn through a database, from any number of processes.

    A study keeps every decision and every reward, and learns which policy is the best.
    """


for command in (
    create, list_, show, ask, decisions, tell, expire, discard, learn, report, export, verify,
    forget, archive,
):  # fmt: skip
    study.add_command(command)
