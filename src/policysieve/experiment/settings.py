"""Settings from a file: tables whose keys are the parameters of what they describe."""

import inspect
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from policysieve.errors import FileFormatError, InvalidArgumentError

__all__ = ["SettingsTable", "can_be_set", "read_toml", "within"]

T = TypeVar("T")

_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "true or false"),
    str: ("a text", "texts"),
}


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of a TOML file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no settings at {os.fspath(path)}")
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{os.fspath(path)} is not a TOML file: {error}") from error


@contextmanager
def within(place: str) -> Iterator[None]:
    """Put the place before the message of an argument that breaks a rule."""
    try:
        yield
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{place}: {error}") from error


def can_be_set(function: Callable[..., Any], *given: str) -> bool:
    """Whether all that a function needs, beside what is given, can stand in a file."""
    return all(
        parameter.default is not parameter.empty or _words(_hint(parameter)) is not None
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in given
    )


class SettingsTable:
    """One table of a file, or the file itself. Every complaint names the key.

    Parameters
    ----------
    name : str
        What the file calls it; empty for the file itself.
    values : mapping of str to plain values
    """

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self.values = values

    def key(self, name: str) -> str:
        """The full name of one of its keys."""
        return f"{self.name}.{name}" if self.name else name

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def table(self, name: str, *, optional: bool = False) -> "SettingsTable":
        """The table of that name; an empty one if it may be missing."""
        value = self.values.get(name, {}) if optional else self._required(name, f"add [{name}]")
        if not isinstance(value, Mapping):
            raise InvalidArgumentError(f"{self.key(name)}: must be a table [{name}], got {value!r}")
        return SettingsTable(self.key(name), value)

    def tables(self, name: str) -> list["SettingsTable"]:
        """The tables of a list ``[[name]]``, at least one."""
        value = self._required(name, f"add one or more tables, each headed [[{name}]]")
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            raise InvalidArgumentError(
                f"{self.key(name)}: must be one or more tables, each headed [[{name}]]"
            )
        return [SettingsTable(f"{self.key(name)}[{i}]", entry) for i, entry in enumerate(value)]

    def choice(self, name: str, choices: Mapping[str, T]) -> T:
        """What the value of a key stands for."""
        value = self._required(name, f"known: {', '.join(choices)}")
        if isinstance(value, str) and value in choices:
            return choices[value]
        raise InvalidArgumentError(
            f"{self.key(name)}: unknown {value!r}, {_hint_at(value, choices)}"
        )

    def check_keys(self, known: Iterable[str]) -> None:
        """Raise at a key that is not known."""
        known = list(known)
        for name in self.values:
            if name not in known:
                raise InvalidArgumentError(
                    f"{self.key(name)}: unknown key, {_hint_at(name, known)}"
                )

    def arguments(
        self, function: Callable[..., Any], *given: str, beside: Iterable[str] = ()
    ) -> dict[str, Any]:
        """The table as arguments of a function, checked against its signature.

        Parameters
        ----------
        function : callable
            Those of its parameters that are plain values are the keys of the table.
        *given : str
            Parameters that do not come from the table.
        beside : iterable of str
            Keys of the table that are not for the function.
        """
        beside = list(beside)
        parameters = {
            name: parameter
            for name, parameter in inspect.signature(function).parameters.items()
            if name not in given and _words(_hint(parameter)) is not None
        }
        self.check_keys([*beside, *parameters])
        arguments = {name: value for name, value in self.values.items() if name not in beside}
        for name, parameter in parameters.items():
            if name in arguments and not _fits(arguments[name], _hint(parameter)):
                raise InvalidArgumentError(
                    f"{self.key(name)}: must be {_words(_hint(parameter))}, got {arguments[name]!r}"
                )
            if name not in arguments and parameter.default is parameter.empty:
                self._required(name, f"give {_words(_hint(parameter))}")
        return arguments

    def _required(self, name: str, advice: str) -> Any:
        if name not in self.values:
            close = get_close_matches(name, self.values, n=1)
            if close:
                advice = f"is {self.key(close[0])} it?"
            raise InvalidArgumentError(f"{self.key(name)}: missing; {advice}")
        return self.values[name]


def _hint_at(value: Any, known: Iterable[str]) -> str:
    known = list(known)
    close = get_close_matches(str(value), known, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def _hint(parameter: inspect.Parameter) -> Any:
    """What a parameter takes; of all that can be an rng, a file can hold a seed."""
    return int if parameter.name == "rng" else parameter.annotation


def _words(hint: Any) -> str | None:
    """What a value must be, in words; None if no plain value will do."""
    if hint in _WORDS:
        return _WORDS[hint][0]
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(value) for value in arguments)
    if get_origin(hint) is list and arguments[0] in _WORDS:
        return f"a list of {_WORDS[arguments[0]][1]}"
    if get_origin(hint) in (Union, UnionType):
        words = [_words(part) for part in arguments if part is not NoneType]
        known = [word for word in words if word is not None]
        return " or ".join(known) if len(known) == len(words) else None
    return None


def _fits(value: Any, hint: Any) -> bool:
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return value in arguments
    if get_origin(hint) is list:
        return isinstance(value, list) and all(_fits(entry, arguments[0]) for entry in value)
    if arguments:
        return any(_fits(value, part) for part in arguments)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)
