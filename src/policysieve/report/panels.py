"""Figures of several panels side by side, in the look of single ones."""

from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from policysieve.report.style import WIDTH, dress

__all__ = ["new_panels"]


def new_panels(count: int, *, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`, each `height` inches. Call it in `look`.

    A legend of all panels has room above them.
    """
    rows = ceil(count / columns)
    figure = Figure(figsize=(WIDTH, 0.7 + height * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.set_visible(False)
    for axes in panels[:count]:
        dress(axes, size=8)
    return figure, panels[:count]
