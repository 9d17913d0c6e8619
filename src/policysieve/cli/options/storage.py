"""Databases of studies: which one, with which version of the policies, and who learns."""

import click

from policysieve.cli.options.grouping import Decorator

__all__ = ["no_learn_option", "storage_option", "version_option"]

storage_option = click.option(
    "--storage",
    "url",
    required=True,
    metavar="URL",
    help="Address of the database, such as sqlite:///shop.db or postgresql://user@host/shop.",
)
no_learn_option = click.option(
    "--no-learn", is_flag=True, help="Leave learning to another process."
)


def version_option(variable: str, metavar: str = "VERSION", *, multiple: bool = False) -> Decorator:
    """The option ``--class-version``."""
    return click.option(
        "--class-version",
        variable,
        metavar=metavar,
        multiple=multiple,
        help="Version of the policies in your own words: the same when a study is created and when "
        "it is opened.",
    )
