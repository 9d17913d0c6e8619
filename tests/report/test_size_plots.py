from dataclasses import replace

import policysieve as ps
from policysieve.report import cost_against_policies, rounds_against_epsilon


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
