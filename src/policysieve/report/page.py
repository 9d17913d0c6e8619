"""One HTML page that holds all it shows: text, tables and figures, and nothing from elsewhere."""

import base64
import hashlib
import io
import os
import platform
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from matplotlib import rc_context
from matplotlib.figure import Figure

from policysieve.errors import InvalidArgumentError
from policysieve.files import write_whole
from policysieve.report.style import look
from policysieve.report.svg import inline_svg
from policysieve.report.table import CellValue, Table, flat_texts, sort_key, value_text

__all__ = ["Page", "versions"]

_NARROW = 4.4  # inches; how wide a figure is laid out for a phone
# What figures are saved as, without the time, so that the same figure gives the same bytes.
_FILES: dict[str, dict[str, Any]] = {"png": {"dpi": 200}, "svg": {"metadata": {"Date": None}}}

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{rules}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<p class="brand">PolicySieve</p>
<h1>{title}</h1>
{lead}</header>
<main>
{body}
</main>
<footer>
<h2>How this was made</h2>
{made}
<p>Made by PolicySieve. This page is one file and loads nothing.</p>
</footer>
<script>{script}</script>
</body>
</html>
"""

_PACKAGES = ("policysieve", "numpy", "numba", "scipy", "matplotlib")
_EXTRAS = ("scikit-learn", "vowpalwabbit", "contextualbandits", "mabwiser", "river")


class Page:
    """Put a report together from top to bottom, then save it.

    Every method that adds something returns the page. All texts are plain: what looks like markup
    is shown as it is. The same contents give the same bytes.

    Parameters
    ----------
    title : str
    lead : str
        What the page is about, in a sentence or two below the title.
    configuration : mapping, optional
        Shown exactly at the end, tables within it with dots in their names, and with it the
        versions of Python and of the packages that computed.
    made_by : str
        The command, or the function, that made what is shown.

    Examples
    --------
    >>> page = Page("Two policies", "Which of them is better?")
    >>> rows = [["old", 0.31], ["new", 0.42]]
    >>> _ = page.table(Table("The new one is better", ["policy", "value"], rows))
    >>> page.html().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self,
        title: str,
        lead: str = "",
        *,
        configuration: Mapping[str, Any] | None = None,
        made_by: str = "",
    ) -> None:
        self.title = title
        self.lead = lead
        self.configuration = dict(configuration or {})
        self.made_by = made_by
        self._blocks: list[str | Callable[[], str]] = []
        self._figures: dict[str, Figure] = {}
        self._ids = 0

    def section(self, heading: str) -> Self:
        """Begin a new section."""
        return self._add(f"<h2>{escape(heading)}</h2>")

    def text(self, text: str, *, statement: bool = False) -> Self:
        """Add a paragraph, set off from the others when it is the page's main statement."""
        return self._add(f"<p{_class('statement' if statement else '')}>{escape(text)}</p>")

    def facts(self, facts: Mapping[str, CellValue | tuple[CellValue, str]]) -> Self:
        """Add headline figures: a label for each value, or for each value and a note on it."""
        tiles = []
        for number, (label, fact) in enumerate(facts.items()):
            value, note = fact if isinstance(fact, tuple) else (fact, "")
            tiles.append(
                f"<div{_class('' if number else 'first')}><dt>{escape(label)}</dt>"
                f'<dd class="value">{escape(value_text(value))}</dd>'
                + (f'<dd class="note">{escape(note)}</dd>' if note else "")
                + "</div>"
            )
        return self._add('<dl class="facts">\n' + "\n".join(tiles) + "\n</dl>")

    def table(self, table: Table) -> Self:
        """Add a table that a click on a header sorts."""
        kinds = ["number" if numeric else "" for numeric in table.numeric]
        head = "".join(
            f'<th scope="col"{_class(kind)}>{escape(name)}</th>'
            for name, kind in zip(table.columns, kinds, strict=True)
        )
        body = "\n".join(
            "<tr>"
            + "".join(
                _cell(column == 0, kinds[column], texts[column], value)
                for column, value in enumerate(row)
            )
            + "</tr>"
            for row, texts in zip(table.rows, table.texts, strict=True)
        )
        name = self._new_id("table")
        caption = f"{table.title}. {table.note}".strip()
        block = (
            f'<figure>\n<figcaption id="{name}">{escape(caption)}</figcaption>\n'
            f'<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">\n'
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
            "</div>\n</figure>"
        )
        if table.fold is not None:
            block = f"<details>\n<summary>{escape(table.fold)}</summary>\n{block}\n</details>"
        return self._add(block)

    def figure(self, figure: Figure, caption: str, *, name: str) -> Self:
        """Add a figure, laid out both for a wide page and for a phone.

        It is drawn when the page is asked for.

        Parameters
        ----------
        figure : Figure
        caption : str
            What there is to see.
        name : str
            Of its files, see `save_figures`; another one for each figure of the page.
        """
        if name in self._figures:
            raise InvalidArgumentError(
                f"name must be another one for each figure of a page, got {name!r} again"
            )
        self._figures[name] = figure
        return self._add(cache(partial(_drawn, figure, caption, name)))

    def html(self) -> str:
        """The whole page."""
        script = _asset("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        rules = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'"
        )
        return _TEMPLATE.format(
            rules=rules,
            title=escape(self.title),
            lead=f'<p class="lead">{escape(self.lead)}</p>\n' if self.lead else "",
            style=_asset("colours.css") + _asset("page.css"),
            script=script,
            body="\n".join(one if isinstance(one, str) else one() for one in self._blocks),
            made=_provenance(self.made_by, self.configuration),
        )

    def save(
        self, path: str | os.PathLike[str], *, figures: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the page; an existing file is replaced only when all is written.

        Parameters
        ----------
        path : path
        figures : path, optional
            Also write the figures into this folder, see `save_figures`.
        """
        write_whole(path, self.html().encode())
        if figures is not None:
            self.save_figures(figures)

    def save_figures(self, folder: str | os.PathLike[str]) -> None:
        """Write every figure into a folder, NAME.png and NAME.svg, in the light colours.

        The folder is made if need be. Texts in SVG files are outlines, which look alike everywhere.
        """
        save_figures(self._figures, folder)

    def _add(self, block: str | Callable[[], str]) -> Self:
        self._blocks.append(block)
        return self

    def _new_id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}-{self._ids}"


def save_figures(figures: Mapping[str, Figure], folder: str | os.PathLike[str]) -> None:
    """Write figures by their names into a folder, as `Page.save_figures` does."""
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        for ending, options in _FILES.items():
            buffer = io.BytesIO()
            with look(), rc_context({"svg.fonttype": "path"}):
                figure.savefig(buffer, format=ending, **options)
            write_whole(where / f"{name}.{ending}", buffer.getvalue())


def _drawn(figure: Figure, caption: str, name: str) -> str:
    wide = inline_svg(figure, f"{name}-wide-", caption)
    narrow = inline_svg(figure, f"{name}-narrow-", caption, width=_NARROW)
    return (
        f"<figure>\n<figcaption>{escape(caption)}</figcaption>\n"
        f'<div class="wide">{wide}</div>\n<div class="narrow">{narrow}</div>\n</figure>'
    )


def _cell(is_name: bool, kind: str, text: str, value: CellValue) -> str:
    tag, scope = ("th", ' scope="row"') if is_name else ("td", "")
    key = escape(sort_key(value))
    return f'<{tag}{scope}{_class(kind)} data-sort="{key}">{escape(text)}</{tag}>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _asset(name: str) -> str:
    return files("policysieve.report").joinpath(name).read_text(encoding="utf-8")


def _provenance(made_by: str, configuration: Mapping[str, Any]) -> str:
    """What ends a page, as HTML: what made it, the settings and the versions."""
    parts = [f'<p class="command"><code>{escape(made_by)}</code></p>'] if made_by else []
    settings = dict(flat_texts(configuration))
    for heading, facts in (("Configuration", settings), ("Versions", versions())):
        if facts:
            pairs = (
                f"<div><dt>{_breakable(name)}</dt><dd>{escape(text)}</dd></div>"
                for name, text in facts.items()
            )
            parts.append(f"<h3>{heading}</h3>\n<dl>\n" + "\n".join(pairs) + "\n</dl>")
    return "\n".join(parts)


def versions() -> dict[str, str]:
    """Versions of what computes and draws, and the kind of machine without its name.

    Of optional packages, those of whoever is compared included, only what is installed.
    """
    return {
        **{name: metadata.version(name) for name in (*_PACKAGES, *filter(_is_installed, _EXTRAS))},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _breakable(name: str) -> str:
    """The name of a setting, as HTML that breaks into lines after dots and underscores."""
    return re.sub(r"([._])(?=.)", r"\1<wbr>", escape(name))
