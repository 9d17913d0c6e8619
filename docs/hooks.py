"""Make links of what docstrings say about formulas, when the site is built."""

import re
from typing import Any

_MENTION = re.compile(r'docs/maths\.md,((?:\s+(?:and\s+)?(?:"|&quot;)[^"&]+(?:"|&quot;),?)+)')
_SECTION = re.compile(r'(?:"|&quot;)([^"&]+)(?:"|&quot;)')


def link_formulas(html: str, address: str) -> str:
    """Link every section of the formulas that is named in `html`; `address` is theirs."""

    def linked(mention: re.Match[str]) -> str:
        return "Formulas," + _SECTION.sub(lambda name: _link(name[1], address), mention[1])

    return _MENTION.sub(linked, html)


def _link(section: str, address: str) -> str:
    title = " ".join(section.split())
    anchor = re.sub(r"[^\w\s-]", "", title).lower().replace(" ", "-")
    return f'<a href="{address}#{anchor}">{title}</a>'


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Called by mkdocs with each page."""
    if not page.file.src_uri.startswith("api/"):
        return html
    return link_formulas(html, files.get_file_from_path("maths.md").url_relative_to(page.file))
