"""The command line: parse, call, print; nothing else."""

from typing import Any

import click

from policysieve.cli.bench import bench
from policysieve.cli.check import check
from policysieve.cli.commands import Group
from policysieve.cli.convert import convert
from policysieve.cli.data import data
from policysieve.cli.decide import decide
from policysieve.cli.demo import demo
from policysieve.cli.design import design
from policysieve.cli.output import keep_command_line
from policysieve.cli.plan import plan
from policysieve.cli.run import run
from policysieve.cli.select import select
from policysieve.cli.serve import serve
from policysieve.cli.study import study
from policysieve.cli.token import token
from policysieve.errors import PolicySieveError

__all__ = ["main"]


class _FriendlyGroup(Group):
    """Show our own errors and file errors as one line, with exit code 1, instead of a traceback.

    Remembers what was typed, too.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        keep_command_line(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever reads our output has seen enough; click ends quietly
            raise
        except (PolicySieveError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=_FriendlyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=(
        "policysieve demo",
        "policysieve select log.parquet --policies pol.py:policies --epsilon 0.05 --floor 0.01",
        "policysieve select --help",
    ),
)
@click.version_option(package_name="policysieve", message="policysieve %(version)s")
def main() -> None:
    """Find the best policy among many from sparse bandit feedback, and prove it."""


for command in (
    demo,
    plan,
    run,
    select,
    check,
    design,
    decide,
    study,
    serve,
    token,
    convert,
    data,
    bench,
):
    main.add_command(command)
