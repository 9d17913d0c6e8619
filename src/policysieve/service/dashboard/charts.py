"""Small charts as SVG for pages with a strict policy: no style attributes, no script.

Shapes stretch with the page and letters do not: lengths across are percentages, or lie in an inner
drawing that is stretched. Colours are those of the stylesheet, by class.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isclose, log10

from markupsafe import Markup, escape

from policysieve.report.style import plain_number

__all__ = ["Axis", "Chart", "axis_of"]

_STEPS = (1, 2, 2.5, 5, 10)
_WIDE = 30.0  # ratio from which a scale is logarithmic


@dataclass(frozen=True)
class Axis:
    """A scale from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies, at an end if it is beyond."""
        if self.log:
            value = max(value, self.low)
            least = log10(self.low)
            share = (log10(value) - least) / (log10(self.high) - least)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers along the scale."""
        if not self.log:
            return _round_numbers(self.low, self.high, most)
        first, last = floor(log10(self.low)), ceil(log10(self.high))
        for steps in ((1, 2, 5), (1, 3), (1,)):
            ticks = [
                step * 10.0**power
                for power in range(first, last + 1)
                for step in steps
                if self.low * 0.999 <= step * 10.0**power <= self.high * 1.001
            ]
            if len(ticks) <= most:
                return ticks if len(ticks) > 1 else _round_numbers(self.low, self.high, most)
        every = ceil(len(ticks) / most)
        return ticks[::every]


def axis_of(values: Iterable[float], *, log: bool | None = None, zero: bool = False) -> Axis:
    """A scale that holds all values; logarithmic if they range widely, unless that is said."""
    found = sorted(values)
    low, high = (found[0], found[-1]) if found else (0.0, 1.0)
    if log is None:
        log = 0 < low <= high / _WIDE
    if log:
        return Axis(low, high if high > low else low * 10, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if isclose(low, high, abs_tol=1e-200):
        margin = abs(low) / 2 if abs(low) > 1e-100 else 0.5
        low, high = low - margin, high + margin
    return Axis(low, high)


class Chart:
    """A chart that is put together part by part, the ones behind first.

    Parameters
    ----------
    x, y : Axis
    height : int
        In pixels.
    label : str
        What there is to see, for readers who cannot.
    """

    def __init__(self, x: Axis, y: Axis, *, height: int, label: str) -> None:
        self.x, self.y, self._height, self._label = x, y, height, label
        self._behind: list[Markup] = []
        self._stretched: list[Markup] = []
        self._front: list[Markup] = []

    def grid(self, *, across: Sequence[tuple[float, str]] | None = None, most: int = 5) -> "Chart":
        """Lines and numbers; `across` are places along x with their texts."""
        for value in self.y.ticks(max(4, self._height // 50)):
            y = self._up(value)
            self._behind.append(
                Markup('<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(y)
                + Markup('<text class="tick y" x="-8" y="{}">{}</text>').format(
                    y, plain_number(value)
                )
            )
        named = across
        if named is None:
            named = [(value, plain_number(value)) for value in self.x.ticks(most)]
        for place, (value, text) in enumerate(named):
            kind = "tick x odd" if place % 2 else "tick x"
            self._behind.append(
                Markup('<text class="{}" x="{}%" y="{}">{}</text>').format(
                    kind, self._along(value), self._height + 20, text
                )
            )
        return self

    def level(self, value: float, kind: str) -> "Chart":
        """A line across."""
        y = self._up(value)
        line = Markup('<line class="{0}" x1="0" x2="100%" y1="{1}" y2="{1}"/>').format(kind, y)
        self._front.append(line)
        return self

    def stretch(self, low: float, high: float, kind: str, text: str) -> "Chart":
        """A part of the x axis, over the whole height."""
        start, end = self._along(low), self._along(high)
        self._behind.append(
            Markup(
                '<rect class="{}" x="{}%" y="0" width="{}%" height="{}"><title>{}</title></rect>'
            ).format(kind, start, round(max(end - start, 0.4), 2), self._height, text)
        )
        return self

    def line(
        self, points: Sequence[tuple[float, float]], kind: str, *, steps: bool = False
    ) -> "Chart":
        """A line through points, or steps that hold until the next one."""
        if not points:
            return self
        path = f"M{self._place(*points[0])}"
        for (_, before), (x, y) in itertools.pairwise(points):
            if steps:
                path += f"L{self._place(x, before)}"
            path += f"L{self._place(x, y)}"
        self._stretched.append(Markup('<path class="{}" d="{}"/>').format(kind, path))
        return self

    def band(self, points: Sequence[tuple[float, float, float]], kind: str) -> "Chart":
        """The area between two lines."""
        if len(points) > 1:
            there = [self._place(x, high) for x, _, high in points]
            back = [self._place(x, low) for x, low, _ in reversed(points)]
            path = f"M{'L'.join(there + back)}Z"
            self._stretched.append(Markup('<path class="{}" d="{}"/>').format(kind, path))
        return self

    def bar(self, low: float, high: float, value: float, kind: str) -> "Chart":
        """A bar from zero up to a value."""
        top = self._up(value)
        if value > 0:
            start, end = self._along(low), self._along(high)
            self._behind.append(
                Markup('<rect class="{}" x="{}%" y="{}" width="{}%" height="{}"/>').format(
                    kind, start, top, round(end - start, 2), round(self._height - top, 2)
                )
            )
        return self

    def dot(self, x: float, y: float, kind: str) -> "Chart":
        """A point."""
        self._front.append(
            Markup('<circle class="{}" cx="{}%" cy="{}" r="4.5"/>').format(
                kind, self._along(x), self._up(y)
            )
        )
        return self

    def hint(self, low: float, high: float, text: str) -> "Chart":
        """What is said of a part of the x axis, to those who point there."""
        start, end = self._along(low), self._along(high)
        self._front.append(
            Markup(
                '<rect class="hit" x="{}%" y="0" width="{}%" height="{}"><title>{}</title></rect>'
            ).format(start, round(max(end - start, 0.2), 2), self._height, text)
        )
        return self

    def svg(self) -> Markup:
        """The chart as an element."""
        return Markup(
            '<svg class="plot" role="img" aria-label="{label}" width="100%" height="{height}">'
            '{behind}<svg width="100%" height="{height}" viewBox="0 0 1000 {height}" '
            'preserveAspectRatio="none">{stretched}</svg>{front}</svg>'
        ).format(
            label=escape(self._label),
            height=self._height,
            behind=Markup("").join(self._behind),
            stretched=Markup("").join(self._stretched),
            front=Markup("").join(self._front),
        )

    def _along(self, value: float) -> float:
        return round(100 * self.x.at(value), 2)

    def _up(self, value: float) -> float:
        return round(self._height * (1 - self.y.at(value)), 1)

    def _place(self, x: float, y: float) -> str:
        return f"{round(1000 * self.x.at(x), 1)} {self._up(y)}"


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    """At most so many multiples of a round number, at least one."""
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** floor(log10(rough))
    for step in (power * s for s in (*_STEPS, 20, 50)):
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first < most:
            return [round(k * step, 12) for k in range(first, last + 1)] or [low]
    return [low, high]
