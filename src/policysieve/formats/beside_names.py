"""What tables call the columns beside contexts and items, and what formats without them drop."""

import re
from collections.abc import Sequence

from policysieve.errors import FileFormatError
from policysieve.log import Layout

__all__ = ["AVAILABLE", "OUTCOME", "UNIT", "not_beside", "outcome_columns", "outcomes_in"]

AVAILABLE, UNIT = "available", "unit"
OUTCOME = re.compile(r"outcome(_\d+)?:(.+)", re.DOTALL)


def outcome_columns(outcome: str, numbered: int) -> list[str]:
    """Columns of an outcome, one for each item of a slate; one without a number if none has any."""
    return [f"outcome_{i}:{outcome}" for i in range(numbered)] or [f"outcome:{outcome}"]


def outcomes_in(path: object, names: Sequence[str], numbered: int) -> dict[str, list[str]]:
    """Columns of each outcome in a table with so many numbered items, or raise."""
    found = dict.fromkeys(match[2] for match in map(OUTCOME.fullmatch, names) if match)
    columns = {outcome: outcome_columns(outcome, numbered) for outcome in found}
    for name in (name for several in columns.values() for name in several):
        if name not in names:
            raise FileFormatError(
                f"{path} has no column {name!r} among {', '.join(names)}; an outcome has a column "
                "for each item that is shown"
            )
    return columns


def not_beside(layout: Layout, *, sets: bool = False) -> tuple[str, ...]:
    """What a format drops that has no place for these; some have sets of actions."""
    notes = []
    if layout.has_available:
        notes.append("what was available" + ", if it is the same in all rounds" * sets)
    if layout.has_units:
        notes.append("units: who came back is not known any more")
    if layout.outcomes:
        notes.append(f"other outcomes than the reward: {', '.join(layout.outcomes)}")
    return tuple(notes)
