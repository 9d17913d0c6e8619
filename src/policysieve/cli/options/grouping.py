"""Several options as one record, and options for counts."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import click

__all__ = ["Decorator", "count_option", "grouped"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def count_option(option: str, default: int, help: str, *, least: int = 1) -> Decorator:
    """An option for a whole number, whose help shows what it is by default."""
    kind = click.IntRange(least)
    return click.option(option, default=default, show_default=True, type=kind, help=help)


def grouped(name: str, record: type, *options: Decorator) -> Decorator:
    """Options that a command gets as one record, whose fields they are, under one name."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_record(**arguments: Any) -> Any:
            own = {field.name: arguments.pop(field.name) for field in fields(record)}
            return command(**{name: record(**own)}, **arguments)

        made: Callable[..., Any] = with_record
        for option in reversed(options):
            made = option(made)
        return made

    return add
