"""Put what `benchmarks/votes/samples.json` holds into the tables of `docs/votes.md`.

Run it with `python docs/figures/fill_votes.py` after `policysieve bench samples --folder
benchmarks/votes`. What the Sieve does without votes is taken from the race.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "votes.md"
VOTES, RACE = (ROOT / "benchmarks" / name / "samples.json" for name in ("votes", "samples"))

_NAMES = {
    "Sieve": "Sieve",
    "VoteOfSieve": "vote of the Sieve",
    "SieveWithVote": "with the vote",
    "SieveWithFittedVotes": "with fitted votes",
    "VowpalWabbit": "Vowpal Wabbit",
}
_PROVE = ("Sieve", "SieveWithVote", "SieveWithFittedVotes")

Result = dict[str, Any]


def filled(page: str, votes: Result, race: Result) -> str:
    """The page with the tables of both results, in place of those that stand there."""
    for name, rows in _tables(votes, race).items():
        there = re.compile(rf"(<!-- measured: {name} -->\n\n)(?:(?:\|.*\n)+)?")
        if len(there.findall(page)) != 1:
            raise ValueError(f"the page must have one place for the table {name}")
        text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        page = there.sub(lambda found, text=text: found[1] + text, page)
    return page


def _tables(votes: Result, race: Result) -> dict[str, list[list[str]]]:
    tasks = list(dict.fromkeys(row["task"] for row in votes["picking"]))
    picked = {(r["task"], r["learner"]): r for r in (*race["picking"], *votes["picking"])}
    proved = {(r["task"], r["learner"]): r for r in (*race["proving"], *votes["proving"])}
    budgets = {task: picked[task, "VoteOfSieve"]["budgets"] for task in tasks}
    right = ["task", *(f"right: {name}" if name == "Sieve" else name for name in _NAMES.values())]
    right += [f"proved: {_NAMES[who]}" if who == "Sieve" else _NAMES[who] for who in _PROVE]
    rows = [right, ["---", *["---:"] * (len(right) - 1)]]
    lost = [["task", *_NAMES.values()], ["---", *["---:"] * len(_NAMES)]]
    for task in tasks:
        every = [picked.get((task, who)) for who in _NAMES]  # not all can show slates
        found = ["-" if row is None else _rounds(row) for row in every]
        rows.append([task, *found, *(_proved(proved[task, who]) for who in _PROVE)])
        means = ("-" if row is None else f"{_mean(row, budgets[task]):.4f}" for row in every)
        lost.append([task, *means])
    return {"rounds": rows, "suboptimality": lost}


def _rounds(row: Result) -> str:
    needed = row["needed"]
    return f"over {max(row['budgets']):,}" if needed is None else f"{needed:,.0f}"


def _proved(row: Result) -> str:
    return f"{row['median']:,.0f}" if row["median"] is not None else "over 500,000"


def _mean(row: Result, budgets: list[int]) -> float:
    """Over the budgets that all were measured at."""
    known = dict(zip(row["budgets"], row["mean"], strict=True))
    return float(np.mean([known[budget] for budget in budgets]))


if __name__ == "__main__":
    results = (json.loads(path.read_text(encoding="utf-8")) for path in (VOTES, RACE))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), *results), encoding="utf-8")
