"""Figures laid out anew for narrow paper: fewer panels side by side, shorter rows of names."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.legend import Legend

from policysieve.report.style import legend_options

__all__ = ["narrowed"]

_MOST_COLUMNS = 3  # of names


@contextmanager
def narrowed(figure: Figure, width: float) -> Iterator[None]:
    """Inside this a figure is `width` inches wide; afterwards it is as it was.

    Panels lose one of their columns, and the figure grows in height instead. Legends of the whole
    figure have as many columns as there is room for.
    """
    size = figure.get_size_inches().copy()
    panels = [
        (axes, place)
        for axes in figure.axes
        if axes.get_visible() and (place := axes.get_subplotspec()) is not None
    ]
    names = list(figure.legends)
    others: list[Legend] = []
    try:
        figure.set_size_inches(width, size[1])
        if panels:
            _restack(figure, panels)
        for one in names:
            one.set_visible(False)
            one.set_in_layout(False)
            others.append(_fitting(figure, one))
        yield
    finally:
        for one in others:
            one.remove()
        for one in names:
            one.set_visible(True)
            one.set_in_layout(True)
        for axes, place in panels:
            axes.set_subplotspec(place)
        figure.set_size_inches(*size)


def _restack(figure: Figure, panels: list[tuple[Axes, SubplotSpec]]) -> None:
    """One column less, and as much higher as there are more rows."""
    grid = panels[0][1].get_gridspec()
    columns = max(1, grid.ncols - 1)
    rows = ceil(len(panels) / columns)
    figure.set_figheight(figure.get_figheight() * rows / grid.nrows)
    places = GridSpec(rows, columns, figure=figure)
    for number, (axes, _) in enumerate(panels):
        axes.set_subplotspec(places[number])


def _fitting(figure: Figure, names: Legend) -> Legend:
    """The same legend in the most columns that fit, or in one."""
    texts = [text.get_text() for text in names.get_texts()]
    handles = [handle for handle in names.legend_handles if handle is not None]
    for columns in range(min(_MOST_COLUMNS, len(texts)), 0, -1):
        made = figure.legend(handles, texts, **legend_options(columns))
        if columns == 1 or made.get_window_extent().width <= figure.bbox.width:
            break
        made.remove()
    return made
