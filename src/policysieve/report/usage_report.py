"""What asking the candidates has cost, as a part of a page."""

from typing import TYPE_CHECKING

from policysieve.report.page import Page
from policysieve.report.table import Table

if TYPE_CHECKING:
    from policysieve.policies import Usage

__all__ = ["add_usage", "usage_table"]

_COLUMNS = {
    "calls": "calls",
    "contexts": "answers",
    "seconds": "seconds",
    "retries": "repeated",
    "timeouts": "timed out",
    "fallbacks": "fallbacks",
    "hits": "from disk",
}


def add_usage(page: Page, usage: "Usage | None") -> None:
    """A section with the table, if anybody was called."""
    if usage is not None:
        page.section("What the candidates cost")
        page.table(usage_table(usage))


def usage_table(usage: "Usage") -> Table:
    """One row for each candidate, the dearest first, and what all cost together."""
    dearest = sorted(usage.candidates, key=lambda one: -one.seconds)
    return Table(
        "How often each candidate was called, and how long it took",
        ["candidate", *_COLUMNS.values()],
        [
            [one.name, *(round(getattr(one, name), 2) for name in _COLUMNS)]
            for one in (usage.total, *dearest)
        ],
        note="A call is for a whole batch or for one context, as the candidate takes them. Seconds "
        "of calls at the same time add up. A fallback is an answer that was declared for calls "
        "that fail; candidates that were eliminated are not called any more.",
    )
