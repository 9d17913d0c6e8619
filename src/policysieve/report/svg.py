"""Figures as SVG that can stand inside an HTML page."""

import io
import re
from contextlib import nullcontext
from xml.etree import ElementTree

from matplotlib.figure import Figure

from policysieve.report.narrow import narrowed
from policysieve.report.style import PAGE_COLOURS, look

__all__ = ["inline_svg"]

_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_COLOUR = re.compile("|".join(PAGE_COLOURS))
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
