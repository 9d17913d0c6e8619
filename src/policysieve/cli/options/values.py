"""What can be typed as the value of an option."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.shell_completion import CompletionItem

__all__ = ["Actions", "Names", "Number", "OneOf", "SomeOf", "Sparsity"]

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:
    _Kind = click.ParamType


class Number(_Kind):
    """A number with a decimal point; of other spellings it is said how to write them."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number{_as_number(value)}", param, ctx)


class Sparsity(Number):
    """A positive number, or the word unknown."""

    name = "NUMBER|unknown"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number or the word."""
        if value == "unknown":
            return value
        try:
            return float(value)
        except ValueError:
            hint = _as_number(value)
            self.fail(f"{value!r} is neither a number nor the word unknown{hint}", param, ctx)


def _as_number(text: str) -> str:
    """How to write a share in percent, or a number with a decimal comma."""
    plain = text.strip().replace(",", ".")
    try:
        meant = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        return ", such as 0.05"
    return f"; write {meant:.12g}"


class Names(_Kind):
    """Names with commas between them, or a file with a name on each line."""

    name = "NAMES|FILE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The names."""
        if not isinstance(value, str):
            return value
        if "," in value:
            return tuple(name.strip() for name in value.split(","))
        if not Path(value).is_file():
            self.fail(
                f"{value!r} is neither a list of names with commas, nor a file with a name on each "
                "line",
                param,
                ctx,
            )
        try:
            lines = Path(value).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            self.fail(f"{value!r} is not text in UTF-8 ({error})", param, ctx)
        return tuple(line.strip() for line in lines if line.strip())

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Files: names are not known here."""
        return [CompletionItem(incomplete, type="file")]


class Actions(Names):
    """How many actions there are, or their names."""

    name = "NUMBER|NAMES|FILE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number or the names."""
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return click.IntRange(1).convert(cast(Any, value), param, ctx)
        return super().convert(value, param, ctx)


class OneOf(_Kind):
    """A name of a registry, which is looked up when a shell asks what it could be.

    Whether there is such a name is for those to say who use it.
    """

    name = "NAME"

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self.known = known

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Names that begin so."""
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


class SomeOf(OneOf):
    """Names of a registry, with commas between them."""

    name = "NAMES"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The names."""
        if not isinstance(value, str):
            return value
        return tuple(name.strip() for name in value.split(","))

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Names that begin as the last one does."""
        before, comma, last = incomplete.rpartition(",")
        typed = set(before.split(","))
        names = [name for name in self.known() if name.startswith(last) and name not in typed]
        return [CompletionItem(f"{before}{comma}{name}") for name in names]
