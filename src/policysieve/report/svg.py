"""Figures as SVG that can stand inside an HTML page, wide or laid out anew for a phone."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import ceil
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.legend import Legend

from policysieve.report.style import PAGE_COLOURS, legend_options, look

__all__ = ["inline_svg", "narrowed"]

_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_COLOUR = re.compile("|".join(PAGE_COLOURS))
_MOST_COLUMNS = 3  # of names in a narrow legend
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inline_svg(figure: Figure, prefix: str, label: str, *, width: float | None = None) -> str:
    """Return a figure as an ``<svg>`` element.

    Parameters
    ----------
    figure : Figure
    prefix : str
        Goes before every id, so that clip paths of several figures on a page do not clash.
    label : str
        What the figure shows, for readers who cannot see it.
    width : float, optional
        Lay the figure out anew at this width in inches, see `narrowed`.

    The element takes its colours from the page, light or dark. It names no date, no version and
    no other resource.
    """
    buffer = io.StringIO()
    with look(), nullcontext() if width is None else narrowed(figure, width):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # Metadata is of no use here, and a style element would reach the whole page.
            if _local(child.tag) == "metadata" or child.find("{*}style") is not None:
                parent.remove(child)
    used = {name for element in root.iter() for name in _references(element)}
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = _attributes(element, prefix, used)
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


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


def _attributes(element: ElementTree.Element, prefix: str, used: set[str]) -> dict[str, str]:
    """Attributes without namespaces; ids that nothing refers to are dropped."""
    kept = {}
    for name, value in element.attrib.items():
        name = _local(name)
        if name == "id":
            if value not in used:
                continue
            value = prefix + value
        elif name == "href":
            value = f"#{prefix}{value[1:]}" if value.startswith("#") else value
        else:
            value = " ".join(value.split())
            value = _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.2f}", value)
            value = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
            value = _COLOUR.sub(lambda match: PAGE_COLOURS[match[0]], value)
        kept[name] = value
    return kept


def _references(element: ElementTree.Element) -> list[str]:
    return [
        name
        for attribute, value in element.attrib.items()
        for name in ([value[1:]] if _local(attribute) == "href" else _REFERENCE.findall(value))
    ]


def _local(name: str) -> str:
    """A name without its namespace: inside HTML, svg elements need none."""
    return name.rpartition("}")[2]
