"""Numbers in the README and in pages about several benchmarks are those that were measured."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from policysieve.bench.race.shipping import shipped
from policysieve.measured import MEASURED, measured_tasks

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

SAMPLES = json.loads((ROOT / "benchmarks" / "samples" / "samples.json").read_text())
BEFORE = json.loads((ROOT / "benchmarks" / "samples" / "version-0.1.json").read_text())
CLASSIFY = json.loads((ROOT / "benchmarks" / "classify" / "classify.json").read_text())
SPEED = json.loads((ROOT / "benchmarks" / "speed" / "speed.json").read_text())

TASKS = {
    "digits": "handwritten digits, 10 classes",
    "letter": "letters, 26 classes",
    "r52": "news, 52 subjects",
    "close_100": "close values, 100 actions",
    "clusters_1000": "linear policies, 1,000 actions",
}


def rounds(number, most):
    return f"over {most:,}" if number is None else f"{number:,.0f}"


@pytest.mark.parametrize("task", TASKS)
def test_certified_in_the_readme(task):
    found = {row["learner"]: row["median"] for row in SAMPLES["proving"] if row["task"] == task}
    most = SAMPLES["settings"]["most_to_prove"]
    cells = [rounds(found[name], most) for name in ("Sieve", "PolicyElimination", "Uniform")]
    assert f"| {TASKS[task]} | {' | '.join(cells)} |\n" in README
    assert f"medians of {SAMPLES['settings']['proof_seeds']} seeds" in README


def test_vowpal_wabbit_in_the_comparison():
    rows = [line for line in COMPARE.splitlines() if line.count("|") == 4][2:]
    assert len(rows) == 7
    for line in rows:
        task = line.split("|")[1].strip()
        found = {row["learner"]: row for row in BEFORE["picking"] if row["task"] == task}
        cells = [
            rounds(found[name]["needed"], found[name]["budgets"][-1])
            for name in ("Sieve", "VowpalWabbit")
        ]
        assert line == f"| {task} | {' | '.join(cells)} |"


def test_classifiers():
    rows = {
        (row["task"], row["contestant"]): row["mean"][-1]
        for row in CLASSIFY["rows"]
        if len(row["mean"]) == 5
    }
    ours = ("policysieve", "supervised", "uniform_logistic")
    for task, pages in {"clusters": (README, COMPARE), "letter": (COMPARE,)}.items():
        best = max(mean for (name, who), mean in rows.items() if name == task and who not in ours)
        for page in pages:
            assert f" {rows[task, 'policysieve']:.3f} " in page
            assert f" {best:.3f}; " in page


def test_speed():
    ratio = f"{SPEED['low_variance_against_naive']['ratio']:.0f} times"
    assert f"{ratio} as many rounds" in README
    assert f"| {ratio} a per-round numpy twin |" in BENCHMARKS
    growth = SPEED["growth"]
    for said in (
        f"| {SPEED['memory_bandwidth']['share']:.0%} of the bandwidth of a memory copy |",
        f"| slope {growth['rewarded_slope']:.2f} on log axes |",
        f"| slope {growth['unrewarded_slope']:.2f} |",
        f"| {SPEED['peak_memory']['megabytes_beyond_the_table']:.0f} MB |",
        f"| {SPEED['exploration_by_optimization']['ratio']:.1f} times EXP4 written the same way |",
        f"| {SPEED['certificate']['share']:.0%} of one pass at a copy's bandwidth |",
    ):
        assert said in BENCHMARKS


def test_the_share_of_the_plan_that_a_certificate_takes():
    page = (ROOT / "docs" / "budget.md").read_text(encoding="utf-8")
    assert "about a two-hundredth of the planned rounds" in page
    assert SAMPLES["summary"]["proved_mean"]["plan"] == pytest.approx(0.005, rel=0.2)


def test_the_package_ships_what_was_measured():
    """After a new race: make measured."""
    ships = json.loads(files("policysieve").joinpath(MEASURED).read_text(encoding="utf-8"))
    rows = [row for row in SAMPLES["proving"] if row["learner"] == "Sieve"]
    assert ships["code"] == SAMPLES["code"]
    assert ships["given_up_after"] == SAMPLES["settings"]["most_to_prove"]
    assert [(one["task"], one["rounds"]) for one in ships["tasks"]] == [
        (row["task"], row["rounds"]) for row in rows
    ]
    medians = {one.task: one.median for one in measured_tasks()}
    assert medians == {row["task"]: row["median"] for row in rows}
    # The problems of these are known without downloading anything.
    some = ("one_good_10", "tags_100", "rare_context", "hidden_arm")
    again = shipped(
        {**SAMPLES, "proving": [row for row in SAMPLES["proving"] if row["task"] in some]}
    )
    assert again["tasks"] == [one for one in ships["tasks"] if one["task"] in some]
    assert len(again["tasks"]) == len(some)


def test_the_page_says_whether_the_files_name_their_code():
    files = [ROOT / "benchmarks" / name for name in re.findall(r"`(\w+/\w+\.json)`", BENCHMARKS)]
    assert len(files) == 6
    named = {file.parent.name for file in files if "code" in json.loads(file.read_text())}
    assert named == {"certificates", "faults", "samples", "scaling"}
    assert (
        "The files\nof certificates, samples and scaling do; the others were measured before"
        in BENCHMARKS
    )
