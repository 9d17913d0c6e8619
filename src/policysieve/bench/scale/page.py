"""Work beyond one machine, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_KINDS = {"floor": "shown, and a floor", "all": "all"}
_TITLES = {
    "workers": "One worker and two",
    "moved": "What moves",
    "growth": "Rounds and policies",
    "ahead": "How far it goes",
    "targets": "What was asked for",
}
_AHEAD = ((1e9, 100), (1e11, 100), (1e9, 1e6), (1e9, 1e9))
_BETS = 128  # bytes for each policy


def tables(result: Result) -> dict[str, Table]:
    """One worker against two, bytes, growth, and what was asked for."""
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
        "targets": Table(
            "What was asked for", ["what", "found", "asked for", "kept"], list(_targets(result))
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def page(result: Result) -> Page:
    """A page about work beyond one machine."""
    shown = Page(
        "Beyond one machine",
        "Logs in parts on a cluster: what it gains, what it costs, and how far it goes.",
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
