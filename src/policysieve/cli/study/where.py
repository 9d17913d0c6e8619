"""Which study a command is about, and the options that say so."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from policysieve.cli.options import grouped

if TYPE_CHECKING:
    from policysieve.study import Study

__all__ = ["Where", "name_argument", "no_learn_option", "url_argument", "version_option", "where"]


@dataclass(frozen=True, kw_only=True)
class Where:
    """Which study, and the policies that it was created with."""

    url: str
    name: str
    policies: str
    version: str | None

    def open(self, *, learn: bool = False) -> "Study":
        """Open it with its policies."""
        from policysieve.cli.loading import policies_of
        from policysieve.study import Study, record_of

        policies = policies_of(record_of(self.url, self.name), self.policies)
        return Study.open(self.url, self.name, policies, version=self.version, learn=learn)


version_option = click.option(
    "--class-version", "version", help="What you call the policies, if they have a version."
)
no_learn_option = click.option(
    "--no-learn", is_flag=True, help="Leave learning to another process."
)
url_argument = click.argument("url")
name_argument = click.argument("name")
where = grouped(
    "where",
    Where,
    url_argument,
    name_argument,
    click.option(
        "--policies",
        required=True,
        help="The policies that the study was created with, as create took them.",
    ),
    version_option,
)
