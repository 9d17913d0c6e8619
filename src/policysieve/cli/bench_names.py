"""Options that take names which a benchmark knows."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

__all__ = ["names_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


def names_option(
    option: str, module: str, registry: str, note: str = ""
) -> Callable[[Command], Command]:
    """An option whose help lists the names of a registry, and then a `note`.

    The module of the registry is imported only when the help is shown.
    """

    class NamesOption(click.Option):
        def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
            names = ", ".join(getattr(import_module(module), registry))
            known = f"Any of these, with commas between them; all by default: {names}."
            self.help = f"{known} {note}".strip()
            return super().get_help_record(ctx)

    return click.option(option, cls=NamesOption)
