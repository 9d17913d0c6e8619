"""From results to pages and figures: one look for all of them, each page one HTML file.

The doors to this room are `page_of`, `figure_of` and `card_of`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from policysieve.checks import one_of
from policysieve.errors import InvalidArgumentError
from policysieve.report.cost_report import cost_over_rounds
from policysieve.report.experiment_report import (
    bound_by_learner,
    experiment_page,
    suboptimality_by_learner,
)
from policysieve.report.health_report import health_page, mean_weights
from policysieve.report.notebook import card_of
from policysieve.report.outcome_report import segment_differences, segments_of, segments_page
from policysieve.report.page import Page, save_figures
from policysieve.report.run_report import (
    estimate_over_rounds,
    run_page,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.selection_report import selection_page
from policysieve.report.study_report import study_page
from policysieve.report.table import Table
from policysieve.report.theory_plots import rounds_against_epsilon

if TYPE_CHECKING:
    from policysieve.reported import Reported

__all__ = [
    "Page",
    "Table",
    "bound_by_learner",
    "card_of",
    "cost_over_rounds",
    "estimate_over_rounds",
    "figure_of",
    "mean_weights",
    "page_of",
    "rounds_against_epsilon",
    "save_figures",
    "suboptimality_by_learner",
    "suboptimality_over_rounds",
    "value_intervals",
]

# By the names of their classes, so that this room imports none of those that make results.
_PAGES: dict[str, Callable[[Any, str | None, str | None], Page]] = {
    "ExperimentResult": experiment_page,
    "LogHealth": health_page,
    "RunResult": run_page,
    "Segments": segments_page,
    "Selection": selection_page,
    "StudyStatus": study_page,
}

# Of each page, by the names of their files; the first is what `plot` draws by default.
_FIGURES: dict[str, dict[str, Callable[[Any], Figure]]] = {
    "ExperimentResult": {
        "bounds": bound_by_learner,
        "suboptimality": suboptimality_by_learner,
        "leaders": lambda result: value_intervals(result.learners[0].seeds[0].result),
    },
    "LogHealth": {"weights": mean_weights},
    "RunResult": {
        "leaders": value_intervals,
        "estimate": estimate_over_rounds,
        "suboptimality": suboptimality_over_rounds,
        "cost": cost_over_rounds,
    },
    "Segments": {"segments": segment_differences},
    "Selection": {"leaders": value_intervals, "segments": segments_of},
    "StudyStatus": {"leaders": value_intervals},
}


def page_of(result: "Reported", *, title: str | None = None, command: str | None = None) -> Page:
    """The page about a result.

    Parameters
    ----------
    result : RunResult, Selection, LogHealth, ExperimentResult or StudyStatus
    title : str, optional
        By default what came out, in a few words.
    command : str, optional
        The command that made the result, shown at the end.
    """
    return _PAGES[_kind(result)](result, title, command)


def figure_of(result: "Reported", name: str | None = None) -> Figure:
    """One of the figures of the page about a result.

    Parameters
    ----------
    result : RunResult, Selection, LogHealth, ExperimentResult or StudyStatus
    name : str, optional
        By default the first one.
    """
    figures = _FIGURES[_kind(result)]
    if name is None:
        name = next(iter(figures))
    one_of("name", name, figures)
    return figures[name](result)


def _kind(result: object) -> str:
    """The name by which a result is known here."""
    for kind in type(result).__mro__:
        if kind.__name__ in _PAGES:
            return kind.__name__
    raise InvalidArgumentError(
        f"result must be one of {', '.join(_PAGES)}, got {type(result).__name__}"
    )
