"""What a format is: how its files are opened, written, and what they cannot hold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.rounds import Layout, Rounds

__all__ = [
    "BATCH",
    "BadRow",
    "Format",
    "Report",
    "Rules",
    "Source",
    "nothing_read",
    "raising",
    "refuse_slates",
    "refuse_text_rows",
]

BATCH = 1 << 16  # rounds in one batch


@dataclass(frozen=True)
class BadRow:
    """A row that breaks a rule: its line (or row) counted from 1, why, and what it says."""

    line: int
    reason: str
    text: str


Report = Callable[[BadRow], None]


def raising(path: Path, unit: str) -> Report:
    """A report for which the first bad row is an error."""

    def report(bad: BadRow) -> None:
        raise FileFormatError(f"{path}, {unit} {bad.line}: {bad.reason}")

    return report


def nothing_read(path: Path, first: BadRow | None) -> FileFormatError:
    """The error that there are no rounds, because of the first bad row if there is one."""
    reason = "" if first is None else f"; the first reason: {first.reason}"
    return FileFormatError(f"{path} holds no rounds that can be read{reason}")


@dataclass(frozen=True)
class Rules:
    """What rows must keep to.

    Attributes
    ----------
    reward_range : (low, high), optional
        Declared range of the rewards as they are in the file, mapped to [0, 1].
    n_actions : int, optional
        Number of actions; by default any number from 0 is one.
    missing_rewards : bool
        Whether a reward may be missing.
    missing_as : float, optional
        What a missing reward counts as, in units of the file.
    contexts_only : bool
        Whether only contexts, ids and times are read. Rounds then have no items, and what a file
        says of actions, propensities and rewards is left aside, if it says anything.
    """

    reward_range: tuple[float, float] | None = None
    n_actions: int | None = None
    missing_rewards: bool = True
    missing_as: float | None = None
    contexts_only: bool = False


class Source(Protocol):
    """A file that was opened and looked through: its layout is known, its rounds can be read."""

    layout: Layout
    n_rounds: int

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        ...

    def n_actions(self) -> int:
        """Largest action number, plus one."""
        ...


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    name : str
        As the command line calls it.
    title : str
        What it is, for people.
    suffixes : tuple of str
        Endings of file names that mean this format.
    open : function (path, rules, report) -> Source
        `report` is called with each `BadRow` that is read; with None the first is an error.
    write : function (path, layout, batches, n_actions, compressed)
        Writes all batches to a new file.
    not_held : function (layout) -> tuple of str
        What of such rounds the format drops or changes, a phrase each; raises
        `InvalidArgumentError` if it cannot hold them at all.
    needs_actions : bool
        Whether writing needs the number of actions.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    open: Callable[[Path, Rules, Report | None], Source]
    write: Callable[[Path, Layout, Iterator[Rounds], int, bool], None]
    not_held: Callable[[Layout], tuple[str, ...]]
    needs_actions: bool = False


def refuse_slates(layout: Layout, title: str) -> None:
    """Raise if more than one item is shown each round."""
    if layout.slate_size > 1:
        raise InvalidArgumentError(
            f"{title} holds one action a round, these rounds have slates of {layout.slate_size}; "
            "write parquet, csv or jsonl"
        )


def refuse_text_rows(layout: Layout, title: str) -> None:
    """Raise if a context is an array of strings."""
    if layout.has_text and layout.context_shape:
        raise InvalidArgumentError(
            f"{title} holds one string as a context, these have shape {layout.context_shape}; "
            "write parquet or jsonl"
        )
