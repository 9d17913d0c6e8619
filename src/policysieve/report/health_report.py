"""The report of a log's health."""

from typing import TYPE_CHECKING

from policysieve.report.formats import value_text
from policysieve.report.health_plots import mean_weights
from policysieve.report.page import Page

if TYPE_CHECKING:
    from policysieve.health import LogHealth

__all__ = ["health_page"]

_HEADLINES = {
    "ok": "Nothing speaks against this log",
    "warning": "A log to look at",
    "broken": "This log is broken",
}
_ACTIONS = 20


def health_page(health: "LogHealth", title: str | None, command: str | None) -> Page:
    """One page about a log's health."""
    tests, mass = health.tests, health.tests.sums.mass
    page = Page(
        title if title is not None else _HEADLINES[health.worst],
        f"{health.rounds:,} logged rounds with {health.n_actions:,} actions, checked for what "
        "propensities, ids, times and rewards must satisfy.",
        configuration={
            "rounds": health.rounds,
            "n_actions": health.n_actions,
            "slate_size": health.slate_size,
            "delta": health.delta,
        },
        made_by=command or "policysieve.check_log",
    )
    whole = tests.whole
    page.facts(
        {
            "Verdict": health.worst,
            "Mean weight": (
                float(whole.mean[0]),
                f"between {value_text(max(0.0, float(whole.lower[0])))} and "
                f"{value_text(float(whole.upper[0]))}; should be 1",
            ),
            "Effective rounds": (round(mass.effective_rounds), f"of {health.rounds:,}"),
            "Smallest propensity": mass.smallest,
            "Rewarded": (tests.sums.rewarded, f"of {health.rounds:,} rounds"),
        }
    )
    page.text(health.verdict, statement=True)
    page.section("Findings")
    for one in health.findings:
        if one.verdict != "ok":
            page.text(one.sentence)
    page.table(
        ["what", "value", "verdict"],
        [[one.name, one.value, one.verdict] for one in health.findings],
        f"What was looked at. {health.legend} A healthy log is called broken because of its "
        f"propensities with probability at most {value_text(health.delta)}.",
    )
    page.section("Importance weights")
    page.figure(
        mean_weights(health),
        "Mean importance weights of the whole log, of its rounds in order, and of the actions that "
        "are furthest off. Limits hold for all at once and should reach the line at 1.",
        name="weights",
    )
    suspects = tests.by_action.suspects[:_ACTIONS]
    page.table(
        ["action", "shown", "mean weight", "lower", "upper"],
        [
            [
                str(action),
                int(tests.shown[action]),
                float(tests.by_action.mean[action]),
                max(0.0, float(tests.by_action.lower[action])),
                float(tests.by_action.upper[action]),
            ]
            for action in suspects
        ],
        f"The {len(suspects)} actions that are furthest off.",
    )
    return page
