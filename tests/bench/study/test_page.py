"""The page about studies has the numbers of the last run."""

import json
from pathlib import Path

from policysieve.bench.study.page import tables

ROOT = Path(__file__).parents[3]


def test_the_docs_have_the_numbers_of_the_last_run():
    result = json.loads((ROOT / "benchmarks" / "study" / "study.json").read_text())
    lines = (ROOT / "docs" / "study.md").read_text().splitlines()
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = tables(result)["targets"].rows
    assert len(rows) == 7
    for _, found, asked, kept in rows:
        said = [row[1:] for row in told if len(row) == 4 and row[2] == asked]
        assert [found, asked, "yes" if kept else "no"] in said
