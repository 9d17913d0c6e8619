"""The figure of a log's health."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from policysieve.report.style import BLUE, INK, VERMILION, legend, look, new_figure

if TYPE_CHECKING:
    from policysieve.evidence.weights import MeanWeights
    from policysieve.health import LogHealth

__all__ = ["mean_weights"]

_ACTIONS = 15
_MOST = 3.0  # how far right the axis goes for the sake of limits alone
_EDGE = 10.0  # and at all; what is larger is drawn there


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
        axes.set_yticks(at, names)
        axes.set_ylim(at[-1] + 0.7, -0.7)
        axes.set_xlim(0, right)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
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
    actions = np.sort(tests.by_action.suspects[:_ACTIONS])
    names += [f"action {action}" for action in actions]
    return names, rows + _limits(tests.by_action, actions)


def _limits(weights: "MeanWeights", which: np.ndarray) -> list[tuple[float, float, float]]:
    columns = weights.mean[which], weights.lower[which], weights.upper[which]
    return list(zip(*(column.tolist() for column in columns), strict=True))
