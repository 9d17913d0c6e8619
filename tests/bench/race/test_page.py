"""The race in tables."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from policysieve.bench.pages import bench_page
from policysieve.bench.race.measuring import RaceSettings
from policysieve.bench.race.page import page, rounds_by_task, suboptimality_by_task, tables
from policysieve.bench.race.ratios import summary
from policysieve.bench.racers import RACERS
from policysieve.report.style import BLUE
from policysieve.report.table import Beyond
from tests.bench.results import BENCHES, picked, proved

SETTINGS = RaceSettings(most=1000, most_to_prove=9000)


def result(picking=(), **parts):
    return {
        "settings": SETTINGS._asdict(),
        "picking": list(picking),
        "proving": [],
        "summary": summary(list(picking), [], SETTINGS),
        **parts,
    }


def test_tables_without_rows_are_left_out():
    assert tables(result()) == {}
    assert set(tables(BENCHES["samples"])) == {"right", "best", "certified", "means"}
    made = summary([picked("one", "Sieve", 80.0)], [], SETTINGS._replace(most=50))
    assert set(tables(result(summary=made))) == {"gaps"}


def test_what_was_given_up_or_not_run():
    """Beyond the last budget, or beyond the most; nothing where it was not measured."""
    rows = [picked("a", "Sieve", None), picked("a", "Exp4", 345.6), picked("b", "Sieve", 7.0)]
    del rows[0]["budgets"]
    shown = tables(result(rows))
    assert shown["right"].columns == ["task", "Sieve", "Exp4"]
    assert shown["right"].rows == [["a", 1000.0, 346], ["b", 7, None]]
    assert isinstance(shown["right"].rows[0][1], Beyond)
    assert shown["right"].texts[0] == ("a", ">1,000", "346")
    assert shown["best"].rows == [["a", "Exp4", None]]
    assert shown["best"].note == "Above 1 the Sieve loses."
    rows[0] |= {"budgets": [20, 45]}
    assert tables(result(rows))["right"].texts[0] == ("a", ">45", "346")


def test_certificates_and_the_plan():
    table = tables(BENCHES["samples"])["certified"]
    assert table.columns == ["task", "Uniform", "Sieve", "plan"]
    assert table.texts == [("one", ">9,000", "4,000", "7,000")]


def test_means_of_ratios():
    """A learner that only races to be right has none to prove it, and the plan only that."""
    means = {"right_means": {"Exp4": 0.5, "Uniform": None}, "right_mean": 0.25, "right": {}}
    shown = tables(
        result(summary={**means, "proved_mean": {"Uniform": 0.5, "plan": 0.00123}}),
    )
    assert shown["means"].rows == [
        ["Exp4", 0.5, None, None],
        ["Uniform", None, None, 0.5],
        ["plan", None, None, 0.00123],
    ]
    assert shown["means"].texts[2][3] == "0.0012"  # not rounded to nothing


def test_average_suboptimality():
    rows = [picked("a", "Sieve", 80.0), picked("a", "Exp4", 80.0), picked("b", "Exp4", 80.0)]
    rows[1]["mean"] = [0.2, 0.0, 0.0]
    shown = tables(result(summary=summary(rows, [], SETTINGS._replace(most=50))))
    assert shown["gaps"].columns == ["task", "Sieve", "Exp4", "Sieve / best other"]
    assert shown["gaps"].rows == [
        ["a", pytest.approx(0.4 / 3), pytest.approx(0.2 / 3), pytest.approx(2.0)],
        ["b", None, pytest.approx(0.4 / 3), None],
    ]
    assert shown["gaps"].note.endswith(" The geometric mean is 2.")
    assert shown["means"].rows == [["Exp4", 1.0, pytest.approx(2.0), None]]


def test_provers_have_readable_names():
    names = ("Sieve", "SieveOnFunctions", "PoliciesAsArms", "AllLabelsRevealed")
    proving = [proved("one", name, 100.0) for name in names]
    made = result(proving=proving, summary=summary([], proving, SETTINGS))
    shown = tables(made)
    words = ["Sieve on functions", "policies as arms", "all labels revealed"]
    assert shown["certified"].columns == ["task", "Sieve", *words, "plan"]
    assert [row[0] for row in shown["means"].rows] == [*words, "plan"]
    assert texts(rounds_by_task(proving, "median", 9000)) == ["Sieve", *words]


def test_results_without_average_suboptimality():
    """As older files are."""
    older = summary([picked("a", "Sieve", 80.0)], [], SETTINGS)
    for key in ("gaps", "gap", "gap_mean", "gap_means"):
        del older[key]
    assert set(tables(result([picked("a", "Sieve", 80.0)], summary=older))) == {"right"}
    assert page(result([picked("a", "Sieve", 80.0)], summary=older)).title == "The race"


def test_which_codes_measured():
    """A row without a code takes its file's; a file without one is of unknown code."""
    rows = [picked("a", name, 10.0) for name in ("Sieve", "Exp4", "Uniform", "LogBarrier")]
    for row, code in zip(
        rows, ("0.2.0+22222222", "0.2.0+33333333", "0.2.0+22222222"), strict=False
    ):
        row["code"] = code
    shown = bench_page("samples", result(rows, code="0.1.0+11111111")).configuration
    assert shown["code"] == "0.2.0+22222222, 0.2.0+33333333, 0.1.0+11111111"
    assert bench_page("samples", result(rows[3:])).configuration["code"] == "unknown"


