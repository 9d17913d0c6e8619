"""The figures of a study: its proof on the way to epsilon, who is left, what it costs."""

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import isfinite

from markupsafe import Markup

from policysieve.report.table import value_text
from policysieve.service.dashboard.charts import Axis, Chart, axis_of
from policysieve.study import History, HistoryPoint, StudyStatus, Traffic

__all__ = [
    "cost_chart",
    "interval_bar",
    "proof_chart",
    "race_chart",
    "spark",
    "traffic_chart",
    "value_chart",
]

_MOST = 120  # points that a chart draws
_FURTHEST = 20.0  # times the rounds so far, where a forecast is beyond the right edge
_TALL, _SHORT = 330, 150  # pixels

Points = list[tuple[float, float]]


def proof_chart(status: StudyStatus, history: History) -> Markup | None:
    """The bound on the suboptimality as it falls, the line to reach, and when that is expected."""
    epsilon, points = status.problem.epsilon, _thinned(history.points)
    best = status.recommendation
    known = [(float(p.learnt), p.suboptimality_bound) for p in points]
    if status.learnt and (not known or known[-1][0] < status.learnt):
        known.append((float(status.learnt), best.suboptimality_bound))
    seen = [(x, y) for x, y in known if y is not None and isfinite(y)]
    if not seen:
        return None
    x, ahead = _rounds_axis(status, seen)
    least, most = _ends(seen, epsilon)
    y = Axis(least * 0.6, most * 1.1, log=True) if most > 8 * least else Axis(0.0, most * 1.1)
    said = "proved" if best.certified else f"now {value_text(best.suboptimality_bound)}"
    chart = Chart(
        x,
        y,
        height=_TALL,
        label=f"How much better the best policy can be at most, after each number of rounds: "
        f"{said}; the line to reach is {value_text(epsilon)}.",
    ).grid()
    if ahead is not None:
        chart.stretch(*ahead, "ahead", status.forecast.sentence())
    chart.level(epsilon, "goal")
    floor = y.low
    chart.band([(at, floor, bound) for at, bound in _stepped(seen)], "area")
    chart.line(seen, "line", steps=True)
    _hints(chart, points, lambda p: f"bound {value_text(p.suboptimality_bound)}")
    return chart.dot(*seen[-1], "dot good" if best.certified else "dot").svg()


def race_chart(status: StudyStatus, history: History) -> Markup | None:
    """How many policies were still in the race."""
    points = _thinned(history.points)
    left = [(float(p.learnt), float(p.survivors)) for p in points if p.survivors is not None]
    if not left or status.survivors is None:
        return None
    if left[-1][0] < status.learnt:
        left.append((float(status.learnt), float(status.survivors)))
    chart = Chart(
        axis_of(at for at, _ in left),
        axis_of((n for _, n in left), zero=True, log=False),
        height=_SHORT,
        label=f"Policies that can still be the best: {status.survivors:,} of {status.candidates}.",
    ).grid(most=4)
    chart.line(left, "line", steps=True)
    _hints(chart, points, lambda p: f"{p.survivors:,} left, {p.eliminated:,} went out")
    return chart.dot(*left[-1], "dot").svg()


def value_chart(history: History) -> Markup | None:
    """The estimate of the policy that led at the time, with its limits."""
    points = [
        (p, p.value, p.lower, p.upper)
        for p in _thinned(history.points)
        if p.value is not None and p.lower is not None and p.upper is not None
    ]
    return _with_limits(
        points,
        lambda p: f"{value_text(p.value)}, between {value_text(p.lower)} and {value_text(p.upper)}",
        "The estimate of the policy that led at the time, with limits: now",
    )


def cost_chart(history: History) -> Markup | None:
    """What exploring had cost, with its limits."""
    points = [
        (p, p.lost, p.lost_lower, p.lost_upper)
        for p in _thinned(history.points)
        if p.lost is not None and p.lost_lower is not None and p.lost_upper is not None
    ]
    return _with_limits(
        points,
        lambda p: (
            f"lost {value_text(p.lost)}, between {value_text(p.lost_lower)} and "
            f"{value_text(p.lost_upper)}"
        ),
        "What exploring has cost in all, with limits: now",
        zero=True,
    )


def _with_limits(
    points: Sequence[tuple[HistoryPoint, float, float, float]],
    said: Callable[[HistoryPoint], str],
    label: str,
    *,
    zero: bool = False,
) -> Markup | None:
    """A line with a band around it."""
    if len(points) < 2:
        return None
    line = [(float(p.learnt), value) for p, value, _, _ in points]
    limits = [(float(p.learnt), low, high) for p, _, low, high in points]
    chart = Chart(
        axis_of(at for at, _ in line),
        axis_of((v for _, *three in points for v in three), zero=zero, log=False),
        height=_SHORT,
        label=f"{label} {value_text(line[-1][1])}.",
    ).grid(most=4)
    chart.band(limits, "band").line(line, "line")
    _hints(chart, [p for p, *_ in points], said)
    return chart.dot(*line[-1], "dot").svg()


