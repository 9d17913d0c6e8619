"""Templates into responses, escaped throughout."""

import hashlib
import time
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from policysieve.exploration.forecast import about
from policysieve.report.table import value_text

__all__ = ["ASSETS", "asset", "page"]

ASSETS = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""What pages load, and of which kind it is."""


@cache
def asset(name: str) -> bytes:
    """The content of what pages load; the stylesheet begins with the colours of reports."""
    own = files("policysieve.service.dashboard").joinpath("assets", name).read_bytes()
    if name != "dashboard.css":
        return own
    return files("policysieve.report").joinpath("colours.css").read_bytes() + own


def page(template: str, *, http_status: int = 200, **content: Any) -> HTMLResponse:
    """A page made from a template."""
    text = _environment().get_template(template).render(**content)
    return HTMLResponse(text, http_status)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("policysieve.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "number": value_text,
        "count": lambda n: f"{n:,}",
        "about": about,
        "moment": _moment,
        "span": _span,
        "segment": lambda text: quote(text, safe=""),
    }
    found.globals["asset_url"] = _asset_url
    return found


@cache
def _asset_url(name: str) -> str:
    """Where a file is found; another content has another address."""
    return f"/assets/{name}?{hashlib.sha256(asset(name)).hexdigest()[:12]}"


def _moment(seconds: float) -> Markup:
    """A time as it is said, with the time by the clock for those who point there."""
    when = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        when.isoformat(timespec="seconds"), f"{when:%Y-%m-%d %H:%M:%S} UTC", _ago(seconds, when)
    )


def _ago(seconds: float, when: datetime) -> str:
    age = time.time() - seconds
    if abs(age) < 60:
        return "just now"
    return f"{_span(age)} ago" if 0 < age < 60 * 86400 else f"{when:%d %b %Y}"


def _span(seconds: float) -> str:
    """A length of time as it is said: 40 s, 5 min, 7 h, 3 days."""
    for most, size, unit in ((60, 1, "s"), (3600, 60, "min"), (172800, 3600, "h")):
        if seconds < most:
            return f"{max(int(seconds // size), 0)} {unit}"
    return f"{seconds // 86400:,.0f} days"
