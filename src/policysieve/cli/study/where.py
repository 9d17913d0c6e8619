"""Which study a command is about, and the options that say so."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from policysieve.cli.options import grouped, source_option, version_option

if TYPE_CHECKING:
    from policysieve.study import Study

__all__ = ["Where", "name_argument", "url_argument", "where"]


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
    source_option("The policies that the study was created with, as create took them."),
    version_option("version"),
)
