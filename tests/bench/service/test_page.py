"""The page about services has the numbers of the last run."""

import json
from pathlib import Path

import pytest

from policysieve.bench.service.page import tables

ROOT = Path(__file__).parents[3]
STORED = ROOT / "benchmarks" / "service" / "service.json"


def result(**changes):
    """What a run found that met every target."""
    errors = {"count": 0, "first": []}
    soak = {
        "seconds": 600.0,
        "rate": 100.0,
        "rounds": 60_000,
        "milliseconds": {"0.5": 5.0, "0.9": 9.0, "0.99": 20.0, "0.999": 40.0},
        "bare_milliseconds": {"0.5": 4.0, "0.9": 7.0, "0.99": 15.0, "0.999": 30.0},
        "errors": errors,
        "load_average": [1.5, 2.0],
        "stolen": 0.04,
        "megabytes": [200.0] * 4,
        "megabytes_early": 200.0,
        "megabytes_late": 201.0,
    }
    found = {
        "settings": {},
        "pairs": {
            "clients": 8,
            "per_second": {
                "ours": {"one": 100.0, "several": 300.0},
                "bare": {"one": 90.0, "several": 250.0},
            },
            "ratios": {"one": 1.1, "several": 1.2},
            "server_milliseconds": {"ours": 3.0, "bare": 2.0},
            "client_milliseconds": {"ours": 0.3, "bare": 0.3},
            "errors": {"ours": errors, "bare": errors},
        },
        "batches": {"size": 50, "per_second": 5_000.0, "errors": errors},
        "soak": soak,
        "busier": {**soak, "rate": 150.0, "seconds": 60.0, "rounds": 9_000},
        "restart": {"ready_seconds": 2.0, "first_seconds": 0.1, "errors": errors},
        "paint": {"seconds": 0.3, "every": [0.3]},
        "skipped": {},
    }
    return {**found, **changes}


def kept(found):
    return {what: kept for what, _, _, kept in tables(found)["targets"].rows if kept != ""}


def test_targets_are_kept_or_not():
    assert len(kept(result())) == 6
    assert all(kept(result()).values())
    soak = result()["soak"]
    worse = {
        "ms of ask, 99th percentile, at 100 rounds a second": {
            "milliseconds": {**soak["milliseconds"], "0.99": 50.0}
        },
        "errors": {"errors": {"count": 1, "first": ["lost"]}},
        "times the memory at the end": {"megabytes_late": 211.0},
    }
    for what, change in worse.items():
        found = kept(result(soak={**soak, **change}))
        assert [name for name, held in found.items() if not held] == [what]
    slow = result(paint={"seconds": 1.2, "every": [1.2]})
    assert not kept(slow)["seconds to the dashboard's first paint"]


def test_errors_under_more_load_count_too():
    busier = {**result()["busier"], "errors": {"count": 1, "first": ["lost"]}}
    assert not kept(result(busier=busier))["errors"]


def test_where_memory_is_not_told_nothing_is_said_of_it():
    soak = {**result()["soak"], "megabytes_early": None, "megabytes_late": None, "megabytes": []}
    found = result(soak=soak)
    assert "times the memory at the end" not in kept(found)
    assert ["MB in the last quarter", "not told here", "201.0"] in tables(found)["soak"].rows


@pytest.mark.skipif(not STORED.exists(), reason="no run is stored")
def test_the_docs_have_the_numbers_of_the_last_run():
    rows = tables(json.loads(STORED.read_text()))["targets"].rows
    lines = (ROOT / "docs" / "service.md").read_text().splitlines()
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for _, found, asked, held in rows:
        if asked:
            said = [row[1:] for row in told if len(row) == 4 and row[2] == asked]
            assert [found, asked, "yes" if held else "no"] in said
