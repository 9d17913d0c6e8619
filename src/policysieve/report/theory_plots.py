"""Figures of what theory allows, and of what is proved."""

from collections.abc import Sequence
from dataclasses import replace
from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

from policysieve.planning import Plan
from policysieve.problem import Problem
from policysieve.report.style import INK, colours, legend, log_axes, look, new_figure, new_panels
from policysieve.theory import BOUNDS, closed_form_bound, dec, dec_bound

__all__ = ["bounds_figure", "dec_figure", "rounds_against_epsilon"]

_ACTIONS = 10
_SPARSITY = 1.0
_EPSILONS = 30  # drawn
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def bounds_figure(problem: Problem, log_n_policies: float) -> Figure:
    """Draw every bound of `theory.BOUNDS` that applies against epsilon.

    Guarantees are on the left, rates on the right; lower bounds are dashed. The thin line on the
    right is eps = s m/K, where the two terms of the paper's rate are equal.
    """
    widest = 0.45 * problem.reward_cap
    last = max(problem.epsilon, min(widest, 10 * problem.epsilon))
    problems = [
        replace(problem, epsilon=float(eps))
        for eps in np.geomspace(problem.epsilon / 100, last, _EPSILONS)
    ]
    with look():
        figure, (left, right) = new_panels(2, columns=2, height=4.2)
        for axes, constants in ((left, "explicit"), (right, "rate")):
            _draw_bounds(axes, constants, problems, log_n_policies)
        left.set_title("guaranteed, with constants", loc="left", fontsize=9.5)
        right.set_title("rates, with constant 1", loc="left", fontsize=9.5)
        left.set_ylabel("rounds")
        if problem.sparsity is not None:
            crossover = problem.sparsity * problem.slate_size / problem.n_actions
            if problems[0].epsilon < crossover < problems[-1].epsilon:
                right.axvline(crossover, color=INK, lw=0.6)
    return figure


def _draw_bounds(
    axes: Axes, constants: str, problems: list[Problem], log_n_policies: float
) -> None:
    """Upper bounds coloured, the later ones thinner, so that equal ones show; lower ones dashed."""
    seen = {"upper": 0, "lower": 0}
    for bound in (bound for bound in BOUNDS if bound.constants == constants):
        points = [(one.epsilon, bound.rounds(one, log_n_policies)) for one in problems]
        drawn = [(eps, rounds) for eps, rounds in points if rounds is not None]
        if not drawn:
            continue
        number = seen[bound.kind]
        seen[bound.kind] += 1
        if bound.kind == "lower":
            colour, width, dashes = INK, 1.0, ("--", ":")[number]
        else:
            colour, width = colours(number + 1)[-1], 3.2 - 0.5 * number
            dashes = "-" if number < 4 else "-."
        axes.plot(*zip(*drawn, strict=True), c=colour, lw=width, ls=dashes, label=bound.name)
    log_axes(axes, "epsilon: distance to the best policy")
    axes.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.1), borderaxespad=0)


def _power_of_ten(value: float, _position: object = None) -> str:
    """A number beside an axis that goes beyond millions: 10⁶."""
    return "10" + str(round(log10(value))).translate(_SUPERSCRIPTS)


def rounds_against_epsilon(plans: Sequence[Plan]) -> Figure:
    """Draw the rounds that each method needs against epsilon, from plans that differ in it.

    The lower bound is dashed: no method can be below it on every problem.
    """
    methods: dict[str, list[int | None]] = {
        "uniform exploration": [plan.uniform_rounds for plan in plans],
        "low-variance exploration": [plan.total_rounds for plan in plans],
        "exploration by optimization": [plan.by_optimization_rounds for plan in plans],
    }
    epsilons = [plan.problem.epsilon for plan in plans]
    with look():
        figure, axes = new_figure(3.8)
        for (label, rounds), colour in zip(methods.items(), colours(3), strict=True):
            known = [value for value in rounds if value is not None]
            if len(known) == len(rounds):
                axes.plot(epsilons, known, color=colour, label=label)
        bound = [plan.lower_bound_rounds for plan in plans]
        axes.plot(epsilons, bound, color=INK, linestyle="--", linewidth=1, label="lower bound")
        log_axes(axes, "epsilon: distance to the best policy")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_ylabel("rounds")
        legend(figure, axes)
    return figure


def dec_figure() -> Figure:
    """Draw worst cases per round against the price of information, for 10 actions and sparsity 1.

    Returns
    -------
    Figure
        The paper's bound from where it holds, the decision-estimation coefficient at the uniform
        reference, and the closed form at uniform weights from gamma = 10 on. It needs clarabel.
    """
    K, s = _ACTIONS, _SPARSITY
    with look():
        figure, axes = new_figure(3.6)
        paper, true, closed = colours(3)
        price = np.geomspace(32 * K, 1e5, 20)
        axes.plot(
            price,
            [dec_bound(gamma, s, K) for gamma in price],
            "--o",
            markevery=[0],
            color=paper,
            label="the paper's bound, 64 s/gamma",
        )
        price = np.geomspace(2, 1e5, 40)
        reference = np.full(K, s / K)
        axes.plot(
            price,
            [dec(reference, gamma, s).value for gamma in price],
            color=true,
            label="coefficient, uniform reference",
        )
        price = np.geomspace(K, 1e5, 40)
        axes.plot(
            price,
            [closed_form_bound(gamma, s, K) for gamma in price],
            color=closed,
            label="closed form, uniform weights",
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda y, _: f"{y:.9f}".rstrip("0").rstrip("."))
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator())
            axis.set_minor_formatter(NullFormatter())
        axes.annotate(
            f"holds from gamma = 32 K = {32 * K}",
            (32 * K, dec_bound(32 * K, s, K)),
            xytext=(0, 6),
            textcoords="offset points",
            color=paper,
        )
        axes.set_xlabel("gamma, the price of information")
        axes.set_ylabel("worst case per round")
        legend(figure, axes)
    return figure
