"""When the site is built: name its version, and link formulas that docstrings mention."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

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


def version() -> tuple[str, str]:
    """The version of the code beside these pages, and its commit, or nothing without git."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=, changed since"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = ""
    return project["version"], found


def on_config(config: Any) -> Any:
    """Called by mkdocs first: the title of every page names the version, its foot the commit."""
    number, commit = version()
    config.site_name += f" {number}"
    config.copyright = f"Made from PolicySieve {number}" + f" (commit {commit})" * bool(commit)
    return config


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Called by mkdocs with each page."""
    if not page.file.src_uri.startswith("api/"):
        return html
    return link_formulas(html, files.get_file_from_path("maths.md").url_relative_to(page.file))
