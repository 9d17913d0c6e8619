"""One look for all figures: colours that read on light and dark paper, thin axes, a faint grid."""

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil
from typing import Any, NamedTuple

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

__all__ = [
    "BLUE",
    "INK",
    "PAGE_COLOURS",
    "PAPER",
    "VERMILION",
    "WIDTH",
    "LineLook",
    "colours",
    "dress",
    "legend",
    "legend_options",
    "line_looks",
    "log_axes",
    "look",
    "name_rows",
    "new_figure",
    "new_panels",
    "plain_number",
    "rounds_axis",
    "say",
    "shared_legend",
    "short_names",
]

# Text and axes, and the background.
INK = "#1d2329"
PAPER = "#fdfdfb"

# Each stands out from the paper, and from the others for readers who do not see red, green or blue.
_PALETTE = {
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "green": "#006850",
    "purple": "#b82880",
    "azure": "#1898d0",
    "ochre": "#584800",
    "rose": "#b87888",
    "violet": "#5020b0",
}
BLUE, VERMILION, *_ = _COLOURS = tuple(_PALETTE.values())
_MARKERS = "os^vPXD*"
_DASHES = ("-", "--", "-.", ":")

# What becomes of them on a page, whose stylesheet has a light and a dark value for each.
PAGE_COLOURS = {
    INK: "currentColor",
    PAPER: "var(--paper)",
    **{colour: f"var(--{name})" for name, colour in _PALETTE.items()},
}

_FONT = "DejaVu Sans"  # comes with matplotlib; a page puts its own in its place
_SMALL = 9  # points
_NOTEBOOK_DPI = 100
_LONGEST = 36  # letters of a name beside an axis
_HEAD, _BEFORE = 12, 8  # letters of its beginning, and of what names share before they part
_REST = _LONGEST - _HEAD - 2
WIDTH = 8.4  # inches; a page shows this as at most 860 px

_LOOK: dict[str, Any] = {
    "font.family": _FONT,
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "legend.fontsize": _SMALL,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",  # text stays text: searchable, and in the fonts of the page
    "svg.hashsalt": "policysieve",  # the same figure gives the same bytes
}


class PageFigure(Figure):
    """A figure that a notebook shows although pyplot, which we do not use, knows nothing of it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with look():
            self.savefig(buffer, format="png", dpi=_NOTEBOOK_DPI)
        return buffer.getvalue()


def look() -> AbstractContextManager[None]:
    """Draw inside this: matplotlib's defaults, whatever the user has set, with our look on top."""
    return matplotlib.style.context(_LOOK, after_reset=True)


def new_figure(height: float) -> tuple[Figure, Axes]:
    """An empty figure of the page's width and `height` inches, and its axes. Call it in `look`."""
    figure = PageFigure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    return figure, axes


