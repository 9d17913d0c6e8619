"""How far a cluster goes, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_TITLES = {
    "slow": "Slow candidates",
    "dealt_anew": "Candidates that are left",
    "evidence": "Evidence in one process",
    "targets": "What was asked for",
}


def tables(result: Result) -> dict[str, Table]:
    """One for each step, and what was asked for."""
    every = {
        "slow": Table(
            "A batch of 100 contexts for slow candidates in shards",
            ["shards", "candidates", "seconds each", "seconds", "ideal", "times the ideal"],
            [
                [
                    row["shards"],
                    row["candidates"],
                    row["seconds_each"],
                    row["seconds"],
                    row["ideal"],
                    row["ratio"],
                ]
                for row in result.get("slow", [])
            ],
        ),
        "dealt_anew": Table(
            "Batches for slow candidates that are all in one of two shards at first",
            ["batch", "seconds", "ideal"],
            [
                [number, seconds, result["dealt_anew"]["ideal"]]
                for number, seconds in enumerate(result.get("dealt_anew", {}).get("batches", []), 1)
            ],
            "They are dealt anew once what was lost exceeds what dealing takes.",
        ),
        "evidence": Table(
            "A Sieve with all candidates in the race, its evidence in one process",
            ["policies", "class", "ms of ask a round", "ms of tell a round", "bytes a policy"],
            [
                [
                    row["policies"],
                    row["kind"],
                    1e3 * row["ask_seconds_per_round"],
                    1e3 * row["tell_seconds_per_round"],
                    row["evidence_bytes"] / row["policies"],
                ]
                for row in result.get("evidence", [])
            ],
            "A table, and the same table in shards, whose answers are remembered: a byte for each "
            "round and survivor.",
        ),
        "targets": Table(
            "What was asked for", ["what", "found", "asked for", "kept"], list(_targets(result))
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def page(result: Result) -> Page:
    """A page about a cluster."""
    shown = Page(
        "Beyond one machine",
        "Logs in parts, candidates in shards: what a cluster gains, and where it stops.",
        configuration=result["settings"],
    )
    every = tables(result)
    for name, title in _TITLES.items():
        if name in every:
            shown.section(title).table(every[name])
    return shown


def _targets(result: Result) -> Iterator[list[Any]]:
    """What was measured, its target in words, and whether it was met."""
    for row in result.get("slow", []):
        what = f"times the ideal, {row['candidates']:,} slow candidates in {row['shards']} shards"
        yield [what, row["ratio"], "at most 1.2", row["ratio"] <= 1.2]
    if "table" in result:
        found = result["table"]
        what = f"seconds for {found['evaluations']:,} answers of a table in shards"
        yield [what, found["seconds"], "below 60 for a billion", found["seconds"] < 60]
