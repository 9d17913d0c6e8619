"""One look for all figures: colours that read on light and dark paper, thin axes, a faint grid."""

from contextlib import AbstractContextManager
from itertools import cycle, islice
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

__all__ = [
    "BLUE",
    "INK",
    "PAGE_COLOURS",
    "PAPER",
    "colours",
    "legend",
    "look",
    "new_figure",
    "rounds_axis",
    "say",
]

# Text and axes, and the background.
INK = "#1d2329"
PAPER = "#fdfdfb"

# Those of Okabe and Ito's colour-blind-safe set that stand out from light paper, the last one a
# little darker than theirs.
BLUE, VERMILION, GREEN, PURPLE = _COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c46a9b")

# What becomes of them on a page, whose stylesheet has a light and a dark value for each.
PAGE_COLOURS = {
    INK: "currentColor",
    PAPER: "var(--paper)",
    BLUE: "var(--blue)",
    VERMILION: "var(--vermilion)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
}

_FONT = "DejaVu Sans"  # comes with matplotlib; a page puts its own in its place
_SMALL = 9  # points
_WIDTH = 8.4  # inches; a page shows this as at most 860 px

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


def look() -> AbstractContextManager[None]:
    """Draw inside this: matplotlib's defaults, whatever the user has set, with our look on top."""
    return matplotlib.style.context(_LOOK, after_reset=True)


def new_figure(height: float) -> tuple[Figure, Axes]:
    """An empty figure of the page's width and `height` inches, and its axes. Call it in `look`."""
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    # Said here as well as in the look: ticks are made late, perhaps after the look has ended.
    axes.tick_params(
        which="both",
        color=INK,
        labelcolor=INK,
        labelsize=_SMALL,
        labelfontfamily=_FONT,
        direction="out",
        width=0.6,
        length=3,
        pad=4,
    )
    axes.tick_params(which="minor", length=0)
    axes.grid(color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def colours(count: int) -> list[str]:
    """That many colours for as many things to compare, repeated when they run out."""
    return list(islice(cycle(_COLOURS), count))


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """Name what was drawn, in rows above the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            labels,
            loc="outside upper left",
            ncols=min(columns, len(handles)),
            handlelength=1.8,
            columnspacing=1.6,
            borderaxespad=0.2,
        )


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
