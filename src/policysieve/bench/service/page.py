"""The speed and the steadiness of the service, as tables and as a page."""

from collections.abc import Iterator
from typing import Any

from policysieve.report import Page, Table

__all__ = ["page", "tables"]

Result = dict[str, Any]

_UNKNOWN = "not told here"
_SERVERS = {"ours": "PolicySieve", "bare": "FastAPI and sqlite3"}


def tables(result: Result) -> dict[str, Table]:
    """One round at a time next to a bare app, the soak, and what was asked for."""
    pairs = result["pairs"]
    every = {
        "pairs": Table(
            "Rounds asked for and told one at a time, in a second",
            ["server", "one client", f"{pairs['clients']} clients", "ms of its cores each"],
            [
                [
                    _SERVERS[name],
                    f"{speeds['one']:,.0f}",
                    f"{speeds['several']:,.0f}",
                    pairs["server_milliseconds"][name],
                ]
                for name, speeds in pairs["per_second"].items()
            ],
            "Medians of blocks in which both take turns, on the same disk, one worker each; every "
            "commit is synced. Ours asks a hundred candidates, keeps the context and learns; the "
            "bare app draws at random. Clients are raw sockets in one event loop, which take "
            f"{pairs['client_milliseconds']['ours']:.2f} ms of a core for each round.",
        ),
        "soak": Table(
            "People who come at random moments",
            ["what", "half of what is asked for", "half of what it takes"],
            [
                [what, found, busier]
                for (what, found), (_, busier) in zip(
                    _soaked(result["soak"]), _soaked(result["busier"]), strict=True
                )
            ],
        ),
        "targets": Table(
            "What was asked for",
            ["what", "found", "asked for", "kept"],
            list(map(_in_digits, _targets(result))),
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def page(result: Result) -> Page:
    """A page about the speed and the steadiness of the service."""
    shown = Page(
        "A study behind HTTP",
        "What one worker on SQLite takes, next to a bare app, and how steady it is.",
        configuration=result["settings"],
    )
    titles = {"pairs": "One round at a time", "soak": "For a long time", "targets": "Targets"}
    every = tables(result)
    for name, title in titles.items():
        if name in every:
            shown.section(title).table(every[name])
    return shown


def _soaked(soak: Result) -> list[list[Any]]:
    waits = {quantile: f"{value:.1f}" for quantile, value in soak["milliseconds"].items()}
    busy, stolen = soak["load_average"], soak["stolen"]
    return [
        ["load average of the machine, median", _UNKNOWN if busy is None else f"{busy[0]:.1f}"],
        ["its time that other machines took", _UNKNOWN if stolen is None else f"{stolen:.1%}"],
        ["seconds", f"{soak['seconds']:,.0f}"],
        ["rounds a second", f"{soak['rounds'] / soak['seconds']:,.0f}"],
        ["ask, median, in ms", waits["0.5"]],
        ["ask, 90th percentile", waits["0.9"]],
        ["ask, 99th percentile", waits["0.99"]],
        ["ask, 99.9th percentile", waits["0.999"]],
        ["the bare app in between, median", f"{soak['bare_milliseconds']['0.5']:.1f}"],
        ["the bare app, 99th percentile", f"{soak['bare_milliseconds']['0.99']:.1f}"],
        ["errors", str(soak["errors"]["count"])],
        ["MB in the second quarter", _megabytes(soak["megabytes_early"])],
        ["MB in the last quarter", _megabytes(soak["megabytes_late"])],
    ]


def _megabytes(found: float | None) -> str:
    return _UNKNOWN if found is None else f"{found:.1f}"


def _in_digits(row: list[Any]) -> list[Any]:
    """The number of a row with as many digits as it needs: the others are of other sizes."""
    what, found, *rest = row
    digits = 0 if found >= 100 or found == int(found) else 2
    return [what, f"{found:,.{digits}f}", *rest]


def _targets(result: Result) -> Iterator[list[Any]]:
    """What was measured, its target in words, and whether it was met."""
    pairs, soak = result["pairs"], result["soak"]
    several = pairs["per_second"]["ours"]["several"]
    what = f"asks and tells a second, {pairs['clients']} clients"
    yield [what, several, "at least 200", several >= 200]
    yield ["times as many as the bare app", pairs["ratios"]["several"], "", ""]
    yield ["times as many with one client", pairs["ratios"]["one"], "", ""]
    speed = result["batches"]["per_second"]
    what = f"rounds a second in batches of {result['batches']['size']}"
    yield [what, speed, "at least 2,000", speed >= 2_000]
    slow = soak["milliseconds"]["0.99"]
    what = f"ms of ask, 99th percentile, at {soak['rate']:g} rounds a second"
    yield [what, slow, "below 50", slow < 50]
    yield ["the same of the bare app in between", soak["bare_milliseconds"]["0.99"], "", ""]
    busier = result["busier"]
    what = f"the same at half of what it takes, {busier['rate']:.0f}"
    yield [what, busier["milliseconds"]["0.99"], "", ""]
    errors = sum(
        part["count"]
        for part in (
            pairs["errors"]["ours"],
            result["batches"]["errors"],
            soak["errors"],
            busier["errors"],
            result["restart"]["errors"],
        )
    )
    yield ["errors", errors, "0", errors == 0]
    if soak["megabytes_early"] is not None:
        grown = soak["megabytes_late"] / soak["megabytes_early"]
        yield ["times the memory at the end", grown, "below 1.05", grown < 1.05]
    yield ["seconds to start again", result["restart"]["ready_seconds"], "", ""]
    if result["restart"]["first_seconds"] is not None:
        yield ["seconds of the first ask then", result["restart"]["first_seconds"], "", ""]
    if "paint" in result:
        paint = result["paint"]["seconds"]
        yield ["seconds to the dashboard's first paint", paint, "below 1", paint < 1]
        yield ["seconds of the first one after a start", result["paint"]["every"][0], "", ""]
