"""The page about votes has the numbers that were measured."""

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_tables_are_those_of_the_stored_results():
    """After a new run: python docs/figures/fill_votes.py."""
    filled = runpy.run_path(str(ROOT / "docs" / "figures" / "fill_votes.py"))["filled"]
    results = (
        json.loads((ROOT / "benchmarks" / name / "samples.json").read_text(encoding="utf-8"))
        for name in ("votes", "samples")
    )
    page = (ROOT / "docs" / "votes.md").read_text(encoding="utf-8")
    assert filled(page, *results) == page


def test_no_certificate_was_false():
    stored = json.loads((ROOT / "benchmarks" / "votes" / "samples.json").read_text())
    page = (ROOT / "docs" / "votes.md").read_text(encoding="utf-8")
    certificates = sum(len(row["rounds"]) for row in stored["proving"])
    assert sum(row["false"] for row in stored["proving"]) == 0
    assert f"None of the {certificates} certificates was false." in page
