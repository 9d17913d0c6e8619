"""Put what `benchmarks/scale/scale.json` holds into the tables of `docs/scale.md`.

Run it with `python docs/figures/fill_scale.py` after `policysieve bench scale`. Each table stands
behind a comment with its name. Sentences name no numbers of it.
"""

import json
import re
from pathlib import Path
from typing import Any

from policysieve.bench.scale.page import tables
from policysieve.report import Table

PAGE = Path(__file__).parents[1] / "scale.md"
RESULT = Path(__file__).parents[2] / "benchmarks" / "scale" / "scale.json"


def filled(page: str, result: dict[str, Any]) -> str:
    """The page with the tables of a result, in place of those that stand there."""
    for name, table in tables(result).items():
        there = re.compile(rf"(<!-- measured: {name} -->\n\n)(?:(?:\|.*\n)+\n?)?")
        if len(there.findall(page)) != 1:
            raise ValueError(f"the page must have one place for the table {name}")
        page = there.sub(lambda found, table=table: found[1] + _markdown(table) + "\n", page)
    return page


def _markdown(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    PAGE.write_text(
        filled(PAGE.read_text(encoding="utf-8"), json.loads(RESULT.read_text(encoding="utf-8"))),
        encoding="utf-8",
    )
