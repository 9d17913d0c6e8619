from dataclasses import replace

import policysieve as ps
from policysieve.report import cost_against_policies, rounds_against_epsilon, rounds_to_certify
from policysieve.report.style import look
from tests.report.bench_results import BENCHES


def plans(slate_size):
    problem = ps.Problem(n_actions=30, slate_size=slate_size, epsilon=0.1, delta=0.1)
    return [ps.plan(replace(problem, epsilon=eps), 100) for eps in (0.01, 0.03, 0.1)]


def drawn(figure):
    axes = figure.axes[0]
    return {line.get_label(): line.get_xydata().tolist() for line in axes.lines}


def test_every_method_against_epsilon():
    sizes = plans(1)
    lines = drawn(rounds_against_epsilon(sizes))
    assert set(lines) == {
        "uniform exploration",
        "low-variance exploration",
        "exploration by optimization",
        "lower bound",
    }
    expected = [[plan.problem.epsilon, plan.total_rounds] for plan in sizes]
    assert lines["low-variance exploration"] == expected


def test_axes_have_plain_numbers():
    """Also when the figure is saved inside the look, where formulas are not drawn as such."""
    figure = rounds_against_epsilon(plans(1))
    with look():
        figure.draw_without_rendering()
    axes = figure.axes[0]
    texts = [label.get_text() for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]]
    assert {"0.01", "0.1", "100k", "1M"} <= set(texts)
    assert not [text for text in texts if "$" in text]


def test_methods_that_do_not_apply_are_left_out():
    assert "exploration by optimization" not in drawn(rounds_against_epsilon(plans(3)))


def test_costs_in_microseconds():
    growth = {
        "n_policies": [10, 1000],
        "rewarded_seconds": [1e-6, 1e-4],
        "unrewarded_seconds": [1e-7, 1e-7],
        "rewarded_slope": 1.0,
        "unrewarded_slope": 0.0,
    }
    lines = drawn(cost_against_policies(growth))
    assert lines["rewarded round (slope 1.00)"] == [[10, 1], [1000, 100]]


def test_rounds_to_certify():
    """Hollow at the limit where there was no certificate."""
    figure = rounds_to_certify(BENCHES["certificates"]["power"])
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["10 actions, low-variance", "30 actions, low-variance"]
    points = [(*line.get_xydata()[0], line.get_markerfacecolor() == "none") for line in axes.lines]
    assert sorted((rounds, round(place), hollow) for rounds, place, hollow in points) == [
        (1000, 0, False),
        (3000, 1, False),
        (9000, 0, True),
        (9000, 1, True),
    ]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["betting", "empirical bernstein"]
