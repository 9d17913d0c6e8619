"""The speed and the size of a study, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_STORAGES = {
    "study": "PolicySieve, SQLite",
    "optuna_sqlite": "Optuna, SQLite",
    "optuna_journal": "Optuna, journal file",
}


def tables(result: Result) -> dict[str, Table]:
    """One round at a time next to Optuna, and what was asked for."""
    every = {
        "single": Table(
            "One ask and tell, on the same disk in the same run",
            ["storage", "milliseconds", "times ours"],
            [
                [_STORAGES[name], milliseconds, result["single"]["ratios"][name]]
                for name, milliseconds in result.get("single", {}).get("milliseconds", {}).items()
            ],
            "Medians of blocks in which all storages take turns. Ours asks a hundred candidates, "
            "keeps the context and learns; Optuna's draws at random.",
        ),
        "targets": Table(
            "What was asked for",
            ["what", "found", "asked for", "kept"],
            list(map(_in_digits, _targets(result))),
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def page(result: Result) -> Page:
    """A page about the speed and the size of a study."""
    shown = Page(
        "A durable study",
        "Decisions and rewards are on disk before they are acknowledged: what that costs.",
        configuration=result["settings"],
    )
    every = tables(result)
    for name, title in (("single", "One round at a time"), ("targets", "What was asked for")):
        if name in every:
            shown.section(title).table(every[name])
    return shown


def _in_digits(row: list[Any]) -> list[Any]:
    """The number of a row with as many digits as it needs: the others are of other sizes."""
    what, found, *rest = row
    return [what, f"{found:,.0f}" if found >= 100 else f"{found:.2f}", *rest]


def _targets(result: Result) -> Iterator[list[Any]]:
    """What was measured, its target in words, and whether it was met."""
    if "single" in result:
        ratios = result["single"]["ratios"]
        slower, journal = ratios["optuna_sqlite"], ratios["optuna_journal"]
        yield ["times as fast as Optuna's SQLite", slower, "at least 10", slower >= 10]
        yield ["times as fast as Optuna's journal file", journal, "at least 1", journal >= 1]
    if "batched" in result:
        speed = result["batched"]["per_second"]
        yield ["rounds a second in batches of 100", speed, "at least 20,000", speed >= 20_000]
    if "latency" in result:
        slow = result["latency"]["p99"]
        what = f"ms of ask, 99th percentile, {result['latency']['n_policies']:,} policies"
        yield [what, slow, "below 10", slow < 10]
    if "kept" in result:
        kept = result["kept"]
        each, seconds = kept["bytes"] / kept["rounds"], kept["open_seconds"]
        yield ["bytes of a round on disk, without answers", each, "below 400", each < 400]
        what = f"seconds to open after {kept['rounds']:,} rounds"
        yield [what, seconds, "below 5", seconds < 5]
    if "deciders" in result:
        many = result["deciders"]
        what = f"rounds a second of {many['processes']} processes on PostgreSQL"
        yield [what, many["per_second"], "at least 3,000", many["per_second"] >= 3_000]
