"""How far the reading of a log has come, on a terminal only."""

import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["with_progress"]


def with_progress(
    batches: Iterable[Any], what: str, *, total: int | None = None, quiet: bool
) -> Iterable[Any]:
    """The batches, with a bar while they are read; with a count if nobody knows the total."""
    return batches if quiet or not sys.stderr.isatty() else _shown(batches, what, total)


def _shown(batches: Iterable[Any], what: str, total: int | None) -> Iterable[Any]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    count = [TextColumn("{task.description} {task.completed:,.0f} rounds")]
    columns = count if total is None else Progress.get_default_columns()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for batch in batches:
            yield batch
            bar.advance(task, len(batch))
