"""Printing for people and for machines."""

import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from policysieve.files import write_whole
from policysieve.progress import tracked

if TYPE_CHECKING:
    from policysieve.report import Table as ResultTable

__all__ = [
    "command_line",
    "keep_command_line",
    "print_json",
    "print_result",
    "print_table",
    "print_text",
    "reading",
    "write_json",
]

_COMMAND = "policysieve.command"
_WIDE = 1 << 16  # columns, more than any table needs
_SHORT = 24  # characters of a cell that has no sentence
# Signs that one can type: what a terminal shows may be copied.
_PLAIN = str.maketrans({"\N{EN DASH}": "-", "\N{MINUS SIGN}": "-", "\N{INFINITY}": "inf"})


def keep_command_line(context: click.Context, arguments: Sequence[str]) -> None:
    """Remember what was typed, for reports."""
    context.meta[_COMMAND] = shlex.join(["policysieve", *arguments])


def command_line() -> str:
    """What was typed to start the command that runs."""
    context = click.get_current_context()
    command: str = context.meta.get(_COMMAND, context.command_path)
    return command


def print_text(text: str) -> None:
    """Print sentences, broken between words where the terminal ends."""
    if sys.stdout.isatty():
        Console(highlight=False, markup=False).print(text)
    else:
        click.echo(text)


def reading(log: Sized, *, quiet: bool) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """What shows how far the loop over the pieces of a log has come."""
    return partial(tracked, title="Reading", total=len(log), size=len, quiet=quiet)


def print_json(data: Any) -> None:
    """Print one JSON document to standard output."""
    click.echo(json.dumps(data, indent=2, allow_nan=False))


def write_json(data: Any, path: Path) -> None:
    """Write one JSON document; an existing file is replaced only when all is written."""
    write_whole(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: Collection[int] = (0,),
) -> None:
    """Print a table; the columns numbered in `words` are text, the others numbers."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index in words else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # brackets are brackets
    console = Console()
    free = console.options.update(max_width=_WIDE)
    short = all(len(cell) <= _SHORT for row in rows for cell in row)
    if short and Measurement.get(console, free, table).maximum > console.width:
        table.padding = 0  # rather than to break words
    console.print(table)


def print_result(table: "ResultTable") -> None:
    """Print a table as pages have it, and what it says about how to read it."""
    texts = [tuple(text.translate(_PLAIN) for text in row) for row in table.texts]
    words = [number for number, numeric in enumerate(table.numeric) if not numeric]
    print_table(table.title, table.columns, texts, words=words)
    if table.note:
        print_text(table.note)
