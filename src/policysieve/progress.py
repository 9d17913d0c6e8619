"""How far something has come: one bar, on a terminal only."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["progress_bar", "tracked"]

Item = TypeVar("Item")


@contextmanager
def progress_bar(
    title: str, total: float | None = None, *, quiet: bool = False
) -> Iterator[Callable[..., None]]:
    """A bar that is gone at the end.

    Nothing is shown if `quiet`, or if standard error is not a terminal.

    Yields
    ------
    move : function (done, *, total=None, title=None)
        Says how much is done, and if need be of how much and under which title.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, *, total=None, title=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done, *, total=None, title=None: bar.update(
            task, completed=done, total=total, description=title
        )


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
