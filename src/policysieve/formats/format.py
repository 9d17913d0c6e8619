"""What a format is: how its files are opened, written, and what they cannot hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from policysieve.errors import InvalidArgumentError
from policysieve.files import AnyPath, whole_or_nothing
from policysieve.formats.rules import Report, Rules
from policysieve.log import Layout, Rounds

__all__ = [
    "BATCH",
    "DISTRIBUTIONS",
    "Format",
    "PartedSource",
    "Source",
    "not_named",
    "not_ranged",
    "refuse_frames",
    "refuse_slates",
    "refuse_sparse",
    "refuse_text_rows",
]

BATCH = 1 << 16  # rounds in one batch
DISTRIBUTIONS = "full distributions: only the propensities of what was shown are left"


class Source(Protocol):
    """Files that were opened and looked through: their layout is known, rounds can be read.

    Attributes
    ----------
    layout : Layout
    n_rounds : int
    numbered : bool
        Whether the files themselves have numbers of actions, not names.
    cells : frozenset of str
        Texts that were taken for numbers of actions, and may be names: files of text without
        types do not tell, and nobody has named them.
    """

    layout: Layout
    n_rounds: int
    numbered: bool
    cells: frozenset[str]

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        ...

    def n_actions(self) -> int:
        """Largest action number, shown or in a distribution, plus one."""
        ...


@runtime_checkable
class PartedSource(Source, Protocol):
    """Files of which some rounds can be read without those before them."""

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts of about `most` rounds begin, none in two files, and in which file."""
        ...

    def between(self, start: int, stop: int) -> Iterator[Rounds]:
        """The rounds from one on, up to another, in the same batches as all of them."""
        ...


@dataclass(frozen=True, kw_only=True)
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
    recognises : function (path) -> bool, optional
        Whether a file with a suffix of several formats is of this one; without it, this is what the
        suffix means otherwise.
    open : function (paths, rules, report) -> Source
        Opens files that are one log. `report` is called with each `BadRow` that is read; with None
        the first is an error.
    write : function (path, batches, layout, n_actions, compressed)
        Writes all batches to a new file.
    not_held : function (layout) -> tuple of str
        What of such rounds the format drops or changes, a phrase each; raises
        `InvalidArgumentError` if it cannot hold them at all.
    needs_actions : bool
        Whether writing needs the number of actions.
    tabular : bool
        Whether files are tables, of which a map can say what their columns hold.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    recognises: Callable[[Path], bool] | None = None
    open: Callable[[Sequence[Path], Rules, Report | None], Source]
    write: Callable[[Path, Iterable[Rounds], Layout, int, bool], None]
    not_held: Callable[[Layout], tuple[str, ...]]
    needs_actions: bool = False
    tabular: bool = False

    def save(
        self,
        path: AnyPath,
        batches: Iterable[Rounds],
        layout: Layout,
        n_actions: int = 0,
        *,
        new: bool = False,
    ) -> None:
        """Write a file, compressed if its name ends in ``.gz``; all of it, or nothing changes.

        With `new` a file that is there in the end is an error, not replaced.
        """
        with whole_or_nothing(path, new=new) as partial:
            self.write(partial, batches, layout, n_actions, Path(path).suffix == ".gz")


def refuse_slates(layout: Layout, title: str) -> None:
    """Raise if more than one item is shown each round."""
    if layout.slate_size > 1:
        raise InvalidArgumentError(
            f"{title} holds one action a round, these rounds have slates of {layout.slate_size}; "
            "write parquet, csv or jsonl"
        )


def not_named(layout: Layout) -> tuple[str, ...]:
    """What a format without names of actions drops."""
    if layout.action_names is None:
        return ()
    first = ", ".join(f"{i} is {name!r}" for i, name in enumerate(layout.action_names[:3]))
    more = ", ..." if len(layout.action_names) > 3 else ""
    return (f"names of actions: numbers stand for them ({first}{more})",)


def not_ranged(layout: Layout) -> tuple[str, ...]:
    """What a format without the range of the rewards drops."""
    if layout.reward_range is None:
        return ()
    low, high = layout.reward_range
    return (
        "the range of the rewards: read it again with "
        f"--reward-range {low:g} {high:g}, or reward_range=({low:g}, {high:g})",
    )


def refuse_frames(layout: Layout, title: str) -> None:
    """Raise if contexts are rows of a table."""
    if layout.has_frames:
        raise InvalidArgumentError(
            f"{title} holds numbers or one string as a context, these are {layout.context_dtype}; "
            "write parquet, csv or jsonl"
        )


def refuse_sparse(layout: Layout, title: str) -> None:
    """Raise if contexts are rows of a sparse matrix."""
    if layout.has_frames and layout.context_dtype.is_sparse:
        raise InvalidArgumentError(f"{title} does not hold {layout.context_dtype}; write parquet")


def refuse_text_rows(layout: Layout, title: str) -> None:
    """Raise if a context is an array of strings."""
    if layout.has_text and layout.context_shape:
        raise InvalidArgumentError(
            f"{title} holds one string as a context, these have shape {layout.context_shape}; "
            "write parquet or jsonl"
        )
