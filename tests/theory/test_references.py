"""The coefficient over all references: two bounds, and what lies between them."""

from itertools import product

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.theory import dec, dec_bound, dec_supremum
from tests.oracles import by_optimization as oracle

CASES = [(2, 1.0), (2, 0.3), (3, 1.0), (3, 3.0), (5, 2.0), (6, 0.25)]


def references(K, s, rng, count):
    """Means of all kinds that sum to at most s."""
    for trial in range(count):
        means = rng.dirichlet(np.full(K, rng.choice([0.3, 1, 50]))) * s * rng.random() ** 0.5
        if trial % 3 == 0:
            means = np.where(np.arange(K) < rng.integers(1, K + 1), s / K, 0.0)
        yield np.minimum(means, 1.0)


@pytest.mark.parametrize(("K", "s"), CASES)
def test_every_coefficient_is_below_the_upper_bound(K, s):
    rng = np.random.default_rng(K)
    for ratio in (0.3, 2.2, 32.0):
        found = dec_supremum(ratio * K, s, K)
        assert 0 < found.lower <= found.upper
        for means in references(K, s, rng, 4):
            assert dec(means, ratio * K, s).value <= found.upper * (1 + 1e-6)


@pytest.mark.parametrize(("K", "s"), CASES)
def test_the_lower_bound_is_the_coefficient_at_its_reference(K, s):
    """Never above it, and nothing is lost: equal references have an equal prior at worst."""
    for ratio in (0.1, 1.0, 2.2, 32.0, 1000.0):
        found = dec_supremum(ratio * K, s, K)
        assert found.reference.sum() <= s + 1e-9
        assert found.lower == pytest.approx(dec(found.reference, ratio * K, s).value, rel=2e-5)


@pytest.mark.parametrize(("G", "s"), [(0.6, 1.0), (5.0, 1.0), (9.0, 0.6)])
def test_two_actions_by_brute_force(G, s):
    """The largest over a grid of references, by grids over p, q and the models."""
    found = dec_supremum(G, s, 2)
    levels = np.linspace(0, 1, 5) * s / 2
    grid = [
        oracle.dec_of_two_actions(means, G, s, points=21)
        for means in product(levels, levels)
        if means[0] <= means[1]
    ]
    assert 0.9 * found.lower <= max(grid) <= found.upper
    assert max(grid) <= found.lower * (1 + 1e-6)


@pytest.mark.parametrize(("K", "G", "s"), [(2, 1.0, 1.0), (4, 6.0, 1.0), (3, 2.0, 2.5)])
def test_the_lower_bound_by_a_grid_of_priors(K, G, s):
    found = dec_supremum(G, s, K).lower
    assert 0.97 * found <= oracle.dec_at_equal_references(K, G, s) <= found * (1 + 1e-9)


def test_one_play_proves_the_upper_bound():
    rng = np.random.default_rng(5)
    for _ in range(25):
        K = int(rng.integers(2, 7))
        s = float(rng.uniform(0.2, K))
        G = K * float(rng.choice([2.05, 3, 10, 300]))
        (means,) = references(K, s, rng, 1) if rng.random() < 0.3 else [rng.random(K) * s / K]
        p, q, promised = oracle.play_for_any_reference(means, G)
        worst = oracle.unlimited_worst_case(p, q, means, G)
        assert q.sum() == pytest.approx(1)
        assert worst <= promised + 1e-9
        spread = s * (1 - s / K) if s < K / 2 else K / 4
        assert promised <= 2 * (1 - 1 / K) * spread / (G - 2 * K) * (1 + 1e-9)


def test_the_bounds_meet():
    for K, s in ((2, 0.5), (10, 1.0), (10, 9.0), (200, 3.0)):
        gaps = []
        for ratio in (8, 32, 1000):
            found = dec_supremum(ratio * K, s, K)
            gaps.append(found.upper / found.lower - 1)
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[1] < 0.07
        assert gaps[2] < 0.0025


def test_far_below_the_papers_bound():
    for K, s in ((2, 1.0), (10, 1.0), (100, 7.0)):
        for ratio in (32, 1000):
            assert dec_supremum(ratio * K, s, K).upper < dec_bound(ratio * K, s, K) / 29


def test_one_action_has_nothing_to_decide():
    found = dec_supremum(5, 1, 1)
    assert (found.lower, found.upper) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 10), "gamma"),
        ((5, 0, 10), "sparsity"),
        ((5, 11, 10), "sparsity"),
        ((5, 1, 0), "n_actions"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        dec_supremum(*arguments)
