"""Which study a command is about, and the options that say so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import Command, command
from policysieve.cli.options import grouped, source_option, version_option

if TYPE_CHECKING:
    from policysieve.study import Study

__all__ = ["Where", "name_argument", "study_command", "url_argument", "where"]

_ARGUMENTS = (
    "URL is the address of a database, such as sqlite:///shop.db or postgresql://user@host/shop, "
    "and NAME is a study in it."
)


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


url_argument = click.argument("url")
name_argument = click.argument("name")
where = grouped(
    "where",
    Where,
    url_argument,
    name_argument,
    source_option("The policies that the study was created with, as they were given to create."),
    version_option("version"),
)


def study_command(**settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """A command about one study, whose help says what URL and NAME are."""
    return command(epilog=_ARGUMENTS, **settings)