def traffic_chart(traffic: Traffic) -> Markup | None:
    """Rounds of each stretch of time as bars, and rewards as thinner ones in front."""
    most = max((*traffic.rounds, *traffic.rewards))
    if not most:
        return None
    n = len(traffic.starts)
    hour = "hour" if traffic.every == 3600 else "day"
    chart = Chart(
        Axis(0.0, float(n)),
        Axis(0.0, most * 1.08),
        height=_SHORT,
        label=f"Rounds and rewards of each of the last {n} {hour}s; in this one "
        f"{traffic.rounds[-1]:,} rounds and {traffic.rewards[-1]:,} rewards.",
    )
    step = 12 if n > 30 else 5
    across = [
        (at + 0.5, _moment(traffic.starts[at], hour))
        for at in range(n)
        if (int(traffic.starts[at] // traffic.every)) % step == 0
    ]
    chart.grid(across=across)
    for at, (rounds, rewards) in enumerate(zip(traffic.rounds, traffic.rewards, strict=True)):
        chart.bar(at + 0.1, at + 0.9, rounds, "bar rounds")
        chart.bar(at + 0.3, at + 0.7, rewards, "bar rewards")
        when = datetime.fromtimestamp(traffic.starts[at], UTC)
        chart.hint(at, at + 1, f"{when:%d %b %H:%M} UTC: {rounds:,} rounds, {rewards:,} rewards")
    return chart.svg()


def spark(points: Sequence[HistoryPoint], epsilon: float) -> Markup | None:
    """The proof on a line of a list."""
    seen = [
        (float(p.learnt), p.suboptimality_bound)
        for p in _thinned(points, 40)
        if p.suboptimality_bound is not None
    ]
    if len(seen) < 2:
        return None
    least, most = _ends(seen, epsilon)
    x = axis_of(at for at, _ in seen)
    chart = Chart(
        x,
        Axis(least * 0.6, most * 1.2, log=True),
        height=36,
        label=f"The bound fell from {value_text(seen[0][1])} to {value_text(seen[-1][1])}.",
    )
    return chart.level(epsilon, "goal").line(seen, "line", steps=True).svg()


def interval_bar(
    axis: Axis, value: float | None, limits: tuple[float, float] | None, kind: str
) -> Markup:
    """Estimate and limits of one policy on a scale that all rows share."""
    bar = dot = Markup("")
    if limits is not None:
        start, end = (round(100 * axis.at(limit), 2) for limit in limits)
        line = '<line class="{}" x1="{}%" x2="{}%" y1="9" y2="9"/>'
        bar = Markup(line).format(kind, start, end)
    if value is not None:
        at = round(100 * axis.at(value), 2)
        dot = Markup('<circle class="{}" cx="{}%" cy="9" r="4"/>').format(kind, at)
    whole = '<svg class="interval" width="100%" height="18" aria-hidden="true">{}{}</svg>'
    return Markup(whole).format(bar, dot)


def _rounds_axis(status: StudyStatus, seen: Points) -> tuple[Axis, tuple[float, float] | None]:
    """The rounds along x, as far as the proof is expected, and when that is."""
    forecast, last = status.forecast, seen[-1][0]
    ahead = None
    if forecast.proof_expected is not None and not status.finished:
        low, high = float(forecast.lower or 0), float(forecast.upper or 0)
        far = _FURTHEST * last
        ahead = (min(max(low, last), far), min(high, far))
    ends = [seen[0][0], last * 1.02, *(() if ahead is None else (ahead[1] * 1.02,))]
    return axis_of(ends), ahead


def _ends(seen: Points, epsilon: float) -> tuple[float, float]:
    """The smallest and the largest of bounds that are above zero, and of epsilon."""
    known = [epsilon, *(bound for _, bound in seen if bound > 0)]
    return min(known), max(known)


def _stepped(points: Points) -> Points:
    """The corners of steps through points."""
    corners = points[:1]
    for (_, before), (x, y) in itertools.pairwise(points):
        corners += [(x, before), (x, y)]
    return corners


def _hints(
    chart: Chart, points: Sequence[HistoryPoint], said: Callable[[HistoryPoint], str]
) -> None:
    """Say at each point what was known from it on."""
    if not points:
        return
    ends = [float(p.learnt) for p in points[1:]] + [chart.x.high]
    for point, end in zip(points, ends, strict=True):
        when = datetime.fromtimestamp(point.time, UTC)
        chart.hint(
            point.learnt,
            end,
            f"after {point.learnt:,} rounds ({when:%d %b %H:%M} UTC): {said(point)}; "
            f"{point.leader} leads",
        )


def _thinned(points: Sequence[HistoryPoint], most: int = _MOST) -> list[HistoryPoint]:
    """At most so many points, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(number * step)] for number in range(most)]


def _moment(start: float, unit: str) -> str:
    """The time of day; the day itself where it begins."""
    is_time = unit == "hour" and start % 86400
    return f"{datetime.fromtimestamp(start, UTC):{'%H:%M' if is_time else '%d %b'}}"
