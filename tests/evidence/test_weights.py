import numpy as np
import pytest

from policysieve.evidence.weights import Mass, inverse, mean_weights
from tests.oracles import health as oracle
from tests.statistics import assert_at_most


def test_limits_equal_the_formula_round_by_round():
    rng = np.random.default_rng(0)
    for n, largest in ((1, 3.0), (40, 10.0), (60, 1.0), (3000, 25.0)):
        weights = rng.choice(
            [0.0, 0.5, largest / 2, largest], size=(3, n), p=[0.6, 0.2, 0.15, 0.05]
        )
        found = mean_weights(
            n, weights.sum(axis=1), (weights**2).sum(axis=1), largest=largest, delta=0.1
        )
        expected = [oracle.limits(row.tolist(), largest, 0.1, 3) for row in weights]
        np.testing.assert_allclose(
            np.stack([found.mean, found.lower, found.upper], axis=1), expected, rtol=1e-10
        )


def test_groups_without_rounds_say_nothing():
    found = mean_weights(
        [0, 10], np.array([0.0, 30.0]), np.array([0.0, 90.0]), largest=4, delta=0.1
    )
    assert np.isnan([found.mean[0], found.lower[0], found.upper[0]]).all()
    assert not found.wrong[0]
    assert found.worst == 1


def test_limits_hold_whatever_explores():
    """An explorer that tries to look wrong: it stops showing an action when it is ahead."""
    rng, runs, failures = np.random.default_rng(1), 400, 0
    for _ in range(runs):
        total = square = 0.0
        for t in range(200):
            propensity = 0.1 if total > t else 0.5
            weight = (rng.random() < propensity) / propensity
            total, square = total + weight, square + weight**2
        found = mean_weights([200], np.array([total]), np.array([square]), largest=10, delta=0.2)
        failures += bool(found.wrong[0])
    assert_at_most(failures, runs, 0.2)


def test_they_shrink_to_the_truth():
    found = mean_weights(
        10**7, np.array([1.1e7, 1e7]), np.array([1.1e8, 1e8]), largest=20, delta=0.05
    )
    assert found.wrong.tolist() == [True, False]
    assert found.upper[1] - found.lower[1] < 0.02


def test_mass_is_the_same_in_pieces():
    propensities = np.random.default_rng(2).uniform(0.05, 1, (50, 2))
    whole, pieces = Mass(2), Mass(2)
    mass = whole.add(propensities)
    for start in range(0, 50, 7):
        pieces.add(propensities[start : start + 7])
    np.testing.assert_allclose(mass, (1 / propensities).sum(axis=1))
    assert pieces.rounds == 50
    assert (pieces.total, pieces.square) == pytest.approx((whole.total, whole.square))
    assert pieces.smallest == propensities.min()
    weights = oracle.weights_of_rounds(propensities.tolist(), 9)
    expected = oracle.limits(weights, 2 / propensities.min() * 2 / 9, 0.1, 1)
    found = whole.mean(9, 0.1)
    assert (found.mean[0], found.lower[0], found.upper[0]) == pytest.approx(expected)
    assert whole.effective_rounds == pytest.approx(sum(weights) ** 2 / np.square(weights).sum())


def test_tiny_propensities_stay_numbers():
    assert np.isfinite(inverse([5e-324, 1e-200, 1.0])).all()
    mass = Mass(1)
    mass.add(np.array([[5e-324], [0.5]]))
    found = mass.mean(2, 0.1)
    assert np.isfinite([found.mean[0], found.lower[0], found.upper[0]]).all()
    assert mass.effective_rounds == pytest.approx(1)
