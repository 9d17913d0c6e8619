"""Formulas that expect more closely than a rate, against an integral and a simulation."""

from math import log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import policysieve as ps
from policysieve.bench.scaling.closer import rounds_of_contest

PROBLEM = ps.Problem(n_actions=10, epsilon=0.1, delta=0.05)


def advantage(n):
    """Of the best policy, in standard errors."""
    return (rounds_of_contest(PROBLEM, log(n)) * PROBLEM.epsilon**2) ** 0.5


@pytest.mark.parametrize("n", [2, 10, 3000])
def test_the_chance_to_come_first(n):
    d = advantage(n)
    chance, _ = quad(lambda u: norm.pdf(u) * norm.cdf(u + d) ** (n - 1), -9, 9)
    assert chance == pytest.approx(0.95, abs=1e-6)


def test_two_policies():
    """The difference of two errors has variance 2."""
    assert advantage(2) == pytest.approx(np.sqrt(2) * norm.ppf(0.95))


def test_a_simulation():
    n, runs = 40, 20_000
    rng = np.random.default_rng(0)
    others = rng.standard_normal((runs, n - 1)).max(axis=1)
    share = (rng.standard_normal(runs) + advantage(n) > others).mean()
    assert share == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / runs) ** 0.5)
