"""The benchmark of certificates in tables, and its page."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from policysieve.bench.certificates.floors import WAYS
from policysieve.bench.certificates.nulls import summary
from policysieve.report import Page, Table
from policysieve.report.style import legend, line_looks, look, name_rows, new_figure, rounds_axis
from policysieve.report.table import Beyond

__all__ = ["page", "rounds_by_method", "tables"]

_COUNTS = ("certified", "false", "interval missed", "runs", "allowed by delta")


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """Rounds to a certificate, and how many were wrong."""
    power = result["power"]
    return {
        "power": Table(
            "Median rounds to certify epsilon = 0.05 among 50 policies of close value",
            ["exploration", "actions", *(_words(method) for method in power[0]["rounds"])],
            [
                [_words(row["source"]), row["n_actions"]]
                + [
                    Beyond(row["max_rounds"]) if rounds is None else round(rounds)
                    for rounds in row["rounds"].values()
                ]
                for row in power
            ],
            f"Over {power[0]['seeds']} seeds. Capped scores know the propensities of all actions, "
            "the others those of shown ones and a floor.",
        ),
        "false": Table(
            "Runs with false certificates, where all propensities are known",
            ["world", *_COUNTS],
            [[summary(row["world"]), *_counts(row)] for row in result["false"]],
            "False: at any look the leader was certified, or bounded, closer to the best policy "
            "than it is, or the best was eliminated. Missed: the leader's interval was ever wrong. "
            f"Either may happen in a share {result['false'][0]['delta']:g} of the runs; allowed is "
            "what is then exceeded once in a thousand times.",
        ),
        "floors": Table(
            "Runs with false certificates, where a floor is known",
            ["method", "exploration", *_COUNTS],
            [[_words(row["method"]), row["explorer"], *_counts(row)] for row in result["floors"]],
            "The best of four arms is ahead by a little more than epsilon; greedy exploration "
            "misleads on purpose.",
        ),
        "unmet": Table(
            "Why a floor has to be known: logs with propensities that were hardly ever met",
            ["log", "what is known", "certified", "false", "runs", "allowed by delta"],
            [
                [row["log"], WAYS[row["known"]]]
                + [row[key] for key in ("certified", "false", "runs", "limit")]
                for row in result["unmet"]
            ],
            "The smallest propensity that was met is not a floor: that is why without one nothing "
            "is certified.",
        ),
    }


def page(result: dict[str, Any]) -> Page:
    """A page about how often certificates are wrong, and how soon they come."""
    false, power = [*result["false"], *result["floors"]], result["power"]
    shown = tables(result)
    runs, delta, limit = (false[0][key] for key in ("runs", "delta", "limit"))
    most = max(row["false"] for row in false)
    page = Page(
        "Are certificates true, and how soon do they come?",
        "False certificates counted on worlds where they are most likely, and the methods raced "
        "to a true one on the same data.",
        configuration={
            "runs": runs,
            "delta of the runs": delta,
            "seeds": power[0]["seeds"],
            "max_rounds": power[0]["max_rounds"],
            "n_actions": list(dict.fromkeys(row["n_actions"] for row in power)),
        },
    )
    page.facts(
        {
            "Most false certificates": (most, f"in {runs:,} runs, in any world"),
            "Allowed": (limit, f"by delta {delta:g}, at level 0.999"),
        }
    )
    page.text(
        f"No method may be wrong in more than {limit:,} of {runs:,} runs. "
        + ("None was." if most <= limit else "At least one was: its certificates are not true."),
        statement=True,
    )
    page.section("How soon")
    page.figure(
        rounds_by_method(power),
        "Median rounds until each method certifies epsilon 0.05 among 50 policies of close value, "
        "on a log scale: further left is better. A hollow mark had no certificate when it was "
        "given up there.",
        name="certificates",
    )
    page.table(shown["power"])
    page.section("How often wrong").table(shown["false"])
    page.table(shown["floors"])
    page.section("Without a floor").table(shown["unmet"])
    return page


def rounds_by_method(power: Sequence[dict[str, Any]]) -> Figure:
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
                    label=_words(method) if place == 0 else None,
                )
        name_rows(
            axes,
            [f"{row['n_actions']:,} actions, {row['source'].replace('_', '-')}" for row in power],
        )
        drawn = [rounds or row["max_rounds"] for row in power for rounds in row["rounds"].values()]
        rounds_axis(axes, min(drawn) * 0.8, max(drawn) * 1.25)
        axes.set_xlabel("rounds to certify")
        legend(figure, axes)
    return figure


def _counts(row: dict[str, Any]) -> list[int]:
    return [row[key] for key in ("certified", "false", "missed", "runs", "limit")]


def _words(name: str) -> str:
    return name.replace("_", " ")
