"""Bounds on the variance of a design, before it is made."""

from math import log

import numpy as np
import pytest

import policysieve as ps
from policysieve.theory import rate_variance, variance_bound
from tests.oracles import sizes


def problem(K=64, m=1, s=4.0):
    return ps.Problem(n_actions=K, slate_size=m, sparsity=s, epsilon=0.1, delta=0.05)


@pytest.mark.parametrize(("K", "m", "s"), [(64, 1, 4.0), (10, 1, 0.5), (50, 5, 3.0), (50, 5, 20.0)])
@pytest.mark.parametrize("T", [100, 10_000])
def test_the_written_out_formula(K, m, s, T):
    gamma, theta1 = 0.4, 0.3
    rate = theta1 * gamma * m / (min(s, m) * K)
    found = variance_bound(
        problem(K, m, s), log(1000), explore_rounds=T, mixing=gamma, learning_rate=rate
    )
    expected = min(
        sizes.variance_bound(K, m, s, 1000, T, gamma, theta1, theta2, None, 0.025)
        for theta2 in np.linspace(0.05, 2, 40)
    )
    assert found == pytest.approx(expected)


def test_the_rate_by_hand():
    found = rate_variance(problem(), log(1000), explore_rounds=5000, mixing=0.5)
    assert found == pytest.approx(4 * log(5000) + 64**2 / 2500 * log(20_000))
    found = rate_variance(problem(50, 5, 3.0), log(1000), explore_rounds=5000, mixing=0.5)
    assert found == pytest.approx(3 * log(5000) + 50**2 * 3 / (0.5 * 25 * 5000) * log(20_000))


def test_falls_with_phase_one_to_a_multiple_of_the_sparsity():
    bounds = [
        variance_bound(problem(), log(1000), explore_rounds=T, mixing=0.5, learning_rate=0.001)
        for T in (100, 1000, 10_000, 10**9)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == pytest.approx(4 * 2 * log(1 + 64 / 4), rel=0.15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"explore_rounds": 0}, "explore_rounds"),
        ({"mixing": 1.0}, "mixing"),
        ({"mixing": 0.0}, "mixing"),
        ({"learning_rate": 0.01}, "learning_rate must be .* <= 0.0078125"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"log_n_policies": -1}, "log_n_policies"),
    ],
)
def test_bad_arguments(change, message):
    good = {"log_n_policies": 5, "explore_rounds": 100, "mixing": 0.5, "learning_rate": 0.001}
    with pytest.raises(ps.InvalidArgumentError, match=message):
        variance_bound(problem(), **{**good, **change})


def test_the_sparsity_has_to_be_known():
    for bound, more in ((variance_bound, {"learning_rate": 0.001}), (rate_variance, {})):
        with pytest.raises(ps.InvalidArgumentError, match="sparsity must be a number"):
            bound(problem(s=None), 5, explore_rounds=100, mixing=0.5, **more)
