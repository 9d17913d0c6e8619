"""The page about work beyond one machine has the numbers of the last run."""

import json
import runpy
from pathlib import Path

import pytest

from policysieve.bench.scale.page import tables

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
RESULT = json.loads((ROOT / "benchmarks" / "scale" / "scale.json").read_text(encoding="utf-8"))


def test_the_docs_have_the_tables_of_the_last_run():
    """After a new run: python docs/figures/fill_scale.py."""
    filled = runpy.run_path(str(ROOT / "docs" / "figures" / "fill_scale.py"))["filled"]
    assert filled(PAGE, RESULT) == PAGE
    assert PAGE.count("<!-- measured: ") == len(tables(RESULT))
    with pytest.raises(ValueError, match="one place for the table workers"):
        filled(PAGE.replace("<!-- measured: workers -->", ""), RESULT)


def test_results_were_those_of_one_process():
    assert all(row["same"] for row in RESULT["workers"] if row["workers"])


def test_targets_are_met_or_not():
    found = {
        "workers": [
            {"kind": "floor", "workers": n, "rounds": 9, "seconds": 3.0 / n} for n in (1, 2)
        ],
        "overhead": {"1": 200.0},
    }
    kept = [row[-1] for row in tables(found)["targets"].rows]
    assert kept == [True, False]
    found["workers"][1]["seconds"] = 2.1
    assert [row[-1] for row in tables(found)["targets"].rows] == [False, False]
