"""From results to pages and figures: one look for all of them, each page one HTML file.

The door to this room is `page_of`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from policysieve.errors import InvalidArgumentError
from policysieve.report.experiment_report import (
    bound_by_learner,
    experiment_page,
    suboptimality_by_learner,
)
from policysieve.report.health_report import health_page, mean_weights
from policysieve.report.page import Page
from policysieve.report.run_report import (
    estimate_over_rounds,
    run_page,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.selection_report import selection_page
from policysieve.report.table import Table
from policysieve.report.theory_plots import rounds_against_epsilon

if TYPE_CHECKING:
    from policysieve.reported import Reported

__all__ = [
    "Page",
    "Table",
    "bound_by_learner",
    "estimate_over_rounds",
    "mean_weights",
    "page_of",
    "rounds_against_epsilon",
    "suboptimality_by_learner",
    "suboptimality_over_rounds",
    "value_intervals",
]

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
