"""Draw the badges of the README, badge-*.svg, of what pyproject.toml says.

Run it with `python docs/figures/make_badges.py`; a folder as its argument takes the files.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LETTER, MARGIN = 6.6, 8  # pixels

BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="20" role="img" aria-label="{name}: {value}">
<path fill="#3b444c" d="M0 3a3 3 0 0 1 3-3h{split:g}v20h-{split:g}a3 3 0 0 1-3-3z"/>
<path fill="#0067a3" d="M{end:g} 0h{rest:g}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{rest:g}z"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{left:g}" y="14">{name}</text><text x="{right:g}" y="14">{value}</text></g></svg>
"""  # noqa: E501


def badge(name: str, value: str) -> str:
    """A badge: what, and what it is."""
    first, second = (round(LETTER * len(text) + 2 * MARGIN) for text in (name, value))
    return BADGE.format(
        name=name,
        value=value,
        width=first + second,
        split=first - 3,
        end=first,
        rest=second - 3,
        left=first / 2,
        right=first + second / 2,
    )


settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
project = settings["project"]
stage = next(line for line in project["classifiers"] if line.startswith("Development Status"))
badges = {
    "python": project["requires-python"].replace(">=", "") + " or newer",
    "licence": project["license"],
    "types": "strict" if settings["tool"]["mypy"]["strict"] else "checked",
    "status": stage.rpartition(" - ")[2].lower(),
}
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
for name, value in badges.items():
    (folder / f"badge-{name}.svg").write_text(badge(name, value), encoding="utf-8")
