"""What benchmarks measured, in tables and on pages."""

from typing import Any, Protocol

from policysieve.bench.certificates import page as certificates
from policysieve.bench.classify import page as classify
from policysieve.bench.classify.lists import page as lists
from policysieve.bench.faults import page as faults
from policysieve.bench.forecast import page as forecast
from policysieve.bench.race import page as race
from policysieve.bench.scale import page as scale
from policysieve.bench.scaling import page as scaling
from policysieve.bench.service import page as service
from policysieve.bench.speed import page as speed
from policysieve.bench.study import page as study
from policysieve.errors import InvalidArgumentError
from policysieve.report import Page, Table

__all__ = ["bench_page", "bench_tables"]

Result = dict[str, Any]


class _Shows(Protocol):
    """How the numbers of one benchmark are shown."""

    def tables(self, result: Result) -> dict[str, Table]:
        """Its tables by name, those without rows left out."""

    def page(self, result: Result) -> Page:
        """Its page."""


_KINDS: dict[str, _Shows] = {
    "speed": speed,
    "certificates": certificates,
    "samples": race,
    "scaling": scaling,
    "classify": classify,
    "lists": lists,
    "faults": faults,
    "study": study,
    "scale": scale,
    "service": service,
    "forecast": forecast,
}


def bench_tables(kind: str, result: Result) -> list[Table]:
    """The tables of a benchmark, without those that its page folds away.

    Parameters
    ----------
    kind, result
        As for `bench_page`.
    """
    tables = [table for table in _shows(kind).tables(result).values() if table.fold is None]
    return [*tables, *_left_out(result)]


def bench_page(kind: str, result: Result, *, command: str | None = None) -> Page:
    """A page about what a benchmark measured.

    Parameters
    ----------
    kind : str
        Name of the benchmark: "speed", "certificates", "samples", "scaling", "classify", "lists",
        "faults", "study", "scale", "service" or "forecast".
    result : dict
        What it returned, or what was read from its JSON file.
    command : str, optional
        The command that made the result, shown at the end.

    Returns
    -------
    Page
        Its configuration begins with the code that measured, or all of them if there were several;
        "unknown" for a file that does not say so.
    """
    page = _shows(kind).page(result)
    for table in _left_out(result):
        page.section("Left out").table(table)
    page.configuration = {"code": ", ".join(_codes(result)), **page.configuration}
    page.made_by = command or f"policysieve bench {kind}"
    return page


def _shows(kind: str) -> _Shows:
    if kind not in _KINDS:
        raise InvalidArgumentError(f"kind must be among {', '.join(_KINDS)}, got {kind!r}")
    return _KINDS[kind]


def _codes(result: Result) -> list[str]:
    """What measured the rows of all lists; a row that does not say takes the code of its file."""
    code = result.get("code", "unknown")
    rows = [row for part in result.values() if isinstance(part, list) for row in part]
    return list(dict.fromkeys(row.get("code", code) for row in rows)) or [code]


def _left_out(result: Result) -> list[Table]:
    skipped = list(result.get("skipped", {}).items())
    return [Table("What was left out here", ["what", "why"], skipped)] if skipped else []
