"""Numbers in the README and in pages about several benchmarks are those that were measured."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from policysieve.bench.faults.page import tables as fault_tables
from policysieve.bench.race.shipping import shipped
from policysieve.measured import MEASURED, measured_tasks

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FRONT = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
COMPARE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

SAMPLES = json.loads((ROOT / "benchmarks" / "samples" / "samples.json").read_text())
VOTES = json.loads((ROOT / "benchmarks" / "votes" / "samples.json").read_text())
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


REAL = ("digits", "pendigits", "letter", "r52", "20newsgroups", "yeast")


@pytest.mark.parametrize("page", [README, FRONT], ids=["README", "front page"])
def test_the_first_sentence(page):
    said = " ".join(page.split())
    median = {(row["task"], row["learner"]): row["median"] for row in SAMPLES["proving"]}
    sieve, uniform, arms = (median["letter", who] for who in ("Sieve", "Uniform", "PoliciesAsArms"))
    assert f"within 0.05 of the best after {sieve:,.0f} answers" in said
    assert f"Uniform exploration needs {uniform:,.0f} answers" in said
    assert f"an A/B/n test needs {arms:,.0f}." in said

    def times(other):
        found = [median[task, other] / median[task, "Sieve"] for task in REAL]
        return f"{min(found):.1f} to {max(found):.1f} times"

    assert f"takes {times('Uniform')} the Sieve's rounds" in said
    assert f"an A/B/n test {times('PoliciesAsArms')}" in said
    tasks = {task for task, _ in median}
    assert f"race.md) has all {len(tasks)} tasks" in said


def section(page, heading):
    """The rows of the table below a heading."""
    text = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_arms_in_the_comparison():
    median = {(row["task"], row["learner"]): row["median"] for row in SAMPLES["proving"]}
    cells = {
        f"{sieve:,.0f} | {arms:,.0f} | {arms / sieve:.1f} |"
        for sieve, arms in (
            (median[task, "Sieve"], median[task, "PoliciesAsArms"])
            for task in SAMPLES["summary"]["proved"]
        )
    }
    table = [line.split("|", 2)[2].strip() for line in section(COMPARE, "Measured: an A/B/n test")]
    assert len(table) == 8
    assert set(table) <= cells


def test_vowpal_wabbit_in_the_comparison():
    rows = section(COMPARE, "Measured: Vowpal Wabbit")
    assert len(rows) == 8
    found = {
        (row["task"], row["learner"]): rounds(row["needed"], row["budgets"][-1])
        for result, names in ((SAMPLES, ["Sieve"]), (VOTES, ["VoteOfSieve", "VowpalWabbit"]))
        for row in result["picking"]
        if row["learner"] in names
    }
    for line in rows:
        task = line.split("|")[1].strip()
        cells = [found[task, name] for name in ("Sieve", "VoteOfSieve", "VowpalWabbit")]
        assert line == f"| {task} | {' | '.join(cells)} |"
    assert SAMPLES["settings"]["seeds"] == 40
    assert VOTES["settings"]["seeds"] == 10


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
            said = " ".join(page.split())
            assert f" {rows[task, 'policysieve']:.3f} " in said
            assert f" {best:.3f}; " in said


def test_classifiers_that_are_level():
    rows = {(row["task"], row["contestant"]): row["mean"] for row in CLASSIFY["rows"]}
    ours = ("policysieve", "supervised", "uniform_logistic")
    ahead = []
    for task in ("digits", "r52"):
        others = [mean for (name, who), mean in rows.items() if name == task and who not in ours]
        best = max(mean[-1] for mean in others if len(mean) == 5)
        ahead.append(abs(rows[task, "policysieve"][-1] - best))
    said = f"on digits and news stories it is within {max(ahead):.3f} of ours"
    assert said in " ".join(COMPARE.split())
    rival, found = rows["r52", "mabwiser_linucb"], rows["r52", "policysieve"]
    assert [a > b for a, b in zip(rival, found, strict=True)] == [True, True, False, False, True]
    assert "one of them is ahead up to 2,000 rounds" in " ".join(README.split())


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


def sieve_rows():
    """What the page says of the Sieve, from what was measured."""
    cases = {
        (case["kind"], case["n_policies"], case["batch"], case["until_certified"]): case
        for case in SPEED["sieve"]["cases"]
    }

    def row(what, *keys):
        return f"| {what} | {' | '.join(rate(key) for key in keys)} |"

    def rate(key):
        return f"{cases[key]['rounds_per_second']:,.0f}" if key in cases else ""

    def longest(n_policies):
        found = (cases[kind, n_policies, 100, False] for kind in ("clusters", "close"))
        parts = (
            f"{1e3 * one['longest_ask_seconds']:.1f} / {1e3 * one['longest_tell_seconds']:.0f} ms"
            for one in found
        )
        return f"| longest `ask` / `tell` of these, {n_policies:,} policies | {' | '.join(parts)} |"

    rows = []
    for n in (1_000, 100_000):
        play = f"rounds per second with {n:,} policies, "
        kinds = ("clusters", n), ("close", n)
        rows.append(
            row(f"{play}20,000 rounds in batches of 100", *((*k, 100, False) for k in kinds))
        )
        rows.append(row(f"{play}until certified", *((*k, 100, True) for k in kinds)))
    one_by_one = "rounds per second with 1,000 policies, 20,000 rounds one at a time"
    rows.append(row(one_by_one, ("clusters", 1_000, 1, False), ("close", 1_000, 1, False)))
    rows += [longest(1_000), longest(100_000)]
    medians = (f"{1e3 * one['median_seconds']:.0f} ms" for one in SPEED["recommend"].values())
    rows.append(f"| `recommend` after 60,000 rounds, 1,000 policies | {' | '.join(medians)} |")
    return rows


def test_the_sieve():
    for row in sieve_rows():
        assert row in BENCHMARKS, row
    first, memory = SPEED["first_use"], SPEED["sieve_memory"]
    alone, busy = SPEED["two_cores"]["cases"]
    for said in (
        f"takes {first['empty_cache_seconds']:.1f} s on a new machine",
        f"{first['cached_seconds']:.1f} s after that",
        f"takes {memory['megabytes_beyond']:.0f} MB beyond the table",
        f"{memory['evidence_megabytes']:.0f} MB that its evidence keeps",
        f"{alone['ratio']:.1f} times as fast on two cores as on one, and {busy['ratio']:.1f} times "
        "next to a busy process",
    ):
        assert said in " ".join(BENCHMARKS.split()), said
    assert first["compiled_for_mapped"] == 0
    assert "memory-mapped table compiles nothing" in " ".join(BENCHMARKS.split())


def latency_rows():
    kinds = {"clusters": "clusters", "close": "close values"}
    for case in SPEED["latency"]["cases"]:
        numbers = [case[call][at] for call in ("ask", "tell") for at in ("p50", "p99", "max")]
        beside = "a busy process" if case["competing"] else "alone"
        cells = (kinds[case["kind"]], str(case["threads"]), beside, *(f"{x:.2f}" for x in numbers))
        yield f"| {' | '.join(cells)} |"


def test_latency():
    rows = list(latency_rows())
    assert len(rows) == 8
    for row in rows:
        assert row in BENCHMARKS, row


FAULTS = json.loads((ROOT / "benchmarks" / "faults" / "faults.json").read_text())


def test_nothing_went_wrong():
    rows = fault_tables(FAULTS)["faults"].rows
    assert len(rows) > 20
    assert [row for row in rows if row[-1]] == []
    assert FAULTS["skipped"] == {}
    kills, reads = (
        sum(one[n] for one in FAULTS[k]) for k, n in (("kills", "kills"), ("at_once", "reads"))
    )
    said = (
        f"{FAULTS['calls']['inputs_tried']:,} calls, {kills:,} kills, {reads:,} reads while two "
        f"processes wrote, {FAULTS['threads']['rounds']:,} rounds of eight threads and "
        f"{sum(one['rounds'] for one in FAULTS['soaks']):,} rounds of long runs: nothing went wrong"
    )
    assert said in " ".join(BENCHMARKS.split()), said


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
    assert len(files) == 12
    named = {file.parent.name for file in files if "code" in json.loads(file.read_text())}
    assert named == {
        *("certificates", "faults", "forecast", "lists", "samples", "scale", "scaling"),
        *("service", "speed", "study", "votes"),
    }
    assert "All but that of classify do, which was measured before" in " ".join(BENCHMARKS.split())
