"""Contexts as Vowpal Wabbit's features, its labels, and what its lines can hold."""

import math
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import as_number, as_whole, finite, whole
from policysieve.formats.format import refuse_slates, refuse_text_rows
from policysieve.log import Layout, Rounds

__all__ = [
    "FeatureText",
    "as_features",
    "as_label",
    "label_in",
    "not_held",
    "single_actions",
    "split_line",
]

_FEATURE = re.compile(r"f(0|[1-9]\d{0,4})(?::(.+))?")


class FeatureText:
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
        """Of numbers or strings."""
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


def as_features(context: Any) -> str:
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


def as_label(action: int, reward: float, propensity: float) -> str:
    """``action:cost:probability``; the cost is minus the reward."""
    return f"{action}:{0.0 - reward!r}:{propensity!r}"


def label_in(words: list[str]) -> tuple[int, float, float] | None:
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


def split_line(line: str) -> tuple[list[str], str, str]:
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


def single_actions(rounds: Rounds) -> Iterator[tuple[str, Any, int, float, float]]:
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


def not_held(layout: Layout, title: str) -> tuple[str, ...]:
    """What text for Vowpal Wabbit drops or changes."""
    refuse_slates(layout, title)
    refuse_text_rows(layout, title)
    notes = []
    if layout.has_times:
        notes.append("times")
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
