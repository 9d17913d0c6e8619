"""Tables with columns of our own: which of them hold what."""

import re
from dataclasses import dataclass
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["ITEMS", "TableColumns", "item_names", "understand"]

ITEMS = ("action", "propensity", "reward")
_NAMES = (
    "id, time, context or x0, x1, ..., and action, propensity, reward or action_0, action_1, ..."
)


@dataclass(frozen=True)
class TableColumns:
    """Names of a table's columns by what they hold.

    Attributes
    ----------
    features : list of str
        x0, x1, ...; empty if there is one column ``context``.
    items : dict of str to list of str
        For each of `ITEMS`, the column of each item of a slate.
    """

    features: list[str]
    items: dict[str, list[str]]

    @property
    def needed(self) -> list[str]:
        """Columns that must be there."""
        return [*(self.features or ["context"]), *(n for kind in ITEMS for n in self.items[kind])]


def item_names(kind: str, numbered: int) -> list[str]:
    """Columns of the items of a slate; one without a number if none is numbered."""
    return [f"{kind}_{i}" for i in range(numbered)] or [kind]


def understand(path: Path, names: list[str]) -> TableColumns:
    """Find out what the columns of a file hold, or raise `FileFormatError`."""
    numbered = sum(bool(re.fullmatch(r"action_\d+", name)) for name in names)
    found = sum(bool(re.fullmatch(r"x\d+", name)) for name in names)
    items = {kind: item_names(kind, numbered) for kind in ITEMS}
    table = TableColumns([f"x{i}" for i in range(found)], items)
    missing = [name for name in table.needed if name not in names]
    unknown = [name for name in names if name not in (*table.needed, "id", "time")]
    if missing or unknown:
        problem = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        raise FileFormatError(
            f"{path} has {problem} among {', '.join(names)}; columns are {_NAMES}"
        )
    return table
