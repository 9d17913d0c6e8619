"""Figures of sizes and speeds against what they depend on, on log axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from policysieve.report.style import (
    INK,
    colours,
    legend,
    line_looks,
    log_axes,
    look,
    new_figure,
    rounds_axis,
)

if TYPE_CHECKING:
    from policysieve.planning import Plan

__all__ = ["cost_against_policies", "rounds_against_epsilon", "rounds_to_certify"]


def rounds_against_epsilon(plans: Sequence["Plan"]) -> Figure:
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


def cost_against_policies(growth: dict[str, Any]) -> Figure:
    """Draw the time of a rewarded and of an unrewarded round against the number of policies."""
    with look():
        figure, axes = new_figure(3.4)
        lines = [
            ("rewarded round", "rewarded_seconds", "rewarded_slope", "o"),
            ("unrewarded round", "unrewarded_seconds", "unrewarded_slope", "s"),
        ]
        for (name, seconds, slope, marker), colour in zip(lines, colours(2), strict=True):
            axes.plot(
                growth["n_policies"],
                [1e6 * value for value in growth[seconds]],
                color=colour,
                marker=marker,
                label=f"{name} (slope {growth[slope]:.2f})",
            )
        log_axes(axes, "policies")
        axes.set_ylabel("microseconds per round")
        legend(figure, axes)
    return figure


def rounds_to_certify(power: Sequence[dict[str, Any]]) -> Figure:
    """Draw the median rounds that each method needs to certify, a line for each source of data.

    A method that did not get there is hollow, at the limit of the race.
    """
    methods = list(power[0]["rounds"])
    with look():
        figure, axes = new_figure(1.2 + 0.42 * len(power))
        for k, (method, style) in enumerate(zip(methods, line_looks(len(methods)), strict=True)):
            for place, row in enumerate(power):
                rounds = row["rounds"][method]
                axes.plot(
                    row["max_rounds"] if rounds is None else rounds,
                    place + 0.14 * (k - (len(methods) - 1) / 2),
                    style.marker,
                    ms=6,
                    mfc="none" if rounds is None else style.colour,
                    mec=style.colour,
                    label=method.replace("_", " ") if place == 0 else None,
                )
        labels = [
            f"{row['n_actions']:,} actions, {row['source'].replace('_', '-')}" for row in power
        ]
        axes.set_yticks(range(len(power)), labels)
        axes.set_ylim(len(power) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        drawn = [rounds or row["max_rounds"] for row in power for rounds in row["rounds"].values()]
        rounds_axis(axes, min(drawn) * 0.8, max(drawn) * 1.25)
        axes.set_xlabel("rounds to certify")
        legend(figure, axes)
    return figure
