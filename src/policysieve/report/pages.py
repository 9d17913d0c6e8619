"""The door to this room: from a result to its page."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from policysieve.errors import InvalidArgumentError
from policysieve.report.experiment_report import experiment_page
from policysieve.report.health_report import health_page
from policysieve.report.page import Page
from policysieve.report.run_report import run_page
from policysieve.report.selection_report import selection_page

if TYPE_CHECKING:
    from policysieve.reported import Reported

__all__ = ["page_of"]

# By the names of their classes, so that this room imports none of those that make results.
_PAGES: dict[str, Callable[[Any, str | None, str | None], Page]] = {
    "ExperimentResult": experiment_page,
    "LogHealth": health_page,
    "RunResult": run_page,
    "Selection": selection_page,
}


def page_of(result: "Reported", *, title: str | None = None, command: str | None = None) -> Page:
    """The page about a result.

    Parameters
    ----------
    result : RunResult, Selection, LogHealth or ExperimentResult
    title : str, optional
        By default what came out, in a few words.
    command : str, optional
        The command that made the result, shown at the end.
    """
    for kind in type(result).__mro__:
        if kind.__name__ in _PAGES:
            return _PAGES[kind.__name__](result, title, command)
    raise InvalidArgumentError(
        f"result must be one of {', '.join(_PAGES)}, got {type(result).__name__}"
    )
