"""How far something has come: one bar, on a terminal only."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Protocol, TypeVar

__all__ = ["Move", "progress_bar", "tracked"]

Item = TypeVar("Item")


class Move(Protocol):
    """What moves a bar."""

    def __call__(
        self, done: float, *, total: float | None = None, title: str | None = None
    ) -> None:
        """Say how much is done, and if need be of how much and under which title."""


@contextmanager
def progress_bar(title: str, total: float | None = None, *, quiet: bool = False) -> Iterator[Move]:
    """A bar that is moved by what this yields, and gone at the end.

    Nothing is shown if `quiet`, or if standard error is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield _nobody_looks
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)

        def move(done: float, *, total: float | None = None, title: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=title)

        yield move


def _nobody_looks(done: float, *, total: float | None = None, title: str | None = None) -> None: ...


def tracked(
    items: Iterable[Item],
    title: str,
    total: float | None = None,
    *,
    size: Callable[[Item], int] = lambda _item: 1,
    quiet: bool = False,
) -> Iterator[Item]:
    """The items, with a bar while they are used; each counts for its `size`."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    done = 0
    with progress_bar(title, total, quiet=quiet) as move:
        for item in items:
            yield item
            done += size(item)
            move(done)
