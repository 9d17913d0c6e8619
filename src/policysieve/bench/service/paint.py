"""How soon a browser shows something of the dashboard."""

import shutil
from importlib.util import find_spec
from typing import Any

import numpy as np

from policysieve.errors import MissingExtraError

__all__ = ["NotShownError", "first_paint", "why_not"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_TRIES = 5
_PAINTED = """() => new Promise(done => {
  const found = () => performance.getEntriesByName('first-contentful-paint')[0];
  const look = () => found() ? done(found().startTime) : setTimeout(look, 10);
  look();
})"""


class NotShownError(Exception):
    """The service has no such page."""


def why_not() -> str | None:
    """Why this cannot be measured here; None if it can."""
    if find_spec("playwright") is None:
        return str(MissingExtraError("this step", "playwright"))
    if _browser() is None:
        return f"no browser is installed: {', '.join(_BROWSERS)}"
    return None


def first_paint(address: str) -> dict[str, Any]:
    """Seconds from the request for the page of a study until something of it is seen.

    Each time in a new window without anything kept; the median counts.
    """
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=_browser(), args=options)
        for _ in range(_TRIES):
            window = browser.new_context()
            page = window.new_page()
            answer = page.goto(address)
            if answer is None or not answer.ok:
                browser.close()
                raise NotShownError(f"{address} was not shown")
            seconds.append(page.evaluate(_PAINTED) / 1e3)
            window.close()
        browser.close()
    return {"seconds": float(np.median(seconds)), "every": seconds}


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, _BROWSERS)), None)