def new_panels(count: int, *, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`, each `height` inches. Call it in `look`.

    A legend of all panels has room above them.
    """
    rows = ceil(count / columns)
    figure = PageFigure(figsize=(WIDTH, 0.7 + height * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.set_visible(False)
    for axes in panels[:count]:
        dress(axes, size=8)
    return figure, panels[:count]


def dress(axes: Axes, *, size: float = _SMALL) -> None:
    """Give axes their ticks, with numbers of `size` points, and their grid."""
    # Said here as well as in the look: ticks are made late, perhaps after the look has ended.
    axes.tick_params(
        which="both",
        color=INK,
        labelcolor=INK,
        labelsize=size,
        labelfontfamily=_FONT,
        direction="out",
        width=0.6,
        length=3,
        pad=4,
    )
    axes.tick_params(which="minor", length=0)
    axes.grid(color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)


class LineLook(NamedTuple):
    """How one of several things is drawn, as a line, as dots or as both."""

    colour: str
    marker: str
    dashes: str


def line_looks(count: int) -> list[LineLook]:
    """That many looks for as many things to compare, of which no two of 32 are alike.

    Colours repeat after eight; then the dashes and the markers are others.
    """
    return [
        LineLook(
            _COLOURS[number % len(_COLOURS)],
            _MARKERS[(number + number // len(_COLOURS)) % len(_MARKERS)],
            _DASHES[(number + number // len(_COLOURS)) % len(_DASHES)],
        )
        for number in range(count)
    ]


def colours(count: int) -> list[str]:
    """That many colours for as many things to compare, repeated after eight."""
    return [look.colour for look in line_looks(count)]


def name_rows(
    axes: Axes, names: Sequence[str], *, at: Sequence[float] | None = None, lines: bool = True
) -> None:
    """Name what lies at the heights `at`, from top to bottom; 0, 1, 2, ... by default.

    Without `lines` there is no grid along the rows and no axis beside them.
    """
    heights = range(len(names)) if at is None else at
    axes.set_yticks(heights, names)
    axes.set_ylim(heights[-1] + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    if not lines:
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)


def short_names(names: Sequence[str]) -> list[str]:
    """Names that fit beside an axis: of a long one the beginning and the end.

    Where that does not tell names apart, the beginning and what comes where they part.
    """
    short = [_shortened(name) for name in names]
    for text in {text for text in short if short.count(text) > 1}:
        alike = [number for number, other in enumerate(short) if other == text]
        group = [names[number] for number in alike]
        pairs = zip(min(group), max(group), strict=False)  # what all share, these two share
        end = len(min(group))
        parted = next((place for place, (one, two) in enumerate(pairs) if one != two), end)
        for number in alike:
            rest = names[number][max(_HEAD, parted - _BEFORE) :]
            more = "\N{HORIZONTAL ELLIPSIS}" if len(rest) > _REST else ""
            short[number] = f"{names[number][:_HEAD]}\N{HORIZONTAL ELLIPSIS}{rest[:_REST]}{more}"
    return short


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    head = 2 * _LONGEST // 3
    tail = name[head + 1 - _LONGEST :]
    return f"{name[:head].rstrip()}\N{HORIZONTAL ELLIPSIS}{tail.lstrip()}"


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """Name what was drawn, in rows above the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, **legend_options(min(columns, len(handles))))


def legend_options(columns: int) -> dict[str, Any]:
    """How the legend of a whole figure looks: in rows above everything else."""
    return {
        "loc": "outside upper left",
        "ncols": columns,
        "handlelength": 2.4,
        "columnspacing": 1.6,
        "borderaxespad": 0.2,
    }


def shared_legend(figure: Figure, panels: Sequence[Axes], columns: int = 4) -> None:
    """Name what was drawn in any of several panels, in rows above all of them."""
    handles = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), **legend_options(min(columns, len(handles))))


def plain_number(value: float, _position: object = None) -> str:
    """A number beside an axis: 0.01, 5, 20k, 1M."""
    return EngFormatter(sep="")(value) if abs(value) >= 1000 else f"{value:g}"


def log_axes(axes: Axes, label: str) -> None:
    """Log scales on both sides, with plain numbers along them; `label` is that of x.

    Matplotlib's own numbers on log scales are formulas, which `look` shows as they are spelled.
    """
    axes.set(xscale="log", yscale="log", xlabel=label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain_number))
        axis.set_minor_formatter(NullFormatter())


def rounds_axis(axes: Axes, first: float, last: float) -> None:
    """Rounds along x, on a log scale when they range widely."""
    axes.set_xlabel("rounds")
    if first == last:
        axes.set_xticks([first])
    elif last >= 10 * first:
        few = last < 1000 * first
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def say(figure: Figure, axes: Axes, message: str) -> None:
    """Write a message in place of axes that have nothing to show."""
    figure.set_figheight(0.9)
    axes.set_axis_off()
    axes.text(0.5, 0.5, message, transform=axes.transAxes, ha="center", va="center", alpha=0.7)
