"""Figures of several panels side by side, in the look of single ones."""

from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from policysieve.report.style import INK, plain_number

__all__ = ["log_axes", "new_panels"]


def new_panels(count: int, *, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`, each `height` inches. Call it in `look`.

    A legend of all panels has room above them.
    """
    rows = ceil(count / columns)
    figure = Figure(figsize=(8.4, 0.7 + height * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.set_visible(False)
    for axes in panels[:count]:
        axes.tick_params(which="both", color=INK, labelcolor=INK, labelsize=8, width=0.6, length=3)
        axes.tick_params(which="minor", length=0)
        axes.grid(color=INK, alpha=0.12, linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels[:count]


def log_axes(axes: Axes, label: str) -> None:
    """Log scales on both sides, plain numbers along them."""
    axes.set(xscale="log", yscale="log", xlabel=label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain_number))
        axis.set_minor_formatter(NullFormatter())
