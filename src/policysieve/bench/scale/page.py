"""Work beyond one machine, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.bench.scale.models import MODELS, foretold
from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_KINDS = {"floor": "shown, and a floor", "all": "all"}
_MODELLED = {"seconds": "seconds", "bytes_here": "memory", "bytes_moved": "network"}
_SLOW_COLUMNS = ("shards", "candidates", "seconds_each", "seconds", "ideal", "ratio")
_TITLES = {
    "workers": "One worker and two",
    "moved": "What moves",
    "growth": "Rounds and policies",
    "models": "Models",
    "ahead": "How far it goes",
    "slow": "Slow candidates in shards",
    "dealt_anew": "Candidates that are left",
    "evidence": "Evidence in one process, and in shards",
    "targets": "What was asked for",
}
_AHEAD = tuple((n, p) for n in (1e9, 1e11) for p in (100, 1e6, 1e9))


def tables(result: Result) -> dict[str, Table]:
    """One worker against two, bytes, growth, shards, and what was asked for."""
    every = {
        **_of_logs(result),
        **_of_growth(result.get("growth", {})),
        **_of_shards(result.get("shards", {})),
        "targets": Table(
            "What was asked for", ["what", "found", "asked for", "kept"], list(_targets(result))
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


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


def _of_logs(result: Result) -> dict[str, Table]:
    return {
        "workers": Table(
            "Select over one log, on clusters of this machine",
            ["propensities known", "workers", "rounds", "seconds", "MB that move", "MB each"],
            [
                [
                    _KINDS[row["kind"]],
                    row["workers"] or "none",
                    row["rounds"],
                    row["seconds"],
                    *(row[name] / 1e6 if name in row else None for name in _MEGABYTES),
                ]
                for row in result.get("workers", [])
            ],
            "None is one process without a cluster. MB each are the most that a worker has held.",
        ),
        "moved": Table(
            "Bytes that move for each round of a log",
            ["propensities known", "candidates", "policies", "bytes", "bytes for each policy"],
            [
                [
                    _KINDS[row["kind"]],
                    row["policies"],
                    row["n_policies"],
                    row["bytes"],
                    row["bytes"] / row["n_policies"],
                ]
                for row in result.get("moved", [])
            ],
            "With the class itself, which is sent once. With a floor only rewarded rounds come "
            "back; of a table the contexts, of others all answers.",
        ),
    }


_MEGABYTES = ("bytes_moved", "worker_bytes")


def _of_growth(found: Result) -> dict[str, Table]:
    """What was measured and foretold, the models, and what they say of more."""
    if not found:
        return {}
    models = {what: model["amounts"] for what, model in found["models"].items()}
    return {
        "growth": Table(
            "Select with a floor against rounds and policies, and what the models foretell",
            ["rounds", "policies", *(f"{what}{more}" for what in _SHOWN for more in _MORE), "held"],
            [
                [
                    row["rounds"],
                    row["n_policies"],
                    *(
                        value / unit
                        for what, unit in _UNITS.items()
                        if what in models
                        for value in (row[what], foretold(models[what], what, row))
                    ),
                    row["held_out"],
                ]
                for row in found["points"]
            ],
            "Models are fitted on the points that are not held out. Memory is that of the process "
            "that asks, beyond the class.",
        ),
        "models": Table(
            "What a round, a policy, and each with each adds",
            ["model of", *_ALL_TERMS, "largest error, held-out points"],
            [
                [_MODELLED[what], *_padded(models[what]), found["models"][what]["largest_error"]]
                for what in models
            ],
            "Seconds, or bytes. Doubled rounds are the next power of two: so large are arrays of "
            "rewarded rounds, which double when they are full.",
        ),
        "ahead": Table(
            "What the models say of more, with a floor, a table of answers, and these workers",
            ["rounds", "policies", "hours", "GB that move", "GB here", "GB of the table"],
            [[int(n), int(p), *_ahead(found, models, n, p)] for n, p in _AHEAD],
            "Beyond what was measured: lines that are continued.",
        ),
    }


_UNITS = {"seconds": 1.0, "bytes_here": 1e6, "bytes_moved": 1e6}
_ALL_TERMS = list(dict.fromkeys(term for terms in MODELS.values() for term in terms))
_SHOWN, _MORE = ("seconds", "MB here", "MB that move"), ("", ", foretold")


def _padded(model: dict[str, float]) -> list[float | None]:
    return [model.get(name) for name in _ALL_TERMS]


def _ahead(found: Result, models: dict[str, Any], n: float, p: float) -> Iterator[float | None]:
    """Hours, and gigabytes that move, are held here, and are the table."""
    row = {"rounds": n, "n_policies": p}
    for what, unit in (("seconds", 3600.0), ("bytes_moved", 1e9), ("bytes_here", 1e9)):
        yield foretold(models[what], what, row) / unit if what in models else None
    yield found["contexts"] * p / 1e9


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
            "A Sieve with almost all candidates in the race, and its evidence here or in shards",
            ["policies", "class", "ms of ask a round", "ms of tell a round", "bytes a policy"],
            [
                [
                    row["policies"],
                    _CLASSES[row["kind"]],
                    1e3 * row["ask_seconds_per_round"],
                    1e3 * row["tell_seconds_per_round"],
                    row["evidence_bytes"] / row["policies"],
                ]
                for row in found.get("evidence", [])
            ],
            "Bytes are those of the process that asks. In shards answers are remembered: a byte "
            "for each of 60 rounds and each policy, by that process or by the shards.",
        ),
    }


_CLASSES = {
    "plain": "a table",
    "sharded": "in shards",
    "divided": "in shards with its evidence",
}


def _targets(result: Result) -> Iterator[list[Any]]:
    """What was measured, its target in words, and whether it was met."""
    for kind, words in _KINDS.items():
        rows = [row for row in result.get("workers", []) if row["kind"] == kind]
        seconds = {row["workers"]: row["seconds"] for row in rows}
        if 1 in seconds and 2 in seconds:
            ratio = seconds[1] / seconds[2]
            what = f"times as fast with two workers as with one, {rows[0]['rounds']:,} rounds, "
            yield [f"{what}propensities known: {words}", ratio, "at least 1.5", ratio >= 1.5]
    for count, milliseconds in result.get("overhead", {}).items():
        what = f"ms of a part without work, {count} workers"
        yield [what, milliseconds, "below 100", milliseconds < 100]
    for what, model in result.get("growth", {}).get("models", {}).items():
        error = model["largest_error"]
        name = f"largest error of the model of {_MODELLED[what]}, held-out points"
        yield [name, error, "below 0.25", error < 0.25]
    for row in result.get("shards", {}).get("slow", []):
        what = f"times the ideal, {row['candidates']:,} slow candidates in {row['shards']} shards"
        yield [what, row["ratio"], "at most 1.2", row["ratio"] <= 1.2]
    if "shards" in result:
        found = result["shards"]["table"]
        what = f"seconds for {found['evaluations']:,} answers of a table in shards"
        yield [what, found["seconds"], "below 60 for a billion", found["seconds"] < 60]
