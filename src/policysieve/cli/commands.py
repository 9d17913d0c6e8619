"""Commands whose help ends with examples, and which still know their options' earlier names."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

__all__ = ["Command", "Group", "command", "group"]

_WIDTH = 78  # of an example, in characters
_WORD = r"""(?:[^\s"']|"[^"]*"|'[^']*')+"""
_WORDS = re.compile(rf"--[\w-]+ +(?!-){_WORD}|{_WORD}")  # an option stays with its value


class Command(click.Command):
    """A command with examples at the end of its help.

    Parameters
    ----------
    examples : sequence of str
        Lines as one types them.
    formerly : mapping
        Earlier names of options, and what they are called now. They work, with a note.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        formerly: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.formerly = dict(formerly or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what was typed, earlier names as those of today."""
        return super().parse_args(ctx, [self._renamed(one) for one in args])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        super().format_epilog(ctx, formatter)
        _write_examples(self.examples, formatter)

    def _renamed(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if name not in self.formerly:
            return word
        click.echo(f"Note: {name} is called {self.formerly[name]} from 0.2 on.", err=True)
        return f"{self.formerly[name]}{equals}{value}"


class Group(click.Group):
    """Commands in the order in which they were added, and examples."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        super().format_epilog(ctx, formatter)
        _write_examples(self.examples, formatter)


def command(**settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """`click.command` for a `Command`."""
    return click.command(cls=Command, **settings)


def group(**settings: Any) -> Callable[[Callable[..., Any]], Group]:
    """`click.group` for a `Group`."""
    return click.group(cls=Group, **settings)


def _write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write("".join(f"  {line}\n" for line in _folded(example)))


def _folded(example: str) -> list[str]:
    """Lines that a shell takes for one, broken between words, and not behind an option."""
    lines = [""]
    for word in _WORDS.findall(example):
        if len(lines[-1]) + len(word) > _WIDTH - len(" \\"):
            lines[-1] += "\\"
            lines.append("    ")
        lines[-1] += f"{word} "
    return [line.rstrip() for line in lines]
