"""The decision-estimation coefficient: limits, bounds, and a grid search for two actions."""

import sys

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError, MissingExtraError
from policysieve.report.theory_plots import dec_figure
from policysieve.theory import closed_form_bound, dec, dec_bound
from policysieve.theory.conic import conic_reference
from policysieve.theory.solvers import closed_form
from tests.oracles.by_optimization import dec_of_two_actions


@pytest.mark.parametrize(
    ("means", "G", "s"),
    [
        ([0.5, 0.5], 4, 1.0),
        ([0.3, 0.5], 3, 1.0),
        ([0.2, 0.2], 10, 0.7),
        ([0.0, 0.1], 1, 0.7),
        ([0.6, 0.5], 8, 1.5),
        ([0.0, 1.0], 0.2, 2.0),
    ],
)
def test_two_actions_by_grid(means, G, s):
    """The grid misses some models, so it is a little low."""
    value = dec(means, G, s).value
    grid = dec_of_two_actions(means, G, s)
    assert value * 0.99 - 1e-9 <= grid <= value * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize(("K", "s"), [(2, 1.0), (3, 0.4), (10, 1.0), (10, 4.0), (10, 0.25)])
def test_limit_at_the_uniform_reference(K, s):
    """value G / s tends to 2 (1 - 1/K)(1 - s/K)."""
    limit = 2 * (1 - 1 / K) * (1 - s / K)
    off = []
    for G in (32 * K, 1e3 * K, 1e4 * K):
        solution = dec(np.full(K, s / K), G, s)
        off.append(abs(solution.value * G / s / limit - 1))
        np.testing.assert_allclose(solution.q, 1 / K, atol=1e-3)
        np.testing.assert_allclose(solution.p, 1 / K, atol=1e-3)
    assert off[0] < 0.06
    assert off[1] < 0.003
    assert off[2] < 0.0005


def test_between_zero_and_the_papers_bound():
    """At many references; the largest seen is far below 64 s / G."""
    rng = np.random.default_rng(1)
    largest = 0.0
    for trial in range(40):
        K = int(rng.integers(2, 9))
        s = float(rng.choice([0.3, 1.0, K / 2]))
        means = rng.dirichlet(np.full(K, rng.choice([0.3, 1, 50]))) * s * rng.choice([0, 0.5, 1])
        if trial % 4 == 0:
            means = np.where(np.arange(K) < rng.integers(1, K + 1), s / K, 0.0)
        means = np.minimum(means, 1.0)
        G = K * float(rng.choice([32, 100, 1e4]))
        solution = dec(means, G, s)
        assert 0 <= solution.value <= dec_bound(G, s, K)
        assert solution.p.sum() == pytest.approx(1)
        assert solution.q.sum() == pytest.approx(1)
        assert solution.value >= means.max() - solution.p @ means - 1e-9
        largest = max(largest, solution.value * G / s)
    assert 0.5 < largest < 2.1


def test_falls_with_the_price_and_grows_with_sparsity():
    means = [0.2, 0.25, 0.1, 0.2]
    values = [dec(means, G, 1).value for G in (0.5, 2, 8, 32, 128)]
    assert values == sorted(values, reverse=True)
    values = [dec(means, 4, s).value for s in (0.75, 1, 2, 4)]
    assert np.all(np.diff(values) >= -1e-8)


def test_the_papers_bound():
    assert dec_bound(320, 1, 10) == pytest.approx(0.2)
    assert dec_bound(3200, 2.5, 10) == pytest.approx(0.05)
    with pytest.raises(InvalidArgumentError, match="at least 32 \\* n_actions = 320"):
        dec_bound(319, 1, 10)


def test_exploration_costs_no_more_than_the_coefficient_at_an_eighth():
    """The paper's lemma, for the optimum and, here, for the closed form as well."""
    for K, G in ((4, 8 * 4.0), (4, 8 * 128.0), (6, 8 * 12.0)):
        bound = dec(np.full(K, 1 / K), G / 8, 1).value
        uniform = np.full(K, 1 / K)
        assert conic_reference(uniform, G, 1).value <= closed_form(uniform, G, 1).value <= bound


def test_uniform_weights_are_the_hardest_for_the_closed_form():
    rng = np.random.default_rng(2)
    for K in (2, 5, 30):
        for G in (K, 1.5 * K, 40 * K):
            bound = closed_form_bound(G, 1.5, K)
            uniform = closed_form(np.full(K, 1 / K), G, 1.5)
            assert bound == pytest.approx(uniform.value, rel=1e-12)
            assert bound <= 1.5 / (G - K + 2)
            for _ in range(20):
                w = rng.dirichlet(np.full(K, rng.choice([0.1, 1, 10])))
                w = np.where(rng.random(K) < 0.8, w, 0.0) + (np.arange(K) == 0) * 1e-3
                assert closed_form(w / w.sum(), G, 1.5).value <= bound * (1 + 1e-12)


def test_the_figure_draws_them():
    figure = dec_figure()
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    curves = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) > 2]
    by_height = sorted(curves, key=lambda curve: -curve[-1, 1])
    paper, true, closed = by_height
    np.testing.assert_allclose(paper[:, 1], 64 / paper[:, 0])
    assert paper[0, 0] == 320
    assert true[-1, 1] == pytest.approx(1.62 / true[-1, 0], rel=0.01)
    np.testing.assert_allclose(closed[:, 1], [closed_form_bound(G, 1, 10) for G in closed[:, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 1.5], 4, 2), "reference_means must lie in"),
        (([0.5, np.nan], 4, 2), "reference_means must lie in"),
        (([0.9, 0.9], 4, 1), "reference_means must sum to at most the sparsity 1, got 1.8"),
        (([[0.5]], 4, 1), "reference_means must have shape"),
        (([], 4, 1), "reference_means must have shape"),
        (("x", 4, 1), "reference_means must be an array"),
        (([0.5, 0.5], 0, 1), "gamma"),
        (([0.5, 0.5], 4, 3), "sparsity"),
    ],
)
def test_bad_references(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        dec(*arguments)


@pytest.mark.parametrize("function", [dec_bound, closed_form_bound])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 1, 10), "gamma"),
        ((5, 1, 10), "gamma must be at least"),
        ((400, 0, 10), "sparsity"),
        ((400, 11, 10), "sparsity"),
        ((400, 1, 0), "n_actions"),
        ((400, 1, 2.5), "n_actions"),
    ],
)
def test_bad_bounds(function, arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(*arguments)


def test_without_clarabel(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtraError, match=r"dec needs clarabel.*\[exact\]"):
        dec([0.5, 0.5], 4, 1)
