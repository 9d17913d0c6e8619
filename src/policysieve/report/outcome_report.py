"""Outcomes, guardrails and segments: their tables, and a figure of what holds for whom."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from policysieve.errors import InvalidArgumentError
from policysieve.report.page import Page
from policysieve.report.style import BLUE, INK, legend, look, name_rows, new_figure, short_names
from policysieve.report.table import CellValue, Table

if TYPE_CHECKING:
    from policysieve.evidence import Guardrail, Segments, Selection

__all__ = [
    "add_outcomes",
    "add_segments",
    "guardrail_table",
    "outcome_table",
    "segment_differences",
    "segment_table",
    "segments_of",
    "segments_page",
]


def outcome_table(selection: "Selection") -> Table:
    """What the selected policy has of each outcome, and the one that runs today."""
    rows: list[list[CellValue]] = []
    for name, limits in (selection.outcomes or {}).items():
        for policy in selection.shown_policies:
            columns = (limits.values, limits.lower, limits.upper)
            numbers = [float(column[policy]) for column in columns]
            rows.append([name, limits.name_of(policy), *numbers])
    return Table(
        "Other outcomes, per round",
        ["outcome", "policy", "estimate", "lower", "upper"],
        rows,
        "Limits hold for all outcomes and all policies at once, whenever you look.",
    )


def guardrail_table(guardrails: "tuple[Guardrail, ...]", policy: str, against: Any) -> Table:
    """What is proved of a policy and each guardrail."""
    return Table(
        f"Guardrails: {policy} less {against}",
        ["outcome", "may be worse by", "difference", "lower", "upper", "verdict"],
        [
            [one.outcome, one.amount, one.value, one.lower, one.upper, one.verdict]
            for one in guardrails
        ],
    )


def segment_table(segments: "Segments") -> Table:
    """What two policies are worth in each segment, and by how much they differ."""
    first, second = segments.names[:2]
    return Table(
        f"By {segments.by}: {first} and {second}",
        ["segment", "rounds", first, second, "difference", "lower", "upper", first + " is"],
        [
            [one.label, one.rounds, one.values[0], one.values[1], *one.difference, one.verdict]
            for one in segments
        ],
        "Limits of the difference hold for all segments at once, whenever you look.",
    )


def segment_differences(segments: "Segments") -> Figure:
    """Draw by how much two policies differ in each segment, with limits."""
    shown = list(segments)
    rows = np.arange(len(shown))
    middle, lower, upper = np.array([one.difference for one in shown]).reshape(-1, 3).T
    proved = np.array([one.verdict != "not proved" for one in shown], dtype=np.bool_)
    with look():
        figure, axes = new_figure(0.95 + 0.26 * len(shown))
        axes.axvline(0.0, color=INK, lw=0.8, alpha=0.5)
        for part, colour, label in [(proved, BLUE, "proved"), (~proved, INK, "not proved")]:
            if not part.any():
                continue
            axes.hlines(rows[part], lower[part], upper[part], colour, lw=2.0)
            axes.plot(middle[part], rows[part], "o", color=colour, ms=5, mew=0, label=label)
        name_rows(axes, short_names([one.label for one in shown]), lines=False)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel(f"{segments.what} per round: {segments.names[0]} less {segments.names[1]}")
        legend(figure, axes)
    return figure


def segments_of(selection: "Selection") -> Figure:
    """The same of a selection that was asked for a segment."""
    if selection.segments is None:
        raise InvalidArgumentError(
            "there is no figure of segments: ask for them with select(..., segment=...)"
        )
    return segment_differences(selection.segments)


def add_outcomes(page: Page, selection: "Selection") -> None:
    """What a page says of outcomes and guardrails, if there are any."""
    if selection.outcomes is None:
        return
    page.section("Other outcomes")
    page.table(outcome_table(selection))
    if selection.guardrails is not None:
        against = selection.certificate.against
        page.table(guardrail_table(selection.guardrails, selection.policy_name, against))


def add_segments(page: Page, segments: "Segments | None") -> None:
    """What a page says of segments, if there are any."""
    if segments is None:
        return
    page.section("For whom is it better?")
    page.text(segments.guarantee)
    page.figure(
        segment_differences(segments),
        f"By how much {segments.names[0]} differs from {segments.names[1]} in each segment, with "
        "confidence limits that hold for all segments at once and at any time.",
        name="segments",
    )
    page.table(segment_table(segments))


def segments_page(segments: "Segments", title: str | None, command: str | None) -> Page:
    """One page about segments."""
    first, second = segments.names[:2]
    page = Page(
        title if title is not None else f"For whom is {first} better than {second}?",
        f"Values by {segments.by}, in {len(segments):,} segments.",
        configuration={"by": segments.by, "delta": segments.delta},
        made_by=command or "policysieve.Selection.by_segment",
    )
    add_segments(page, segments)
    return page
