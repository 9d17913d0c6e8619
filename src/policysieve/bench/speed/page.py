"""What the benchmark of speed measured, in tables and as a page."""

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from policysieve.report import Page, Table
from policysieve.report.style import (
    colours,
    legend,
    log_axes,
    look,
    new_figure,
    new_panels,
    shared_legend,
)
from policysieve.report.table import value_text

__all__ = ["cost_against_policies", "page", "sieve_costs", "tables"]

Rows = list[tuple[str, str, str]]

_COLUMNS = ["what", "measured", "against"]
_KINDS = {"clusters": "clusters", "close": "close values"}
_BESIDE = {False: "alone", True: "busy processes"}


def tables(result: dict[str, Any]) -> dict[str, Table]:
    """What learners take, what the Sieve takes, and its calls one by one."""
    found = {
        "all": Table(
            "Speed, each measurement with what it is to be compared with",
            _COLUMNS,
            _rows(result),
        )
    }
    sieve = [
        row for step, rows in _SIEVE_ROWS.items() if step in result for row in rows(result[step])
    ]
    if sieve:
        found["sieve"] = Table(
            "The Sieve, each measurement with what it is to be compared with",
            _COLUMNS,
            sieve,
            note="Of clusters, most policies are eliminated early, and rounds get cheaper; of "
            "close values, nearly all policies stay for thousands of rounds. Runs of a given "
            "number of rounds go on beyond a certificate.",
        )
    if "latency" in result:
        found["latency"] = _latency(result["latency"])
    return found


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
        "Speed is told next to something else that was measured in the same run: seconds depend "
        "on the machine and on what else it does.",
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
    if "sieve_growth" in result:
        page.figure(
            sieve_costs(result["sieve_growth"]),
            "Time of one round of the Sieve, asked and told in batches of 100, against what "
            "grows, all on log scales; of the rounds, that of each further one.",
            name="sieve_growth",
        )
    page.section("Everything measured")
    for table in tables(result).values():
        page.table(table)
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


def sieve_costs(growth: dict[str, Any]) -> Figure:
    """Draw the time of a round of the Sieve against all that grows, a panel for each."""
    axes_names = list(next(iter(growth.values())))
    with look():
        figure, panels = new_panels(len(axes_names), columns=2, height=2.6)
        for (kind, grown), colour, marker in zip(growth.items(), colours(2), "os", strict=True):
            for axes, name in zip(panels, axes_names, strict=True):
                axes.plot(
                    grown[name]["sizes"],
                    [1e6 * seconds for seconds in grown[name]["seconds"]],
                    color=colour,
                    marker=marker,
                    label=_KINDS[kind],
                )
        for axes, name in zip(panels, axes_names, strict=True):
            log_axes(axes, name)
            axes.set_ylabel("microseconds per round")
        shared_legend(figure, panels)
    return figure


def _rows(result: dict[str, Any]) -> Rows:
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


def _latency(latency: dict[str, Any]) -> Table:
    names = [f"{call} {name}" for call in ("ask", "tell") for name in ("p50", "p99", "max")]
    return Table(
        "Milliseconds of one call of the Sieve with one context",
        ["class", "threads", "beside", *names],
        [
            [
                _KINDS[case["kind"]],
                case["threads"],
                _BESIDE[case["competing"]],
                *(f"{value:.2f}" for call in ("ask", "tell") for value in case[call].values()),
            ]
            for case in latency["cases"]
        ],
        note=f"{latency['n_policies']:,} policies, {latency['rounds']:,} rounds of all threads "
        "together. Threads share one learner. There is a busy process for each two cores.",
    )


def _sieve_rows(sieve: dict[str, Any]) -> Rows:
    rows = []
    for case in sieve["cases"]:
        until = "until certified" if case["until_certified"] else f"{case['rounds']:,} rounds"
        size = "one at a time" if case["batch"] == 1 else f"batches of {case['batch']}"
        what = (
            f"{case['n_policies']:,} policies ({_KINDS[case['kind']]}), epsilon "
            f"{case['epsilon']:g}, {until}, {size}"
        )
        rows += [
            (
                f"rounds per second, {what}",
                f"{case['rounds_per_second']:,.0f}",
                f"{case['ratio']:.2g} times Uniform; "
                f"{100 * case['share']:.2g}% of a copy's bandwidth",
            ),
            (
                f"longest ask and tell, {what}",
                f"{_time(case['longest_ask_seconds'])} / {_time(case['longest_tell_seconds'])}",
                f"{case['survivors']:,} policies were left after {case['rounds']:,} rounds",
            ),
        ]
    return rows


def _recommend_rows(recommend: dict[str, Any]) -> Rows:
    return [
        (
            f"recommend, median and longest, after {one['rounds']:,} rounds "
            f"({one['n_policies']:,} policies, {_KINDS[kind]})",
            f"{_time(one['median_seconds'])} / {_time(one['longest_seconds'])}",
            f"{one['ratio']:,.0f} times the tell of 100 rounds",
        )
        for kind, one in recommend.items()
    ]


def _two_cores_rows(two_cores: dict[str, Any]) -> Rows:
    return [
        (
            f"a certificate on all cores, {case['n_policies']:,} policies, "
            f"{case['n_events']:,} events, "
            + ("next to busy processes" if case["competing"] else "alone"),
            _time(case["seconds"]),
            f"{case['ratio']:.2f} times as fast as with one thread",
        )
        for case in two_cores["cases"]
    ]


def _sieve_growth_rows(growth: dict[str, Any]) -> Rows:
    kinds = " / ".join(_KINDS[kind] for kind in growth)
    against = {"policies": "1 is proportional", "actions": "1 is proportional"}
    return [
        (
            f"growth of a round with the {name} ({kinds})",
            "slope " + " / ".join(f"{grown[name]['slope']:.2f}" for grown in growth.values()),
            against.get(name, "0 is flat"),
        )
        for name in next(iter(growth.values()))
    ]


def _sieve_memory_rows(memory: dict[str, Any]) -> Rows:
    if "skipped" in memory:
        return []
    return [
        (
            "peak memory beyond the table and what evidence keeps "
            f"({memory['n_policies']:,} policies, {memory['rounds']:,} rounds)",
            f"{memory['megabytes_beyond']:.0f} MB",
            f"the table has {memory['table_megabytes']:.0f} MB, the evidence "
            f"{memory['evidence_megabytes']:.1f} MB",
        )
    ]


def _first_use_rows(use: dict[str, Any]) -> Rows:
    return [
        (
            "import policysieve, in a new process",
            _time(use["import_seconds"]),
            f"Python itself takes {_time(use['python_seconds'])}",
        ),
        (
            "first look and recommendation in a new process, nothing compiled before",
            _time(use["empty_cache_seconds"]),
            f"{_time(use['cached_seconds'])} with the {use['compiled']} functions compiled then",
        ),
        (
            "the same with a memory-mapped table, for the first time",
            _time(use["mapped_seconds"]),
            f"{use['compiled_for_mapped']} functions had to be compiled anew",
        ),
    ]


def _time(seconds: float) -> str:
    """In milliseconds below a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


_SIEVE_ROWS: dict[str, Callable[[dict[str, Any]], Rows]] = {
    "sieve": _sieve_rows,
    "recommend": _recommend_rows,
    "two_cores": _two_cores_rows,
    "sieve_growth": _sieve_growth_rows,
    "sieve_memory": _sieve_memory_rows,
    "first_use": _first_use_rows,
}
"""By the name of the step; a file that was kept before may not have them all."""
