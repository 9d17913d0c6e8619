"""What pages show of a study: looked up once for all who watch."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from policysieve.service.dashboard.charts import Axis, axis_of
from policysieve.service.dashboard.drawings import interval_bar
from policysieve.service.hosting import Hosted
from policysieve.study import History, Study, StudyStatus, Traffic

__all__ = ["Candidate", "Candidates", "StudyView", "Views", "candidates_of"]

_FRESH = 1.0  # seconds for which all who look see the same
_SHARE = 0.25  # of the time at most that looking takes: of long studies less often
_TRAFFIC_FRESH = 20.0
_KEPT = 50  # studies that are kept in memory


@dataclass(frozen=True)
class StudyView:
    """Where a study stands, and how it got there, at one time."""

    status: StudyStatus
    history: History
    traffic: Traffic
    survivors: npt.NDArray[np.intp] | None


@dataclass(frozen=True)
class Candidate:
    """A row of the list of candidates."""

    number: int
    name: str
    value: float | None
    lower: float
    upper: float
    bar: Markup
    leads: bool
    is_out: bool
    out_learnt: int | None  # rounds at the first point that has it out
    out_time: float | None


@dataclass(frozen=True)
class Candidates:
    """Those that are shown, of all that were found."""

    rows: tuple[Candidate, ...]
    found: int
    total: int
    axis: Axis


class Views:
    """Looks at studies for all who watch at the same time.

    Parameters
    ----------
    hosted : Hosted
    """

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._lock = threading.Lock()
        self._slots: dict[tuple[str, str], _Slot] = {}

    def view(self, name: str) -> StudyView:
        """Where a study stands: a second ago at most, or four times as long as it takes to look."""
        found: StudyView = self._slot("view", name).get(_FRESH, lambda: self._look(name))
        return found

    def _look(self, name: str) -> StudyView:
        study = self._hosted.study(name)
        traffic = self._slot("traffic", name).get(_TRAFFIC_FRESH, study.traffic)
        return _view_of(study, traffic)

    def history(self, name: str) -> History:
        """How a study got to where it stands, for the list of studies."""
        study = self._hosted.study(name)
        found: History = self._slot("history", name).get(5 * _FRESH, study.history)
        return found

    def forget(self, name: str) -> None:
        """Look again, because somebody changed something."""
        with self._lock:
            self._slots = {key: slot for key, slot in self._slots.items() if key[1] != name}

    def _slot(self, kind: str, name: str) -> "_Slot":
        with self._lock:
            found = self._slots.pop((kind, name), None) or _Slot()
            self._slots[kind, name] = found  # the last one is the newest
            while len(self._slots) > 3 * _KEPT:
                del self._slots[next(iter(self._slots))]
            return found


class _Slot:
    """A value that one makes anew while others see the one before; for the first all wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until, self._value = float("-inf"), None

    def get(self, fresh: float, make: Callable[[], Any]) -> Any:
        if time.monotonic() < self._until:
            return self._value
        if not self._lock.acquire(blocking=self._value is None):
            return self._value
        try:
            start = time.monotonic()
            if start >= self._until:
                self._value = make()
                end = time.monotonic()
                self._until = end + max(fresh, (end - start) / _SHARE)
            return self._value
        finally:
            self._lock.release()


def _view_of(study: Study, traffic: Traffic) -> StudyView:
    return StudyView(study.status(), study.history(), traffic, study.survivors())


def candidates_of(
    view: StudyView, find: str = "", show: str = "all", *, most: int = 20
) -> Candidates:
    """The candidates whose names hold some letters, the best first, those that are out last.

    Parameters
    ----------
    view : StudyView
    find : str
        Letters, large or small.
    show : "all", "in" or "out"
    most : int
        How many are shown.
    """
    limits, n = view.status.intervals, len(view.status.intervals.values)
    out = np.zeros(n, np.bool_)
    if view.survivors is not None and len(view.history.eliminated_at) == n:
        out[:] = True
        out[view.survivors] = False
    wanted = np.arange(n)
    if show != "all":
        wanted = np.flatnonzero(out == (show == "out"))
    if find:
        letters = find.casefold()
        wanted = wanted[[letters in limits.name_of(int(p)).casefold() for p in wanted]]
    leader = view.status.chosen
    merit = np.nan_to_num(-limits.values if limits.minimize else limits.values, nan=-np.inf)
    since = view.history.eliminated_at if out.any() else np.full(n, -1)
    since = np.where(out & (since < 0), len(view.history), since)  # out since the last point
    order = np.lexsort((-merit[wanted], -since[wanted], out[wanted], wanted != leader))
    chosen = wanted[order][:most]
    kept = chosen[~out[chosen]]  # limits of those that are out grew no further
    ends = [*limits.lower[kept], *limits.upper[kept], *limits.values[chosen]]
    axis = axis_of((float(end) for end in ends if np.isfinite(end)), log=False)
    rows = tuple(_row(view, int(p), axis, bool(out[p]), int(since[p]), p == leader) for p in chosen)
    return Candidates(rows, found=len(wanted), total=n, axis=axis)


def _row(
    view: StudyView, policy: int, axis: Axis, is_out: bool, since: int, leads: bool
) -> Candidate:
    limits, points = view.status.intervals, view.history.points
    value = float(limits.values[policy])
    lower, upper = float(limits.lower[policy]), float(limits.upper[policy])
    known = None if np.isnan(value) else value
    kind = "lead" if leads else "out" if is_out else "in"
    point = points[since] if is_out and since < len(points) else None
    return Candidate(
        number=policy,
        name=limits.name_of(policy),
        value=known,
        lower=lower,
        upper=upper,
        bar=interval_bar(axis, known, None if is_out else (lower, upper), kind),
        leads=leads,
        is_out=is_out,
        out_learnt=None if point is None else point.learnt,
        out_time=None if point is None else point.time,
    )