def cell(task, learner, needed, mean=(0.3, 0.1, 0.0)):
    return {
        "task": task,
        "learner": learner,
        "needed": needed,
        "budgets": [20, 30, 45],
        "mean": list(mean),
        "low": [gap / 2 for gap in mean],
        "high": [2 * gap for gap in mean],
    }


ROWS = [
    cell("one", "Uniform", 400.0, (0.4, 0.3, 0.2)),
    cell("one", "Sieve", 80.0),
    cell("two", "Uniform", None),
    cell("two", "Sieve", 900.0),
    cell("three", "Uniform", None),
]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def points(figure, learner, *, done):
    """(rounds, line) of a learner, those it finished or those where it was given up."""
    line = {one.get_label(): one for one in figure.axes[0].lines}[learner]
    alike = [
        one
        for one in figure.axes[0].lines
        if one.get_marker() == line.get_marker() and (one.get_markerfacecolor() != "none") is done
    ]
    return [tuple(point) for one in alike for point in one.get_xydata().tolist()]


class TestRoundsByTask:
    def test_a_line_for_each_task(self):
        figure = rounds_by_task(ROWS, "needed", 1000)
        axes = figure.axes[0]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two", "three"]
        assert axes.get_xlabel() == "rounds"
        assert points(figure, "Sieve", done=True) == [(80, 0), (900, 1)]
        assert points(figure, "Uniform", done=True) == [(400, 0)]

    def test_hollow_at_the_most_where_given_up(self):
        rows = [
            {"task": row["task"], "learner": row["learner"], "median": row["needed"]}
            for row in ROWS
        ]
        figure = rounds_by_task(rows, "median", 1000)
        assert points(figure, "Uniform", done=False) == [(1000, 1), (1000, 2)]
        assert points(figure, "Sieve", done=False) == []
        low, high = figure.axes[0].get_xlim()
        assert low < 80
        assert high > 1000

    def test_hollow_at_the_last_budget(self):
        figure = rounds_by_task(ROWS, "needed", 1000)
        assert points(figure, "Uniform", done=False) == [(45, 1), (45, 2)]

    def test_a_learner_that_never_finished_has_a_name(self):
        figure = rounds_by_task(ROWS[2:4], "needed", 1000)
        assert texts(figure) == ["Uniform", "Sieve"]
        assert points(figure, "Uniform", done=True) == []

    def test_names_and_colours(self):
        """Every learner once in the legend and with a look of its own, the Sieve in blue."""
        rows = [cell("one", name, 100.0 + i) for i, name in enumerate(RACERS)]
        figure = rounds_by_task(rows, "needed", 1000)
        words = [
            "Sieve with a vote",
            "Sieve with fitted votes",
            "vote of the Sieve",
            "VowpalWabbit",
        ]
        assert texts(figure) == [*list(RACERS)[:-4], *words]
        lines = {line.get_label(): line for line in figure.axes[0].lines}
        assert lines["Sieve"].get_markerfacecolor() == BLUE
        looks = {(to_hex(one.get_markerfacecolor()), one.get_marker()) for one in lines.values()}
        assert len(looks) == len(RACERS)

    def test_another_number(self):
        rows = [{"task": "one", "learner": "Sieve", "median": 5000.0}]
        assert points(rounds_by_task(rows, "median", 10_000), "Sieve", done=True) == [(5000, 0)]


class TestSuboptimalityByTask:
    def test_a_panel_for_each_task(self):
        figure = suboptimality_by_task(ROWS)
        shown = [axes for axes in figure.axes if axes.get_visible()]
        assert [axes.get_title(loc="left") for axes in shown] == ["one", "two", "three"]
        assert [len(axes.lines) for axes in shown] == [2, 2, 1]
        assert texts(figure) == ["Uniform", "Sieve"]

    @pytest.mark.parametrize(("n_tasks", "panels"), [(1, 1), (2, 2), (4, 6), (17, 18)])
    def test_panels_without_a_task_are_hidden(self, n_tasks, panels):
        figure = suboptimality_by_task([cell(f"t{i}", "Sieve", 1.0) for i in range(n_tasks)])
        visible = [axes.get_visible() for axes in figure.axes]
        assert visible == [True] * n_tasks + [False] * (panels - n_tasks)

    def test_no_two_learners_look_alike(self):
        axes = suboptimality_by_task([cell("one", name, 1.0) for name in RACERS]).axes[0]
        looks = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in axes.lines}
        assert len(set(looks.values())) == len(RACERS)
        assert looks["Sieve"] == (BLUE, "-")

    def test_means_and_the_band_of_the_sieve(self):
        """On log axes, where zero is drawn as a thousandth."""
        axes = suboptimality_by_task(ROWS).axes[0]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        assert lines["Uniform"] == [[20, 0.4], [30, 0.3], [45, 0.2]]
        assert lines["Sieve"] == [[20, 0.3], [30, 0.1], [45, 0.001]]
        (band,) = axes.collections
        corners = {tuple(np.round(point, 9)) for point in band.get_paths()[0].vertices}
        assert corners == {(20, 0.15), (20, 0.6), (30, 0.05), (30, 0.2), (45, 0.001)}
