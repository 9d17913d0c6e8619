from dataclasses import replace

import policysieve as ps
from policysieve.report import rounds_against_epsilon
from policysieve.report.style import look


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
