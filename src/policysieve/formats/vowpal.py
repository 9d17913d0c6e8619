"""Vowpal Wabbit's contextual-bandit text, one line a round or a line for each action."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.rules import Rules
from policysieve.formats.text import RawRow, TextRow, plain_lines, read_lines, text_format
from policysieve.formats.vowpal_text import (
    FeatureText,
    as_features,
    as_label,
    label_in,
    not_held,
    single_actions,
    split_line,
)
from policysieve.log import Layout, Rounds

__all__ = ["ADF_FORMAT", "FORMAT"]

_TITLE = "Vowpal Wabbit's contextual-bandit text"
_ADF_TITLE = "Vowpal Wabbit's text with a line for each action"


class _LineReader:
    """``action:cost:probability | features``, a line for each round."""

    def __init__(self, rules: Rules) -> None:
        self.contexts = FeatureText()
        self._contexts_only = rules.contexts_only

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Lines that are not blank."""
        return plain_lines(path)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one line; actions are numbered from 1 there."""
        words, tag, features = split_line(raw.text)
        if words == ["shared"]:
            raise FileFormatError("a shared line belongs to the format vw-adf")
        if self._contexts_only:
            return TextRow(features, id=tag)
        label = label_in(words)
        if label is None:
            raise FileFormatError("there is no action:cost:probability and space before the |")
        action, reward, propensity = label
        if action < 1:
            raise FileFormatError(f"actions are numbered from 1 in this format, got {action}")
        return TextRow(features, [action - 1], [propensity], [reward], tag)


def _line_text(batches: Iterable[Rounds], _layout: Layout, _n_actions: int) -> Iterator[str]:
    for rounds in batches:
        for tag, context, action, reward, propensity in single_actions(rounds):
            label = as_label(action + 1, reward, propensity)
            yield f"{label} {tag}{as_features(context)}\n"


FORMAT = text_format(
    name="vw",
    title=_TITLE,
    suffixes=(".vw", ".dat"),
    reader=_LineReader,
    text=_line_text,
    not_held=lambda layout: not_held(layout, _TITLE),
)


class _AdfReader:
    """``cb_adf``: a line for each action, a blank line after each round."""

    def __init__(self, _rules: Rules) -> None:
        self.contexts = FeatureText()

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Blocks of lines between blank ones."""
        block: list[str] = []
        number = 0
        for number, line in enumerate(read_lines(path), start=1):
            text = line.rstrip("\r\n")
            if text.strip():
                block.append(text)
            elif block:
                yield RawRow(number - len(block), "\n".join(block), block)
                block = []
        if block:
            yield RawRow(number + 1 - len(block), "\n".join(block), block)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one block; the action is the place of the labelled line."""
        shared, name = None, ""
        actions: list[str] = []
        chosen = None
        for part in raw.parts:
            words, tag, features = split_line(part)
            name = name or tag
            if words == ["shared"]:
                if shared is not None or actions:
                    raise FileFormatError("only the first line may be shared")
                shared = features
                continue
            label = label_in(words)
            if label is not None:
                if chosen is not None:
                    raise FileFormatError("two actions have a label, one is needed")
                chosen = (len(actions), *label[1:])
            actions.append(features)
        if chosen is None:
            raise FileFormatError("no action has a label 0:cost:probability")
        action, reward, propensity = chosen
        return TextRow(_context(shared, actions), [action], [propensity], [reward], name)


def _context(shared: str | None, actions: list[str]) -> str:
    """The shared features alone if actions have none but our own, else all lines."""
    if all(line == _own_features(action) for action, line in enumerate(actions)):
        return shared or "|"
    return "\n".join(([] if shared is None else [f"shared {shared}"]) + actions)


def _own_features(action: int) -> str:
    return f"| a={action}"


def _lines(context: Any, n_actions: int) -> tuple[str | None, list[str]]:
    """The shared line and those of the actions; a string of such lines is taken for them."""
    lines = context.split("\n") if isinstance(context, str) else []
    first, actions = (lines[0], lines[1:]) if lines else ("", [])
    if actions and all(line.startswith("|") for line in actions):
        if first.startswith("shared |"):
            return first.removeprefix("shared "), actions
        if first.startswith("|"):
            return None, lines
    return as_features(context), [_own_features(action) for action in range(n_actions)]


def _adf_text(batches: Iterable[Rounds], _layout: Layout, n_actions: int) -> Iterator[str]:
    for rounds in batches:
        for tag, context, action, reward, propensity in single_actions(rounds):
            shared, lines = _lines(context, n_actions)
            if action >= len(lines):
                raise InvalidArgumentError(
                    f"action {action} was shown where the context has lines for {len(lines)}"
                )
            if shared is not None:
                yield f"shared {tag}{shared}\n"
            for number, line in enumerate(lines):
                label = f"{as_label(0, reward, propensity)} " if number == action else ""
                yield f"{label}{tag if label and shared is None else ''}{line}\n"
            yield "\n"


ADF_FORMAT = text_format(
    name="vw-adf",
    title=_ADF_TITLE,
    reader=_AdfReader,
    text=_adf_text,
    not_held=lambda layout: not_held(layout, _ADF_TITLE),
    needs_actions=True,
)
