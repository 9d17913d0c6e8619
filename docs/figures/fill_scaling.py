"""Put what `benchmarks/scaling/scaling.json` holds into tables and figures of `docs/scaling.md`.

Run it with `python docs/figures/fill_scaling.py` after `policysieve bench scaling`. Sentences that
name numbers are written by hand; tests compare those that count verdicts with the file.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policysieve.bench.pages import bench_page
from policysieve.bench.scaling.growth import COUNTS

FIGURES = Path(__file__).parent
PAGE = FIGURES.parent / "scaling.md"
RESULT = FIGURES.parents[1] / "benchmarks" / "scaling" / "scaling.json"


def tables(result: dict[str, Any]) -> list[str]:
    """The tables of the page in Markdown, in its order."""
    rows = result["sweeps"]
    right = [row for row in rows if row["kind"] == "right"]
    bounded = [row for row in right if row["points"][-1]["lower_bound"] is not None]
    return [
        _table(
            ["sweep", "kind", "learner", *_SLOPE],
            [[row["sweep"], row["kind"], row["learner"], *_slope(row)] for row in rows],
            3,
        ),
        _table(
            ["sweep", "learner", "measured", "interval", "expected", "verdict"],
            [
                [row["sweep"], row["learner"], *_slope(row["closer"])]
                for row in right
                if row["closer"]
            ],
            2,
        ),
        _table(
            ["worlds", "policies", "rivals within epsilon", *_COUNTS.values()],
            [
                [row["summary"], f"{point['x']:,.0f}", f"{point['close']:,.0f}"]
                + [_number(point["rounds"][count]) for count in COUNTS]
                for row in result["growth"]
                if row["axis"] == "policies"
                for point in row["points"]
            ],
            1,
        ),
        _table(
            ["worlds", "varied", "rounds until", *_SLOPE],
            [
                [row["summary"], row["axis"], name, *_slope(row["slopes"][count])]
                for row in result["growth"]
                for count, name in _COUNTS.items()
            ],
            3,
        ),
        _table(
            ["sweep", "learner", "rounds", "lower bound", "ratio"],
            [[row["sweep"], row["learner"], *_against(row["points"][-1])] for row in bounded],
            2,
        ),
        _table(
            ["rounds of phase 1", "true", "observable", "bound in advance", "rate"],
            [
                [f"{row['explore_rounds']:,}"]
                + [f"{row[key]:.3g}" for key in ("true", "observable", "bound", "rate")]
                for row in result["variance"]
            ],
            0,
        ),
    ]


_SLOPE = ("measured", "interval", "predicted", "verdict")
_COUNTS = {
    "eliminated": "half eliminated",
    "without_union": "no union",
    "certified": "certified",
    "incumbent": "no past",
}


def _table(columns: list[str], rows: list[list[str]], words: int) -> str:
    """Markdown with `words` columns of words, then numbers, and a verdict at the end if any."""
    last = len(columns) - (columns[-1] == "verdict")
    marks = ["---:" if words <= i < last else "---" for i in range(len(columns))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [columns, marks, *rows])


def _slope(row: dict[str, Any]) -> list[str]:
    if row["slope"] is None:
        return ["-", "-", "-", row["verdict"]]
    slope, low, high, predicted = (
        f"{row[key]:.2f}".replace("-0.00", "0.00") for key in ("slope", "low", "high", "predicted")
    )
    return [slope, f"{low} to {high}", predicted, row["verdict"]]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _against(point: dict[str, Any]) -> list[str]:
    rounds, bound = point["rounds"], point["lower_bound"]
    ratio = "-" if rounds is None else f"{rounds / bound:.1f}"
    return [_number(rounds), f"{bound:,.0f}", ratio]


def main() -> None:
    """Replace each table by the one with the same columns, and draw the figures."""
    result, page = json.loads(RESULT.read_text()), PAGE.read_text()
    for table in tables(result):
        header = table.split("\n", 1)[0]
        page, count = re.subn(rf"{re.escape(header)}\n(\|.*\n)*", lambda _: table + "\n", page)  # noqa: B023
        assert count == 1, header
    PAGE.write_text(page)
    with TemporaryDirectory() as folder:
        bench_page("scaling", result).save_figures(folder)
        for drawn in Path(folder).glob("*.svg"):
            (FIGURES / f"scaling-{drawn.name}").write_bytes(drawn.read_bytes())


if __name__ == "__main__":
    main()
