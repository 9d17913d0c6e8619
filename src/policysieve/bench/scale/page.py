"""Work beyond one machine, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_KINDS = {"floor": "shown, and a floor", "all": "all"}
_SLOW_COLUMNS = ("shards", "candidates", "seconds_each", "seconds", "ideal", "ratio")
_TITLES = {
    "workers": "One worker and two",
    "moved": "What moves",
    "growth": "Rounds and policies",
    "ahead": "How far it goes",
    "slow": "Slow candidates in shards",
    "dealt_anew": "Candidates that are left",
    "evidence": "Evidence in one process",
    "targets": "What was asked for",
}
_AHEAD = ((1e9, 100), (1e11, 100), (1e9, 1e6), (1e9, 1e9))
_BETS = 128  # bytes for each policy


def tables(result: Result) -> dict[str, Table]:
    """One worker against two, bytes, growth, shards, and what was asked for."""
    growth = result.get("growth", {})
    every = {
        "workers": Table(
            "Select over one log, on clusters of this machine",
            ["propensities known", "workers", "rounds", "seconds", "rounds a second", "MB each"],
            [
                [
                    _KINDS[row["kind"]],
                    row["workers"] or "none",
                    row["rounds"],
                    row["seconds"],
                    row["rounds"] / row["seconds"],
                    row["worker_bytes"] / 1e6 if "worker_bytes" in row else None,
                ]
                for row in result.get("workers", [])
            ],
            "None is one process without a cluster. MB are the most that a worker has held.",
        ),
        "moved": Table(
            "Bytes that come back for each round, with a floor",
            ["candidates", "policies", "bytes", "bytes for each policy"],
            [
                [row["policies"], row["n_policies"], row["bytes"], row["each"]]
                for row in result.get("moved", [])
            ],
            "Only rewarded rounds come back; of a table the contexts, of others all answers.",
        ),
        "growth": Table(
            "Seconds of select against rounds and policies, and what the model foretells",
            ["rounds", "policies", "seconds", "foretold", "held out"],
            [
                [row["rounds"], row["n_policies"], row["seconds"], row["foretold"], row["held_out"]]
                for row in growth.get("points", [])
            ],
            "The model is fitted on the points that are not held out.",
        ),
        "ahead": Table(
            "What the model says of more, with a floor and a table of answers",
            ["rounds", "policies", "hours", "GB that move", "GB here", "GB for each worker"],
            list(_ahead(result)),
            "Beyond what was measured: a line that is continued. What moves is kept here, with 128 "
            "bytes of bets for each policy; a worker holds the table of the policies and a part.",
        ),
        **_of_shards(result.get("shards", {})),
        "targets": Table(
            "What was asked for", ["what", "found", "asked for", "kept"], list(_targets(result))
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def _of_shards(found: Result) -> dict[str, Table]:
    anew = found.get("dealt_anew", {"batches": [], "ideal": 0.0})
    return {
        "slow": Table(
            "A batch of 100 contexts for slow candidates in shards",
            ["shards", "candidates", "seconds each", "seconds", "ideal", "times the ideal"],
            [[row[name] for name in _SLOW_COLUMNS] for row in found.get("slow", [])],
        ),
        "dealt_anew": Table(
            "Batches for slow candidates that are all in one of two shards at first",
            ["batch", "seconds", "ideal"],
            [[n, seconds, anew["ideal"]] for n, seconds in enumerate(anew["batches"], 1)],
            "They are dealt anew once what was lost exceeds what dealing takes.",
        ),
        "evidence": Table(
            "A Sieve with almost all candidates in the race, its evidence in one process",
            ["policies", "class", "ms of ask a round", "ms of tell a round", "bytes a policy"],
            [
                [
                    row["policies"],
                    "a table" if row["kind"] == "plain" else "in shards",
                    1e3 * row["ask_seconds_per_round"],
                    1e3 * row["tell_seconds_per_round"],
                    row["evidence_bytes"] / row["policies"],
                ]
                for row in found.get("evidence", [])
            ],
            "In shards answers are remembered: a byte for each of 60 rounds and each policy.",
        ),
    }


def page(result: Result) -> Page:
    """A page about work beyond one machine."""
    shown = Page(
        "Beyond one machine",
        "Logs in parts, candidates in shards: what it gains, what it costs, and how far it goes.",
        configuration=result["settings"],
    )
    for name, table in tables(result).items():
        shown.section(_TITLES[name]).table(table)
    return shown


def _ahead(result: Result) -> Iterator[list[Any]]:
    """Hours and memory for sizes that nobody has measured."""
    if "growth" not in result or "moved" not in result:
        return
    model = result["growth"]["model"]
    each = next(row["bytes"] for row in result["moved"] if row["policies"] == "a table")
    held = max((row.get("worker_bytes", 0) for row in result.get("workers", [])), default=0)
    for rounds, policies in _AHEAD:
        seconds = model["start"] + model["round"] * rounds + model["policy"] * policies
        seconds += model["round_and_policy"] * rounds * policies
        moves = each * rounds
        here = moves + _BETS * policies
        worker = held + result["growth"]["contexts"] * policies
        gigabytes = [amount / 1e9 for amount in (moves, here, worker)]
        yield [int(rounds), int(policies), seconds / 3600, *gigabytes]


def _targets(result: Result) -> Iterator[list[Any]]:
    """What was measured, its target in words, and whether it was met."""
    for kind, words in _KINDS.items():
        seconds = {
            row["workers"]: row["seconds"]
            for row in result.get("workers", [])
            if row["kind"] == kind
        }
        if 1 in seconds and 2 in seconds:
            ratio = seconds[1] / seconds[2]
            what = f"times as fast with two workers as with one, propensities known: {words}"
            yield [what, ratio, "at least 1.5", ratio >= 1.5]
    for count, milliseconds in result.get("overhead", {}).items():
        what = f"ms of a part without work, {count} workers"
        yield [what, milliseconds, "below 100", milliseconds < 100]
    if "growth" in result:
        error = result["growth"]["largest_error"]
        yield ["largest error of the model, held-out points", error, "below 0.25", error < 0.25]
    for row in result.get("shards", {}).get("slow", []):
        what = f"times the ideal, {row['candidates']:,} slow candidates in {row['shards']} shards"
        yield [what, row["ratio"], "at most 1.2", row["ratio"] <= 1.2]
    if "shards" in result:
        found = result["shards"]["table"]
        what = f"seconds for {found['evaluations']:,} answers of a table in shards"
        yield [what, found["seconds"], "below 60 for a billion", found["seconds"] < 60]
