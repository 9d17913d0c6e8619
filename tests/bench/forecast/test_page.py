"""What the page about forecasts says is what was measured."""

import json
from pathlib import Path

from policysieve.bench.forecast.measuring import summaries
from policysieve.bench.race.tasks import TASKS

ROOT = Path(__file__).parents[3]
KEPT = json.loads((ROOT / "benchmarks" / "forecast" / "forecast.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "how-long.md").read_text(encoding="utf-8")


def test_the_summary_is_that_of_the_rows():
    assert summaries(KEPT["rows"]) == KEPT["summary"]


def test_the_table_of_the_page():
    judged = [row for row in KEPT["summary"] if row["set"] == "judged"]
    assert len(judged) == 8
    for row in judged:
        n = row["forecasts"]
        shares = " | ".join(f"{row[key] / n:.0%}" for key in ("earlier", "held", "later"))
        factors = f"{row['error']:.2f} | {row['width']:.1f}"
        assert f"| `{row['learner']}` | {row['share']:.0%} | {n} | {factors} | {shares} |" in PAGE


def test_which_tasks_judged():
    tasks = {row["task"] for row in KEPT["rows"] if row["set"] == "judged"}
    assert tasks == set(TASKS)
    said = " ".join(PAGE.split())
    assert f"the {len(tasks)} tasks of [the race](race.md), five runs each" in said
    assert sum(TASKS[task].fixed for task in tasks) == 6
