"""The race of those that may deploy a vote, as the page about votes shows it."""

import json
from pathlib import Path

import numpy as np
import pytest

from policysieve.bench.racers import VOTERS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "votes.md").read_text(encoding="utf-8")
VOTES = json.loads((ROOT / "benchmarks" / "votes" / "samples.json").read_text())
RACE = json.loads((ROOT / "benchmarks" / "samples" / "samples.json").read_text())

DEPLOYED = ("VoteOfSieve", "SieveWithVote", "SieveWithFittedVotes", "VowpalWabbit")
TASKS = list(dict.fromkeys(row["task"] for row in VOTES["picking"]))
BUDGETS = max((row["budgets"] for row in VOTES["picking"]), key=len)


def found(result, kind):
    return {(row["task"], row["learner"]): row for row in result[kind]}


def rounds(row, key):
    if row is None:
        return "-"
    if row[key] is None:
        return f"over {row['budgets'][-1]:,}" if "budgets" in row else "over 500,000"
    return f"{row[key]:,.0f}"


def right_and_proved(task):
    """Rounds until right and until proved, the Sieve's without votes from the race."""
    picked, proved = found(VOTES, "picking"), found(VOTES, "proving")
    cells = [rounds(found(RACE, "picking")[task, "Sieve"], "needed")]
    cells += [rounds(picked.get((task, name)), "needed") for name in DEPLOYED]
    cells.append(rounds(found(RACE, "proving")[task, "Sieve"], "median"))
    cells += [rounds(proved.get((task, name)), "median") for name in DEPLOYED[1:3]]
    return f"| {task} | {' | '.join(cells)} |"


def gap(row):
    """Mean suboptimality over the budgets that those with votes played."""
    if row is None:
        return None
    assert row["budgets"][: len(BUDGETS)] == BUDGETS
    return float(np.mean(row["mean"][: len(BUDGETS)]))


def gaps(task):
    picked = found(VOTES, "picking")
    values = [gap(found(RACE, "picking")[task, "Sieve"])]
    values += [gap(picked.get((task, name))) for name in DEPLOYED]
    return f"| {task} | {' | '.join('-' if v is None else f'{v:.4f}' for v in values)} |"


def test_everyone_that_may_deploy_a_vote_was_measured():
    assert set(DEPLOYED) == set(VOTERS)
    slates = ("yeast", "tags_100", "rankers_50")
    expected = {
        (task, name)
        for task in TASKS
        for name in DEPLOYED
        if name != "VowpalWabbit" or task not in slates
    }
    assert set(found(VOTES, "picking")) == expected
    assert set(found(VOTES, "proving")) == {(t, n) for t in TASKS for n in DEPLOYED[1:3]}
    assert all(row["code"] for row in VOTES["picking"] + VOTES["proving"])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("line", [right_and_proved, gaps])
def test_tables(task, line):
    assert f"{line(task)}\n" in PAGE


def test_how_it_was_measured_is_said():
    settings = VOTES["settings"]
    assert f"{settings['seeds']} seeds" in PAGE
    assert f"{settings['proof_seeds']} seeds" in PAGE
    assert f"--most {settings['most']}" in PAGE
    assert f"{BUDGETS[-1]:,} rounds" in PAGE
    false = sum(row["false"] for row in VOTES["proving"])
    count = sum(len(row["rounds"]) for row in VOTES["proving"])
    assert false == 0
    assert f"None of the {count} certificates was false" in PAGE


def test_what_the_kinds_of_tasks_show():
    said = " ".join(PAGE.split())
    picked, proved = found(VOTES, "picking"), found(VOTES, "proving")
    alone, vote, among, rival = (
        f"{row['needed']:,.0f}"
        for row in (
            found(RACE, "picking")["one_good_10", "Sieve"],
            *(picked["one_good_10", name] for name in (DEPLOYED[0], DEPLOYED[1], DEPLOYED[3])),
        )
    )
    assert f"after {among} rounds, alone after {alone}" in said
    assert f"its own vote needs {vote}, and Vowpal Wabbit {rival}." in said
    fewest, most = (proved["close_10", name]["median"] for name in DEPLOYED[1:3])
    before = found(RACE, "proving")["close_10", "Sieve"]["median"]
    assert f"proved in {fewest:,.0f} to {most:,.0f} rounds, not {before:,.0f}." in said


def sooner(numbers, others):
    """On how many tasks a number is smaller, the same and larger; none counts as too late."""
    late = float("inf")
    pairs = [
        (late if a is None else a, late if b is None else b)
        for a, b in zip(numbers, others, strict=True)
    ]
    pairs = [pair for pair in pairs if pair != (late, late)]
    return [sum(sign == np.sign(a - b) for a, b in pairs) for sign in (-1, 0, 1)]


def needed(result, task, name):
    """Rounds until right, if these are among those that all were played for."""
    found_there = found(result, "picking")[task, name]["needed"]
    return None if found_there is None or found_there > BUDGETS[-1] else found_there


def test_what_all_tasks_show():
    said = " ".join(PAGE.split())
    votes = [needed(VOTES, task, "VoteOfSieve") for task in TASKS]
    earlier, _, later = sooner(votes, [needed(RACE, task, "Sieve") for task in TASKS])
    assert f"Over all {len(TASKS)} tasks" in said
    assert f"right earlier than the Sieve itself on {earlier}, and later on {later}." in said
    both = [task for task in TASKS if (task, "VowpalWabbit") in found(VOTES, "picking")]
    earlier, same, later = sooner(
        [needed(VOTES, task, "VoteOfSieve") for task in both],
        [needed(VOTES, task, "VowpalWabbit") for task in both],
    )
    assert f"plays {len(both)} of them" in said
    assert f"earlier on {earlier}, at the same time on {same}, and later on {later}." in said
    alone = {task: found(RACE, "proving")[task, "Sieve"]["median"] for task in TASKS}
    ratios = {}
    for name in DEPLOYED[1:3]:
        medians = [found(VOTES, "proving")[task, name]["median"] for task in TASKS]
        quicker, _, slower = sooner(medians, list(alone.values()))
        assert f"quicker on {quicker}" in said
        assert f"slower on {slower}" in said
        ratios[name] = np.array(medians) / np.array(list(alone.values()))
    plain = ratios["SieveWithVote"]
    others = [ratio for task, ratio in zip(TASKS, plain, strict=True) if "close" not in task]
    means = [np.exp(np.mean(np.log(some))) for some in (plain, others)]
    assert f"takes {means[0]:.2f} of the Sieve's rounds, and {means[1]:.2f} without" in said
    worst = int(np.argmax(plain))
    assert f"by {plain[worst] - 1:.0%} at most, on `{TASKS[worst]}`" in said
