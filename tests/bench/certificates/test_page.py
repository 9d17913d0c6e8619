import json
from pathlib import Path

from policysieve.bench.certificates.floors import WAYS
from policysieve.bench.certificates.nulls import NULLS, summary
from policysieve.bench.certificates.page import rounds_by_method, tables
from tests.bench.results import BENCHES

ROOT = Path(__file__).parents[3]
MEASURED = json.loads((ROOT / "benchmarks" / "certificates" / "certificates.json").read_text())
DOCS = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")


def test_rounds_by_method():
    """Hollow at the limit where there was no certificate."""
    figure = rounds_by_method(BENCHES["certificates"]["power"])
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["10 actions, low-variance", "30 actions, low-variance"]
    points = [(*line.get_xydata()[0], line.get_markerfacecolor() == "none") for line in axes.lines]
    assert sorted((rounds, round(place), hollow) for rounds, place, hollow in points) == [
        (1000, 0, False),
        (3000, 1, False),
        (9000, 0, True),
        (9000, 1, True),
    ]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["betting", "empirical bernstein"]


def test_tables():
    shown = tables(BENCHES["certificates"])
    assert shown["power"].texts[0] == ("low variance", "10", "1,000", ">9,000")
    world = "Two arms, the better one ahead by a little more than epsilon"
    assert shown["false"].texts[0] == (world, "200", "4", "3", "300", "80")
    assert shown["floors"].texts[0] == ("stitched", "greedy", "200", "6", "3", "300", "80")
    assert shown["unmet"].texts[0][1:4] == ("the smallest of them as floor", "200", "299")


def test_the_documentation_says_what_was_counted():
    assert [row["world"] for row in MEASURED["false"]] == list(NULLS)
    said = " ".join(DOCS.split())
    for row in MEASURED["false"]:
        counts = f"{row['certified']:,} | {row['false']} | {row['missed']}"
        assert f"| {summary(row['world'])} | {counts} |\n" in DOCS
        assert max(row["false"], row["missed"]) <= row["limit"]
        assert f"than {row['limit']} of {row['runs']:,} would" in said
    worst = max(max(row["false"], row["missed"]) for row in MEASURED["false"])
    assert f"far below the limit, at most {worst} of 1,000" in said
    for row in MEASURED["floors"]:
        counts = f"{row['certified']} | {row['false']} | {row['missed']}"
        method = row["method"].replace("_b", " B")
        assert f"| {method} | {row['explorer']} | {counts} |\n" in DOCS
        assert max(row["false"], row["missed"]) <= row["limit"]
    for row in MEASURED["unmet"]:
        counts = f"{row['certified']} | {row['false']}"
        assert f"| {row['log']} | {WAYS[row['known']]} | {counts} |\n" in DOCS


def test_the_documentation_says_what_was_measured():
    for row in MEASURED["power"]:
        cells = [
            f"over {row['max_rounds']:,}" if rounds is None else f"{rounds:,.0f}"
            for rounds in row["rounds"].values()
        ]
        source = row["source"].replace("_", "-")
        assert f"| {row['n_actions']:,} | {source} | {' | '.join(cells)} |\n" in DOCS
