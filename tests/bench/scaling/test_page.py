import pytest
from matplotlib.colors import to_hex

from policysieve.bench.scaling.page import (
    growth_by_sweep,
    growth_of_proofs,
    slopes_by_sweep,
    tables,
    variance_of_designs,
)
from policysieve.report.style import BLUE
from tests.bench.results import BENCHES, grown, proof_grown

DASH = "\N{EN DASH}"


def test_slopes_say_what_was_given_up():
    shown = tables(BENCHES["scaling"])
    first, second = shown["slopes_right"].texts
    assert first[1:] == ("Uniform", "1.0000", "0.8000", "1.2000", "1.1000", "as predicted")
    assert second[1:] == ("Sieve", DASH, DASH, DASH, DASH, "unknown")
    assert "given up: Sieve on few (1 of 3)." in shown["slopes_right"].note
    assert shown["slopes_certified"].note == ""


def test_against_the_lower_bound_at_the_largest_point():
    """Where the learner was given up there is no ratio."""
    bounds = tables(BENCHES["scaling"])["bounds"]
    assert bounds.texts == [
        ("few", "Uniform", "400", "16", "25.000"),
        ("few", "Sieve", ">999", "16", DASH),
    ]


def test_worlds_that_are_no_instance_of_a_bound():
    row = grown("few", "Sieve", (20, 40, 80), "right")
    for point in row["points"]:
        point["lower_bound"] = None
    shown = tables({"sweeps": [row], "growth": [], "variance": []})
    assert set(shown) == {"slopes_right", "right"}
    assert shown["right"].fold == "All points"
    assert shown["right"].rows[0] == ["few", "Sieve", 2, 20, 20, None]


def test_slopes_that_are_expected_more_closely():
    plain, closer = (grown("few", "Sieve", (20, 40, 80), "right") for _ in range(2))
    closer["closer"] = {
        "slope": 1.0,
        "low": 0.8,
        "high": 1.2,
        "predicted": 0.7,
        "verdict": "above",
    }
    shown = tables({"sweeps": [plain, closer], "growth": [], "variance": []})
    assert shown["closer"].rows == [["few", "Sieve", 1.0, 0.8, 1.2, 0.7, "above"]]


def test_proofs():
    shown = tables({"sweeps": [], "growth": [proof_grown("all", 300, None)], "variance": []})
    assert set(shown) == {"proofs", "proof_points"}
    assert [row[3:] for row in shown["proofs"].rows] == [
        [0.2, 0.1, 0.3, 0.25, "as predicted"]
    ] * 3 + [[None, None, None, None, "unknown"]]
    assert shown["proof_points"].rows == [
        ["about all", "policies", 10, 30, 150, 300, None, 2],
        ["about all", "policies", 100, None, None, None, None, 2],
    ]


def row(sweep, learner, rounds, kind="right", lower=None):
    slope = None if None in rounds else 1.0
    return {
        "sweep": sweep,
        "summary": f"about {sweep}",
        "axis": "actions K",
        "kind": kind,
        "learner": learner,
        "points": [
            {"x": x, "rate": 10 * x, "rounds": n, "most": 999, "lower_bound": lower and lower * x}
            for x, n in zip((2, 4, 8), rounds, strict=True)
        ],
        "slope": slope,
        "low": slope and 0.8,
        "high": slope and 1.2,
        "predicted": slope and 1.1,
        "verdict": "as predicted",
    }


ROWS = [
    row("one", "Uniform", (100, 200, 400), lower=1),
    row("one", "Sieve", (20, 40, 80), lower=1),
    row("two", "Sieve", (30, None, None)),
]
DESIGNS = [
    {
        "explore_rounds": n,
        "true": 5000 / n,
        "observable": 20_000 / n,
        "bound": 50_000 / n,
        "rate": 30_000 / n,
        "uniform": 40.0,
    }
    for n in (100, 1000)
]


def drawn(axes):
    return {
        line.get_label(): line.get_xydata().tolist()
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


class TestGrowth:
    def test_a_panel_for_each_sweep(self):
        figure = growth_by_sweep(ROWS)
        first, second = figure.axes
        assert first.get_title(loc="left") == "about one"
        assert (first.get_xscale(), first.get_yscale()) == ("log", "log")
        assert first.get_xlabel() == "actions K"
        assert drawn(first) == {
            "Uniform": [[2, 100], [4, 200], [8, 400]],
            "Sieve": [[2, 20], [4, 40], [8, 80]],
            "lower bound": [[2, 2], [4, 4], [8, 8]],
        }
        assert drawn(second) == {"Sieve": [[2, 30]]}
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names == ["Uniform", "Sieve", "lower bound"]

    def test_predicted_shapes_at_the_height_of_the_dots(self):
        axes = growth_by_sweep(ROWS).axes[0]
        shapes = [line for line in axes.lines if line.get_marker() == "None"]
        heights = [line.get_ydata()[0] for line in shapes if line.get_label().startswith("_")]
        assert [round(height, 6) for height in heights] == [100, 20]

    def test_hollow_where_given_up(self):
        (hollow,) = [
            line
            for line in growth_by_sweep(ROWS).axes[1].lines
            if line.get_markerfacecolor() == "none" and len(line.get_xdata())
        ]
        assert hollow.get_xydata().tolist() == [[4, 999], [8, 999]]


def test_growth_of_proofs():
    """Dots, and a shape through them where there are any."""
    axes = growth_of_proofs([proof_grown("all", 300, 400)]).axes[0]
    assert axes.get_xlabel() == "policies"
    assert drawn(axes) == {
        "half eliminated": [[10, 30], [100, 40]],
        "no union": [[10, 150], [100, 200]],
        "certified": [[10, 300], [100, 400]],
        "no past": [],
    }
    shapes = [line.get_ydata() for line in axes.lines if line.get_marker() == "None"]
    assert [shape[1] / shape[0] for shape in shapes] == pytest.approx([1, 1, 32 / 31])


def test_slopes_and_what_was_predicted():
    axes = slopes_by_sweep(ROWS).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one, right"]
    bars = [line for line in axes.lines if line.get_marker() == "|" and len(line.get_xdata())]
    assert [bar.get_xdata()[0] for bar in bars] == [1.1, 1.1]
    dots = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert [(dot.get_xdata()[0], to_hex(dot.get_color())) for dot in dots] == [(1.0, BLUE)]


def test_variance_of_designs():
    lines = drawn(variance_of_designs(DESIGNS).axes[0])
    assert lines["largest of all policies"] == [[100, 50], [1000, 5]]
    assert lines["observable bound"] == [[100, 200], [1000, 20]]
    assert lines["bound in advance"] == [[100, 500], [1000, 50]]
    assert lines["rate, constant 1"] == [[100, 300], [1000, 30]]
    assert lines["uniform"] == [[100, 40], [1000, 40]]
