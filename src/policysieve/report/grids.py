"""What the pages of several benchmarks share."""

from collections.abc import Callable, Mapping
from typing import Any

from policysieve.report.formats import Cell
from policysieve.report.page import Page

__all__ = ["add_left_out", "grid"]


def grid(
    rows: list[dict[str, Any]], down: str, across: str, cell: Callable[[dict[str, Any]], Cell]
) -> tuple[list[str], list[list[Cell]]]:
    """Columns and rows of a table with the values of `down` in its first column.

    Each value of `across` has a column, filled by `cell`; where there is no such row it is None.
    """
    columns = list(dict.fromkeys(row[across] for row in rows))
    found = {(row[down], row[across]): cell(row) for row in rows}
    names = dict.fromkeys(row[down] for row in rows)
    return [down, *columns], [
        [name, *(found.get((name, column)) for column in columns)] for name in names
    ]


def add_left_out(page: Page, skipped: Mapping[str, str]) -> None:
    """Say what could not be measured here, and why."""
    if skipped:
        page.section("Left out")
        page.table(["what", "why"], list(skipped.items()), "What could not be measured here.")
