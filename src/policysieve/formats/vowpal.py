"""Vowpal Wabbit's contextual-bandit text, one line a round or a line for each action."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.beside_names import not_beside
from policysieve.formats.cells import as_number, as_whole, finite, whole
from policysieve.formats.format import (
    DISTRIBUTIONS,
    not_named,
    refuse_frames,
    refuse_slates,
    refuse_text_rows,
)
from policysieve.formats.lines import Lines, RawRow, plain_lines
from policysieve.formats.rules import Rules
from policysieve.formats.text import TextRow, text_format
from policysieve.log import Layout, Rounds

__all__ = ["ADF_FORMAT", "FORMAT"]

_TITLE = "Vowpal Wabbit's contextual-bandit text"
_ADF_TITLE = "Vowpal Wabbit's text with a line for each action"

_OWN = "| a="  # with the number of an action, its only feature
_FEATURE = re.compile(r"f(0|[1-9]\d{0,4})(?::(.+))?")


class _LineReader:
    """``action:cost:probability | features``, a line for each round."""

    def __init__(self, rules: Rules) -> None:
        self.contexts = _FeatureText()
        self._contexts_only = rules.contexts_only
        self._longest = rules.longest_row

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Lines that are not blank."""
        return plain_lines(path, self._longest)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one line; actions are numbered from 1 there."""
        words, tag, features = _split_line(raw.text)
        if words == ["shared"]:
            raise FileFormatError("a shared line belongs to the format vw-adf")
        if self._contexts_only:
            return TextRow(features, id=tag)
        label = _label_in(words)
        if label is None:
            raise FileFormatError("there is no action:cost:probability and space before the |")
        action, reward, propensity = label
        if action < 1:
            raise FileFormatError(f"actions are numbered from 1 in this format, got {action}")
        return TextRow(features, [action - 1], [propensity], [reward], tag)


def _line_text(batches: Iterable[Rounds], _layout: Layout, _n_actions: int) -> Iterator[str]:
    for rounds in batches:
        for tag, context, action, reward, propensity in _single_actions(rounds):
            label = _as_label(action + 1, reward, propensity)
            yield f"{label} {tag}{_as_features(context)}\n"


FORMAT = text_format(
    name="vw",
    title=_TITLE,
    suffixes=(".vw", ".dat"),
    reader=_LineReader,
    text=_line_text,
    not_held=lambda layout: _not_held(layout, _TITLE, sets=False),
)


class _AdfReader:
    """``cb_adf``: a line for each action, a blank line after each round.

    The actions of a round are those that were available. They are known by their places, or by
    their numbers where we wrote them.
    """

    has_action_sets = True

    def __init__(self, rules: Rules) -> None:
        self.contexts = _FeatureText()
        self._contexts_only = rules.contexts_only
        self._longest = rules.longest_row

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Blocks of lines between blank ones."""
        lines = Lines(path, self._longest)
        for line in lines:
            if not line.strip():
                yield from _block(lines.number - 1, lines.row[:-1])
                lines.next_row()
        yield from _block(lines.number, lines.row)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one block; the action is the place of the labelled line."""
        shared, name = None, ""
        actions: list[str] = []
        chosen = None
        for part in raw.parts:
            words, tag, features = _split_line(part)
            name = name or tag
            if words == ["shared"]:
                if shared is not None or actions:
                    raise FileFormatError("only the first line may be shared")
                shared = features
                continue
            label = None if self._contexts_only else _label_in(words)
            if label is not None:
                if chosen is not None:
                    raise FileFormatError("two actions have a label, one is needed")
                chosen = (len(actions), *label[1:])
            actions.append(features)
        numbers = _own_numbers(actions)
        row = TextRow(
            "\n".join(([] if shared is None else [f"shared {shared}"]) + actions)
            if numbers is None
            else shared or "|",
            id=name,
            available=range(len(actions)) if numbers is None else numbers,
        )
        if self._contexts_only:
            return row
        if chosen is None:
            raise FileFormatError("no action has a label 0:cost:probability")
        place, reward, propensity = chosen
        return row._replace(
            actions=[place if numbers is None else numbers[place]],
            propensities=[propensity],
            rewards=[reward],
        )


def _block(last: int, lines: list[str]) -> Iterator[RawRow]:
    """The row of the lines up to a last one, if there are any."""
    if lines:
        block = [line.rstrip("\r\n") for line in lines]
        yield RawRow(last + 1 - len(block), "\n".join(block), block)


def _own_numbers(actions: list[str]) -> Sequence[int] | None:
    """Numbers of actions in order if they have no features but our own, else None."""
    if all(line == _own_features(action) for action, line in enumerate(actions)):
        return range(len(actions))
    numbers = [as_whole(line.removeprefix(_OWN)) for line in actions if line.startswith(_OWN)]
    known = [number for number in numbers if number is not None and number >= 0]
    rising = all(low < high for low, high in pairwise(known))
    return known if len(known) == len(actions) and rising else None


def _own_features(action: int) -> str:
    return f"{_OWN}{action}"


def _lines(context: Any, numbers: Sequence[int]) -> tuple[str | None, list[str]]:
    """The shared line and those of the actions; a string of such lines is taken for them."""
    lines = context.split("\n") if isinstance(context, str) else []
    first, actions = (lines[0], lines[1:]) if lines else ("", [])
    if actions and all(line.startswith("|") for line in actions):
        if first.startswith("shared |"):
            return first.removeprefix("shared "), actions
        if first.startswith("|"):
            return None, lines
    return _as_features(context), [_own_features(action) for action in numbers]


def _adf_text(batches: Iterable[Rounds], _layout: Layout, n_actions: int) -> Iterator[str]:
    for rounds in batches:
        available = rounds.beside.available
        sets: Iterable[Sequence[int]] = repeat(range(n_actions), len(rounds))
        if available is not None:
            sets = available.lists()
        for one, numbers in zip(_single_actions(rounds), sets, strict=True):
            tag, context, action, reward, propensity = one
            shared, lines = _lines(context, numbers)
            if available is not None:
                action = _place(action, numbers, len(lines))
            if action >= len(lines):
                raise InvalidArgumentError(
                    f"action {action} was shown where the context has lines for {len(lines)}"
                )
            if shared is not None:
                yield f"shared {tag}{shared}\n"
            for number, line in enumerate(lines):
                label = f"{_as_label(0, reward, propensity)} " if number == action else ""
                yield f"{label}{tag if label and shared is None else ''}{line}\n"
            yield "\n"


def _place(action: int, numbers: Sequence[int], n_lines: int) -> int:
    """The line of an action among those that were available, or raise."""
    if action not in numbers or n_lines != len(numbers):
        raise InvalidArgumentError(
            f"action {action} was shown where {len(numbers)} actions were available, it must be "
            f"one of these, and the context must have a line for each, got {n_lines}"
        )
    return numbers.index(action)


ADF_FORMAT = text_format(
    name="vw-adf",
    title=_ADF_TITLE,
    reader=_AdfReader,
    text=_adf_text,
    not_held=lambda layout: _not_held(layout, _ADF_TITLE, sets=True),
    needs_actions=True,
)


class _FeatureText:
    """Text that starts at the first bar: feature rows if all are, else row numbers, else strings.

    ``| f0:1.5 f2`` is the row (1.5, 0, 1), ``| c=17`` is row number 17, ``| t=a%20b`` is the
    string "a b". Where a file has any other features, or several of these kinds, contexts are
    strings, and other features are kept as they are written.
    """

    def __init__(self) -> None:
        self._width = 0
        self._all_rows = self._all_numbers = True

    @property
    def shape(self) -> tuple[int, ...]:
        """One number or string, or the largest feature's number plus one."""
        return (self._width,) if self._all_rows and self._width else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of numbers or strings."""
        if self.shape:
            return np.dtype(np.float64)
        return np.dtype(np.int64 if self._all_numbers else object)

    def see(self, context: str) -> None:
        """Take one context into account."""
        row = _row_in(context)
        self._all_numbers = self._all_numbers and _number_in(context) is not None
        self._all_rows = self._all_rows and row is not None
        if row:
            self._width = max(self._width, max(row) + 1)

    def value(self, context: str) -> Any:
        """The features, the row number or the string."""
        if self.shape:
            row = _row_in(context) or {}
            return [row.get(i, 0.0) for i in range(self._width)]
        if self._all_numbers:
            return _number_in(context)
        only = _tokens(context)
        if len(only) == 1 and only[0].startswith("t="):
            return unquote(only[0][2:])
        return context


def _tokens(context: str) -> list[str]:
    """Features without a namespace; nothing if there is another bar, a namespace or a break."""
    inner = context[1:]
    if "|" in inner or "\n" in inner or not (inner[:1].isspace() or not inner):
        return []
    return inner.split()


def _row_in(context: str) -> dict[int, float] | None:
    """Values of the features f0, f1, ...; None if there are others, or one is there twice."""
    row: dict[int, float] = {}
    tokens = _tokens(context)
    for token in tokens:
        match = _FEATURE.fullmatch(token)
        value = as_number(match[2] or "1") if match else None
        if match is None or value is None or not math.isfinite(value):
            return None
        row[int(match[1])] = value
    return row if len(row) == len(tokens) and (row or context.strip() == "|") else None


def _number_in(context: str) -> int | None:
    """The row number; None if the context is something else."""
    tokens = _tokens(context)
    return as_whole(tokens[0][2:]) if len(tokens) == 1 and tokens[0].startswith("c=") else None


def _as_features(context: Any) -> str:
    """A number, a string or a list of numbers as features, from the bar on.

    Zeros are left out, but for the last feature, which tells how many there are. A string of one
    line that starts with a bar is taken for features.
    """
    if isinstance(context, str):
        ready = context.startswith("|") and "\n" not in context and "\r" not in context
        return context if ready else f"| t={quote(context, safe='')}"
    if isinstance(context, int):
        return f"| c={context}"
    row = context if isinstance(context, list) else [context]
    last = len(row) - 1
    return "| " + " ".join(f"f{i}:{x!r}" for i, x in enumerate(row) if x or i == last)


def _as_label(action: int, reward: float, propensity: float) -> str:
    """``action:cost:probability``; the cost is minus the reward."""
    return f"{action}:{0.0 - reward!r}:{propensity!r}"


def _label_in(words: list[str]) -> tuple[int, float, float] | None:
    """Action, reward and propensity of the only label before the bar; None if there is none."""
    labels = [word.split(":") for word in words]
    if not labels:
        return None
    if len(labels) > 1 or len(labels[0]) != 3:
        raise FileFormatError(
            f"the label must be one action:cost:probability, got {' '.join(words)!r}"
        )
    action, cost, probability = labels[0]
    return (
        whole("the action", action),
        0.0 - finite("the cost", cost),
        finite("the probability", probability),
    )


def _split_line(line: str) -> tuple[list[str], str, str]:
    """Words before the bar, the tag as an id, and the features from the bar on.

    As Vowpal Wabbit has it, a word that touches the bar or starts with ``'`` is the tag.
    """
    head, bar, features = line.partition("|")
    if not bar:
        raise FileFormatError("there is no | before the features")
    words = head.split()
    tag = ""
    if words and (head[-1:].strip() or words[-1].startswith("'")):
        tag = words.pop().removeprefix("'")
    return words, unquote(tag), (bar + features).rstrip()


def _single_actions(rounds: Rounds) -> Iterator[tuple[str, Any, int, float, float]]:
    """Tag, context, action from 0, reward and propensity of each round."""
    ids = [""] * len(rounds) if rounds.ids is None else rounds.ids
    tags = [f"'{quote(name, safe='')}" if name else "" for name in ids]
    return zip(
        tags,
        rounds.plain_contexts(flat=True),
        rounds.actions[:, 0].tolist(),
        rounds.rewards[:, 0].tolist(),
        rounds.propensities[:, 0].tolist(),
        strict=True,
    )


def _not_held(layout: Layout, title: str, *, sets: bool) -> tuple[str, ...]:
    """What text for Vowpal Wabbit drops or changes."""
    refuse_slates(layout, title)
    refuse_text_rows(layout, title)
    refuse_frames(layout, title)
    notes = [*not_named(layout), *not_beside(layout, sets=sets)]
    if layout.has_times:
        notes.append("times")
    if layout.has_distributions:
        notes.append(DISTRIBUTIONS)
    if len(layout.context_shape) > 1:
        notes.append(f"the shape of the contexts: they are rows of {layout.width} features")
    if not layout.context_shape and layout.context_dtype.kind == "f":
        notes.append("that a context is one number: it is a row of one feature")
    if layout.has_text:
        notes.append(
            "words of the contexts: a string is one feature, with special characters as %20, "
            "unless it starts with | and is taken for features"
        )
    return tuple(notes)
