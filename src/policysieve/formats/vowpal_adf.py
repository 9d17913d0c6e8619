"""Vowpal Wabbit's text with a line for each action (``cb_adf``), a blank line after each round."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.files import write_text
from policysieve.formats.format import Format, Report, Rules
from policysieve.formats.rounds import Layout, Rounds
from policysieve.formats.text_source import Record, TextRow, TextSource
from policysieve.formats.vowpal_features import (
    FeatureText,
    as_features,
    as_label,
    label_in,
    not_held,
    single_actions,
    split_line,
)

__all__ = ["FORMAT"]

_TITLE = "Vowpal Wabbit's text with a line for each action"


class _AdfReader:
    def __init__(self) -> None:
        self.contexts = FeatureText()

    def records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Blocks of lines between blank ones."""
        block: list[str] = []
        number = 0
        for number, line in enumerate(lines, start=1):
            text = line.rstrip("\r\n")
            if text.strip():
                block.append(text)
            elif block:
                yield Record(number - len(block), "\n".join(block), block)
                block = []
        if block:
            yield Record(number + 1 - len(block), "\n".join(block), block)

    def row(self, record: Record) -> TextRow:
        """Understand one block; the action is the place of the labelled line."""
        shared, name = None, ""
        actions: list[str] = []
        chosen = None
        for line in record.parts:
            words, tag, features = split_line(line)
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


def _write(
    path: Path, layout: Layout, batches: Iterator[Rounds], n_actions: int, compressed: bool
) -> None:
    write_text(path, _pieces(batches, n_actions), compressed=compressed)


def _pieces(batches: Iterator[Rounds], n_actions: int) -> Iterator[str]:
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


def _open(path: Path, rules: Rules, report: Report | None) -> TextSource:
    return TextSource(path, _AdfReader(), rules, report)


FORMAT = Format(
    name="vw-adf",
    title=_TITLE,
    suffixes=(),
    open=_open,
    write=_write,
    not_held=lambda layout: not_held(layout, _TITLE),
    needs_actions=True,
)
