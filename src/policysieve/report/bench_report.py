"""The reports of benchmarks."""

import os
from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.report.certificates_report import certificates_page
from policysieve.report.classify_report import classify_page
from policysieve.report.page import Page
from policysieve.report.samples_report import samples_page
from policysieve.report.scaling_report import scaling_page
from policysieve.report.speed_report import speed_page

__all__ = ["bench_page", "save_bench_report"]

_PAGES = {
    "speed": speed_page,
    "certificates": certificates_page,
    "samples": samples_page,
    "scaling": scaling_page,
    "classify": classify_page,
}


def bench_page(kind: str, result: dict[str, Any], *, command: str | None = None) -> Page:
    """A page about what a benchmark measured.

    Parameters
    ----------
    kind : str
        Name of the benchmark: "speed", "certificates", "samples", "scaling" or "classify".
    result : dict
        What it returned, or what was read from its JSON file.
    command : str, optional
        The command that made the result, shown at the end.
    """
    if kind not in _PAGES:
        raise InvalidArgumentError(f"kind must be among {', '.join(_PAGES)}, got {kind!r}")
    return _PAGES[kind](result, command or f"policysieve bench {kind}")


def save_bench_report(
    kind: str,
    result: dict[str, Any],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
    command: str | None = None,
) -> None:
    """Write one self-contained HTML page about what a benchmark measured.

    Parameters
    ----------
    kind, result, command
        As for `bench_page`.
    path : path
        An existing file is replaced only when the whole page is written.
    figures : path, optional
        Folder for the figures as PNG and SVG; none are written by default.
    """
    bench_page(kind, result, command=command).save(path, figures=figures)
