"""How a page was made: the command, the exact configuration, and the versions."""

import platform
import re
from collections.abc import Mapping
from html import escape
from importlib import metadata
from typing import Any

from policysieve.report.formats import flat_texts

__all__ = ["provenance", "versions"]

_PACKAGES = ("policysieve", "numpy", "numba", "scipy", "matplotlib")
_EXTRAS = ("scikit-learn", "vowpalwabbit", "contextualbandits", "mabwiser", "river")


def provenance(made_by: str, configuration: Mapping[str, Any]) -> str:
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
