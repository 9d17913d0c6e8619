"""The studies at a glance."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from policysieve.errors import PolicySieveError
from policysieve.service.dashboard.drawings import spark
from policysieve.service.dashboard.views import Views
from policysieve.service.doors import Caller
from policysieve.service.hosting import Hosted
from policysieve.study import HistoryPoint, StudySummary

__all__ = ["Line", "listed"]

_SHOWN = 50


@dataclass(frozen=True)
class Line:
    """A study in the list.

    Attributes
    ----------
    summary : StudySummary
    state : str
        "proved", "exploring", "waiting", "archived" or "trouble".
    last : HistoryPoint or None
        What was known last.
    epsilon : float or None
    spark : Markup or None
    trouble : str or None
        Why the service does not answer for it.
    """

    summary: StudySummary
    state: str
    last: HistoryPoint | None = None
    epsilon: float | None = None
    spark: Markup | None = None
    trouble: str | None = None


def listed(hosted: Hosted, views: Views, caller: Caller, find: str) -> dict[str, Any]:
    """The studies that somebody may see, and whose names hold some letters."""
    seen = [one for one in hosted.summaries() if caller.sees(one.name)]
    wanted = [one for one in seen if find.casefold() in one.name.casefold()]
    active = sorted(wanted, key=lambda one: one.archived)
    return {
        "lines": [_line(hosted, views, one) for one in active[:_SHOWN]],
        "found": len(wanted),
        "total": len(seen),
        "where": hosted.storage.url.get_backend_name(),
    }


def _line(hosted: Hosted, views: Views, summary: StudySummary) -> Line:
    if "/" in summary.name or summary.name in (".", ".."):
        return Line(summary, "trouble", trouble="no address leads to a name like this")
    try:
        history, problem = views.history(summary.name), hosted.study(summary.name).problem
    except PolicySieveError as error:
        return Line(summary, "trouble", trouble=str(error))
    last = history.points[-1] if history.points else None
    if summary.archived:
        state = "archived"
    elif last is not None and last.certified:
        state = "proved"
    else:
        state = "exploring" if summary.rounds else "waiting"
    drawn = spark(history.points, problem.epsilon)
    return Line(summary, state, last, problem.epsilon, drawn)
