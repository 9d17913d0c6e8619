"""Figures of an experiment: learners against rounds, each with a band over its seeds."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from policysieve.report.style import (
    INK,
    PAPER,
    colours,
    legend,
    line_looks,
    look,
    new_figure,
    rounds_axis,
    say,
)

if TYPE_CHECKING:
    from policysieve.experiment import ExperimentResult, LearnerResult, SeedResult

__all__ = ["bound_by_learner", "suboptimality_by_learner"]

_SHORT = 12  # letters of a name that goes into a narrow column
_MARKS = 8  # on a line, where it has many points
_LOWEST = 0.1  # of epsilon: where the axis of the bound ends

Array = npt.NDArray[np.float64]
Points = Callable[["SeedResult"], Sequence[float]]


def bound_by_learner(result: "ExperimentResult") -> Figure:
    """Draw what each learner's rounds had proved, the median over seeds in a band of all of them.

    Returns
    -------
    Figure
        On log axes, with a dotted level for epsilon and a diamond where a seed had proved it.
        Bounds below a tenth of epsilon lie at the lower end.
    """
    lowest = _LOWEST * result.problem.epsilon
    with look():
        figure, axes = new_figure(3.8)
        drawn = _draw_learners(
            figure,
            result,
            lambda one: [max(proof.suboptimality_bound, lowest) for proof in one.proofs],
        )
        if not drawn:
            return figure
        for learner, colour in zip(result.learners, colours(len(result.learners)), strict=True):
            proofs = [
                next((proof for proof in one.proofs if proof.certified), None)
                for one in learner.seeds
            ]
            marks = [(p.rounds, max(p.suboptimality_bound, lowest)) for p in proofs if p]
            if marks:
                x, y = zip(*marks, strict=True)
                axes.plot(x, y, "D", ms=5.5, mfc=PAPER, mec=colour, clip_on=False, zorder=4)
        axes.axhline(
            result.problem.epsilon,
            color=INK,
            ls=(0, (1, 2)),
            lw=1.3,
            label=f"epsilon {result.problem.epsilon:g}",
        )
        axes.set_yscale("log")
        axes.set_ylim(bottom=lowest)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("suboptimality bound")
        _legend(figure, result)
    return figure


def suboptimality_by_learner(result: "ExperimentResult") -> Figure:
    """Draw how far the recommended policy truly was from the best one, where that is known.

    The median over seeds, in a band of all of them.
    """
    with look():
        figure, axes = new_figure(3.4)
        if not _draw_learners(
            figure,
            result,
            lambda one: [
                np.nan if checkpoint.suboptimality is None else checkpoint.suboptimality
                for checkpoint in one.result.history
            ],
        ):
            return figure
        axes.set_ylim(bottom=0)
        axes.set_ylabel("distance to the best policy")
        _legend(figure, result)
    return figure


def _legend(figure: Figure, result: "ExperimentResult") -> None:
    """Name the lines, in few columns when the names are long."""
    longest = max(len(learner.name) for learner in result.learners)
    legend(figure, figure.axes[0], columns=4 if longest <= _SHORT else 2)


def _draw_learners(figure: Figure, result: "ExperimentResult", points: Points) -> bool:
    """Draw a line and a band for each learner; say so, and return False, if there are no rounds."""
    axes = figure.axes[0]
    drawn: list[float] = []
    many = len(result.seeds) > 1
    looks = line_looks(len(result.learners))
    for learner, (colour, marker, dashes) in zip(result.learners, looks, strict=True):
        rounds, values = _over_rounds(learner, points)
        if not len(rounds):
            continue
        drawn += [rounds[0], rounds[-1]]
        if many:
            axes.fill_between(
                rounds, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.16, lw=0
            )
        axes.plot(
            rounds,
            np.median(values, axis=0),
            color=colour,
            ls=dashes,
            marker=marker,
            markevery=(0, max(1, len(rounds) // _MARKS)),
            label=learner.name,
            clip_on=False,
            zorder=3,
        )
    if not drawn:
        say(figure, axes, "No rounds were played.")
        return False
    rounds_axis(axes, min(drawn), max(drawn))
    return True


def _over_rounds(learner: "LearnerResult", points: Points) -> tuple[Array, Array]:
    """The rounds of any checkpoint, and the values of each seed there, shape (seeds, rounds).

    A seed keeps its last value after it has stopped. Rounds before the first checkpoint of any seed
    are left out, as is what is not known.
    """
    curves = []
    for one in learner.seeds:
        rounds = np.array([proof.rounds for proof in one.proofs], dtype=float)
        values = np.array(points(one), dtype=float)
        kept = (rounds > 0) & np.isfinite(values)
        curves.append((rounds[kept], values[kept]))
    if not all(len(rounds) for rounds, _ in curves):
        return np.empty(0), np.empty((len(curves), 0))
    grid = np.unique(np.concatenate([rounds for rounds, _ in curves]))
    grid = grid[grid >= max(rounds[0] for rounds, _ in curves)]
    return grid, np.array(
        [values[np.searchsorted(rounds, grid, side="right") - 1] for rounds, values in curves]
    )
