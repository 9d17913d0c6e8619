"""A table of results, which pages and the command line show alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from policysieve.errors import InvalidArgumentError
from policysieve.report.formats import Cell, column_texts, is_number

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """What a table shows, and how to read it.

    Parameters
    ----------
    title : str
        What it shows, without a full stop.
    columns : sequence of str
    rows : sequence of sequences
        One value for each column; the first one names the row.
    note : str
        Sentences about how to read it.
    fold : str, optional
        A page hides the table behind these words until they are clicked; a terminal leaves it out.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    fold: str | None = None

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidArgumentError(
                    f"rows must have {len(self.columns)} values like the columns, got {len(row)} "
                    f"in row {number}"
                )

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers only."""
        return [
            all(is_number(row[column]) for row in self.rows) for column in range(len(self.columns))
        ]

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as they are shown, the numbers of a column alike."""
        columns = [column_texts(values) for values in zip(*self.rows, strict=True)]
        return list(zip(*columns, strict=True))
