"""What the benchmark of speed measured, as a table and as a page."""

from typing import Any

from matplotlib.figure import Figure

from policysieve.report import Page, Table
from policysieve.report.style import colours, legend, log_axes, look, new_figure
from policysieve.report.table import value_text

__all__ = ["cost_against_policies", "page", "tables"]


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """One table of everything."""
    title = "Speed, each measurement with what it is to be compared with"
    return {"all": Table(title, ["what", "measured", "against"], _rows(result))}


def page(result: dict[str, Any]) -> Page:
    """A page about how fast this machine is."""
    naive, memory = result["low_variance_against_naive"], result["memory_bandwidth"]
    growth, proof = result["growth"], result["certificate"]
    page = Page(
        "How fast a round is",
        "Learners and certificates against naive twins, memory bandwidth and the size of the "
        "class.",
        configuration={"n_policies": growth["n_policies"]},
    )
    page.facts(
        {
            "Against a naive twin": (f"{naive['ratio']:,.0f} times", "as many rounds per second"),
            "Of a copy's bandwidth": (
                f"{memory['share']:.0%}",
                "reached by rewarded rounds with a million policies",
            ),
            "Growth with the class": (
                growth["rewarded_slope"],
                f"slope of a rewarded round; {value_text(growth['unrewarded_slope'])} of an "
                "unrewarded one",
            ),
            "Seconds per certificate": (proof["seconds"], f"{proof['share']:.0%} of one pass"),
        }
    )
    page.text(
        "Speed is told as ratios to something else that was measured in the same run: seconds "
        "depend on the machine and on what else it does.",
        statement=True,
    )
    page.section("Growth")
    page.figure(
        cost_against_policies(growth),
        "Time of one round against the number of policies, both on log scales. A rewarded round "
        "grows at most in proportion (slope 1), an unrewarded one not at all (slope 0), because "
        "the weights stand still.",
        name="growth",
    )
    page.section("Everything measured").table(tables(result)["all"])
    return page


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


def _rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What was measured, the measurement, and what to hold against it, all in words."""
    naive, memory = result["low_variance_against_naive"], result["memory_bandwidth"]
    growth, peak = result["growth"], result["peak_memory"]
    optimization, proof = result["exploration_by_optimization"], result["certificate"]
    micros = optimization["closed_form_microseconds"]
    rows = [
        (
            "rounds per second, end to end (K=100, 1,000 policies)",
            f"{naive['rounds_per_second']:,.0f}",
            f"{naive['ratio']:.0f} times the naive twin",
        ),
        (
            "microseconds per rewarded round (1,000,000 policies)",
            f"{1e6 * memory['event_seconds']:.0f}",
            f"{memory['share']:.0%} of a copy's bandwidth",
        ),
        (
            "growth of a rewarded round with the class",
            f"slope {growth['rewarded_slope']:.2f}",
            "1 is proportional",
        ),
        (
            "growth of an unrewarded round with the class",
            f"slope {growth['unrewarded_slope']:.2f}",
            "0 is flat",
        ),
        (
            "microseconds per closed form (K = 10 / 100 / 1,000)",
            " / ".join(f"{value:.2g}" for value in micros.values()),
            "exploration by optimization",
        ),
        (
            "rounds per second, exploration by optimization",
            f"{optimization['rounds_per_second']:,.0f}",
            f"{optimization['ratio']:.2f} times EXP4",
        ),
        (
            "seconds per certificate (100,000 policies, 10,000 events)",
            f"{proof['seconds']:.2f}",
            f"{proof['share']:.0%} of one pass at a copy's bandwidth",
        ),
    ]
    if "skipped" not in peak:
        rows.append(
            (
                "peak memory beyond the table (a million policies, a million rounds)",
                f"{peak['megabytes_beyond_the_table']:.0f} MB",
                f"the table has {peak['table_megabytes']:.0f} MB",
            )
        )
    return rows
