"""How far something has come: one bar, on a terminal only."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import TypeVar

__all__ = ["bar_shows", "late_bar", "progress_bar", "tracked"]

Item = TypeVar("Item")

_LATE = 1.0  # seconds after which something that is usually quick shows how far it is
_depth = 0  # bars that are open, shown or not: those within them are not shown


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
    with _nested():
        if not bar_shows(quiet):
            yield lambda done, *, total=None, title=None: None
            return
        with _shown(title, total) as move:
            yield move


def bar_shows(quiet: bool = False) -> bool:
    """Whether a bar would be seen: then it may cost a little to say more in it."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def late_bar(title: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar that is shown only after a second, and not within another one.

    Yields
    ------
    move : function (done)
    """
    quiet = _depth > 0 or threading.current_thread() is not threading.main_thread()
    began, bar = perf_counter(), None
    with _nested(), ExitStack() as stack:

        def move(done: float) -> None:
            nonlocal bar
            if bar is None and not quiet and done < total and perf_counter() - began > _LATE:
                bar = stack.enter_context(progress_bar(title, total))
            if bar is not None:
                bar(done)

        yield move


@contextmanager
def _nested() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


@contextmanager
def _shown(title: str, total: float | None) -> Iterator[Callable[..., None]]:
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
