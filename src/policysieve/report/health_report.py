"""The health of a log: its figure and its page."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from policysieve.report.page import Page
from policysieve.report.style import BLUE, INK, VERMILION, legend, look, name_rows, new_figure
from policysieve.report.table import Table, value_text

if TYPE_CHECKING:
    from policysieve.evidence.change import Change
    from policysieve.evidence.weights import MeanWeights
    from policysieve.health import LogHealth

__all__ = ["change_over_time", "health_page", "mean_weights"]

_HEADLINES = {
    "ok": "No problem was found in this log",
    "warning": "A log to look at",
    "broken": "This log is broken",
}
_LEAVES_OUT = "Actions were left out of this log, or its propensities are too large"
_ACTIONS = 20  # in the table
_DRAWN_ACTIONS = 15
_MOST = 3.0  # how far right the axis goes for the sake of limits alone
_EDGE = 10.0  # and at all; what is larger is drawn there


def health_page(health: "LogHealth", title: str | None, command: str | None) -> Page:
    """One page about a log's health."""
    tests, mass = health.tests, health.tests.sums.mass
    page = Page(
        title if title is not None else _headline(health),
        f"{health.rounds:,} logged rounds with {health.n_actions:,} actions. Their propensities, "
        "ids, times and rewards were checked.",
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
        Table(
            "What was looked at",
            ["what", "value", "verdict"],
            [[one.name, one.value, one.verdict] for one in health.findings],
            f"{health.legend} A healthy log is called broken because of its propensities with "
            f"probability at most {value_text(health.delta)}.",
        )
    )
    if health.change is not None:
        page.section("A changed world")
        what = health.change.what()
        page.figure(
            change_over_time(health.change),
            f"{what[0].upper()}{what[1:]}, in stretches of rounds (dots), with its mean before and "
            "after the most probable time of the change (solid line). At the dashed line the "
            "change was proved.",
            name="change",
        )
    page.section("Importance weights")
    page.figure(
        mean_weights(health),
        "Mean importance weights of the whole log, of stretches of its rounds, and of the actions "
        "that are furthest from 1. Confidence limits hold for all at once, and should reach the "
        "line at 1.",
        name="weights",
    )
    suspects = tests.by_action.suspects[:_ACTIONS]
    page.table(
        Table(
            f"The {len(suspects)} actions that are furthest from 1",
            ["action", "shown", "mean weight", "lower", "upper"],
            [
                [
                    tests.name_of(int(action)),
                    int(tests.shown[action]),
                    float(tests.by_action.mean[action]),
                    max(0.0, float(tests.by_action.lower[action])),
                    float(tests.by_action.upper[action]),
                ]
                for action in suspects
            ],
        )
    )
    return page


def _headline(health: "LogHealth") -> str:
    return _LEAVES_OUT if health.leaves_out else _HEADLINES[health.worst]


def change_over_time(change: "Change") -> Figure:
    """Draw what has changed over the rounds of a log, and when.

    Parameters
    ----------
    change : Change
        As in `LogHealth.change`.
    """
    first, last = float(change.start), float(change.ends[-1])
    starts = np.append(first, change.ends[:-1])
    with look():
        figure, axes = new_figure(2.6)
        axes.plot((starts + change.ends) / 2, change.means, "o", color=BLUE, ms=5, mew=0)
        axes.hlines([change.before], first, change.split, INK, lw=1.4)
        axes.hlines([change.after], change.split, last, INK, lw=1.4)
        axes.axvline(change.split, color=VERMILION, lw=1.4, label="most probable change")
        axes.axvline(change.alarm, color=VERMILION, lw=1.4, ls="--", label="proved")
        axes.set_xlim(first, last)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
        axes.set_xlabel("rounds")
        axes.set_ylabel("mean")
        legend(figure, axes)
    return figure


def mean_weights(health: "LogHealth") -> Figure:
    """Draw the mean importance weights of a log, of its stretches and of its actions.

    Parameters
    ----------
    health : LogHealth

    Returns
    -------
    Figure
        A dot for each mean with its simultaneous limits, which should reach the line at 1; of the
        actions those that are the furthest off.
    """
    tests = health.tests
    names, rows = _rows(health)
    mean, lower, upper = np.array(rows).T
    wrong = (lower > 1) | (upper < 1)
    at = np.arange(len(names)) + (np.arange(len(names)) > 0)
    at[1 + len(tests.over_time.mean) :] += 1
    right = 1.05 * min(_EDGE, max(1.2, mean.max(), min(_MOST, upper.max())))
    with look():
        figure, axes = new_figure(1.1 + 0.2 * (at[-1] + 1))
        axes.axvline(1, color=INK, lw=1, ls="--")
        for bad, colour, label in [(False, BLUE, "may be 1"), (True, VERMILION, "is not 1")]:
            part = wrong == bad
            if part.any():
                limits = np.clip(lower[part], 0, right), np.clip(upper[part], 0, right)
                axes.hlines(at[part], *limits, colour, lw=1.6, alpha=0.75)
                dots = np.minimum(mean[part], right)
                axes.plot(dots, at[part], "o", color=colour, ms=5, mew=0, label=label)
        name_rows(axes, names, at=at.tolist(), lines=False)
        axes.set_xlim(0, right)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel("mean importance weight, with limits")
        legend(figure, axes)
    return figure


def _rows(health: "LogHealth") -> tuple[list[str], list[tuple[float, float, float]]]:
    """Names and (mean, lower, upper) of what is drawn, from top to bottom."""
    tests, width = health.tests, health.tests.sums.width
    names, rows = ["whole log"], _limits(tests.whole, np.zeros(1, int))
    stretches = range(len(tests.over_time.mean))
    names += [
        f"rounds {i * width:,} to {min((i + 1) * width, health.rounds) - 1:,}" for i in stretches
    ]
    rows += _limits(tests.over_time, np.array(stretches))
    actions = np.sort(tests.by_action.suspects[:_DRAWN_ACTIONS])
    names += [f"action {tests.name_of(action)}" for action in actions.tolist()]
    return names, rows + _limits(tests.by_action, actions)


def _limits(weights: "MeanWeights", which: np.ndarray) -> list[tuple[float, float, float]]:
    columns = weights.mean[which], weights.lower[which], weights.upper[which]
    return list(zip(*(column.tolist() for column in columns), strict=True))
