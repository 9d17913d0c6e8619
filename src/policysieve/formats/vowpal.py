"""Vowpal Wabbit's contextual-bandit text: ``action:cost:probability | features``."""

from collections.abc import Iterator
from pathlib import Path

from policysieve.errors import FileFormatError
from policysieve.formats.files import write_text
from policysieve.formats.format import Format, Report, Rules
from policysieve.formats.json_lines import line_records
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

_TITLE = "Vowpal Wabbit's contextual-bandit text"


class _VowpalReader:
    def __init__(self, contexts_only: bool) -> None:
        self.contexts = FeatureText()
        self._contexts_only = contexts_only

    def records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Lines that are not blank."""
        return line_records(lines)

    def row(self, record: Record) -> TextRow:
        """Understand one line; actions are numbered from 1 there."""
        words, tag, features = split_line(record.parts)
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


def _write(
    path: Path, layout: Layout, batches: Iterator[Rounds], n_actions: int, compressed: bool
) -> None:
    write_text(path, _pieces(batches), compressed=compressed)


def _pieces(batches: Iterator[Rounds]) -> Iterator[str]:
    for rounds in batches:
        for tag, context, action, reward, propensity in single_actions(rounds):
            label = as_label(action + 1, reward, propensity)
            yield f"{label} {tag}{as_features(context)}\n"


def _open(path: Path, rules: Rules, report: Report | None) -> TextSource:
    return TextSource(path, _VowpalReader(rules.contexts_only), rules, report)


FORMAT = Format(
    name="vw",
    title=_TITLE,
    suffixes=(".vw", ".dat"),
    open=_open,
    write=_write,
    not_held=lambda layout: not_held(layout, _TITLE),
)
