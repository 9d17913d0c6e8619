"""Tables with columns of our own: which of them hold what."""

import re
from dataclasses import dataclass
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["ITEMS", "TableColumns", "item_names", "understand"]

ITEMS = ("action", "propensity", "reward")
_ITEM = re.compile(rf"({'|'.join(ITEMS)})(_\d+)?")
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # what pandas calls one without a name
_CONTEXT_NAMES = "id, time, context or x0, x1, ..."
_NAMES = f"{_CONTEXT_NAMES}, and action, propensity, reward or action_0, action_1, ..."


@dataclass(frozen=True)
class TableColumns:
    """Names of a table's columns by what they hold.

    Attributes
    ----------
    features : list of str
        x0, x1, ...; empty if there is one column ``context``.
    items : dict of str to list of str
        For each of `ITEMS`, the column of each item of a slate; none if contexts alone are read.
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


def understand(path: Path, names: list[str], *, contexts_only: bool) -> TableColumns:
    """Find out what the columns of a file hold, or raise `FileFormatError`.

    If contexts alone are read, columns of items may be there or not.
    """
    numbered = sum(bool(re.fullmatch(r"action_\d+", name)) for name in names)
    found = sum(bool(re.fullmatch(r"x\d+", name)) for name in names)
    items = {kind: [] if contexts_only else item_names(kind, numbered) for kind in ITEMS}
    table = TableColumns([f"x{i}" for i in range(found)], items)
    missing = [name for name in table.needed if name not in names]
    left_aside = [name for name in names if contexts_only and _ITEM.fullmatch(name)]
    unknown = [n for n in names if n not in (*table.needed, "id", "time", *left_aside)]
    if missing or unknown:
        problem = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        index = not missing and _INDEX.fullmatch(unknown[0])
        hint = ", which may be the index of a data frame: leave it out (index=False)"
        raise FileFormatError(
            f"{path} has {problem} among {', '.join(names)}{hint if index else ''}; columns are "
            f"{_CONTEXT_NAMES if contexts_only else _NAMES}"
        )
    return table
