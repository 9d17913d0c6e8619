"""Which labels are shown: probabilities that add up, and draws that keep to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.classify import exploring
from policysieve.classify.exploring import (
    best_labels,
    draw_labels,
    inclusion,
    mixing_after,
    seldom,
    unknown,
)
from tests.statistics import assert_binomial

SHAPES = st.integers(2, 12).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k)))
SEEDS = st.integers(0, 2**32 - 1)


def test_how_little_is_known_of_labels():
    shown = np.array([0.0, 40.0, 400.0, 40.0, 40.0])
    little = unknown(shown, np.array([0.0, 0.0, 0.0, 1.0, 20.0]))
    assert little[0] == 1
    assert (np.diff(little[:3]) < 0).all()  # what is shown in vain is known to be rare
    assert (np.diff(little[[1, 3, 4]]) < 0).all()
    assert (little > 0).all()


@given(st.integers(2, 200), st.floats(1e-3, 1))
def test_the_share_of_exploration_falls_to_the_smallest(n_labels, smallest):
    shares = [mixing_after(right, n_labels, smallest) for right in (0, 1, n_labels, 1e3, 1e9)]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == smallest


@given(SHAPES, SEEDS)
def test_exploration_shows_as_many_labels_as_the_list_has(shape, seed):
    k, size = shape
    little = np.random.default_rng(seed).random(k) ** 6 + 1e-9
    shares = seldom(little, size)
    assert shares.sum() == pytest.approx(size)
    assert ((shares >= exploring._EVEN * size / k) & (shares <= 1)).all()
    order = np.argsort(little)
    assert (np.diff(shares[order]) >= -1e-12).all()  # what is less known is shown more often


def test_exploration_prefers_labels_that_were_never_right():
    shares = seldom(unknown(np.full(4, 30.0), np.array([0.0, 5.0, 20.0, 0.0])), 1)
    assert shares[0] == shares[3] > 0.4
    assert shares[0] > 4 * shares[1] > 4 * shares[2] > 0


def test_what_is_too_much_for_one_label_goes_to_the_others():
    even = exploring._EVEN
    found = seldom(np.array([1.0, 0.1, 0.1]), 2)
    np.testing.assert_allclose(found, 2 * even / 3 + (1 - even) * np.array([1, 0.5, 0.5]))
    np.testing.assert_allclose(seldom(np.array([1.0, 0.9, 1e-3]), 3), np.ones(3))


@given(SHAPES, SEEDS)
def test_best_labels_come_in_order(shape, seed):
    k, size = shape
    z = np.random.default_rng(seed).normal(size=(4, k))
    expected = [sorted(range(k), key=lambda label, row=row: -row[label])[:size] for row in z]
    assert best_labels(z, size).tolist() == expected


@given(SHAPES, SEEDS, st.floats(1e-6, 1.0))
def test_inclusion_adds_up_to_the_size_of_the_list(shape, seed, mixing):
    k, size = shape
    rng = np.random.default_rng(seed)
    explore = seldom(rng.random(k) + 1e-6, size)
    z, spread = 3 * rng.normal(size=(5, k)), rng.random((5, k))
    q = inclusion(z, spread, explore, size=size, mixing=mixing, rng=rng)
    np.testing.assert_allclose(q.sum(axis=1), size)
    assert ((q >= mixing * explore * (1 - 1e-12)) & (q <= 1)).all()
    best = np.take_along_axis(q, best_labels(z, size), axis=1)
    draws = len(exploring._STRENGTHS)  # one of which is what `predict` says
    assert (best >= (1 - mixing) / draws * (1 - 1e-12)).all()


def test_a_model_that_is_sure_shows_its_best_labels():
    z = np.array([[3.0, 1.0, 2.0, 0.0]])
    explore = np.full(4, 0.5)
    rng = np.random.default_rng(0)
    q = inclusion(z, np.zeros(z.shape), explore, size=2, mixing=0.1, rng=rng)
    np.testing.assert_allclose(q, [[0.95, 0.05, 0.95, 0.05]])


@given(SHAPES, SEEDS, st.integers(0, 6))
def test_lists_hold_different_labels_with_the_given_probabilities_only(shape, seed, n):
    """Also where some probabilities are 1 and others nearly nothing."""
    k, size = shape
    rng = np.random.default_rng(seed)
    q = np.array([seldom(rng.random(k) ** 20 + 1e-9, size) for _ in range(n)]).reshape(n, k)
    q = np.where(rng.random((n, 1)) < 0.5, q, np.eye(k)[:size].sum(axis=0))
    labels = draw_labels(q, size, rng)
    assert labels.shape == (n, size)
    assert all(len(set(row)) == size for row in labels.tolist())
    assert (np.take_along_axis(q, labels.astype(int), axis=1) > 0).all()


@pytest.mark.parametrize(
    "q",
    [
        [0.2, 0.5, 0.3],
        [0.9, 0.8, 0.2, 0.1],
        [1.0, 0.3, 1.0, 0.001, 0.699],
        [1e-9, 1.0, 1 - 1e-9, 1.0],
        [0.7] * 10,
        [1.0, 1.0, 1.0],
    ],
)
def test_each_label_is_shown_as_often_as_promised(q):
    n, size = 20_000, round(sum(q))
    labels = draw_labels(np.tile(q, (n, 1)), size, np.random.default_rng(3))
    for label, probability in enumerate(q):
        assert_binomial((labels == label).sum(), n, probability)


@pytest.mark.parametrize("number", [0.0, 1e-17, np.nextafter(1.0, 0.0)])
@pytest.mark.parametrize(
    "q",
    [
        [0.1] * 10,
        [0.7] * 10,
        [0.3, 0.7, 1.0],
        [1 / 3] * 3,
        [1.0] * 3,
        [0.5, 0.5 - 1e-11],
        [0.5, 0.5 + 1e-11, 1e-13],
    ],
)
def test_rounding_neither_loses_nor_adds_a_label(number, q):
    class Edge:
        def random(self, shape):
            return np.full(shape, number)

    size = round(sum(q))
    labels = draw_labels(np.array([q]), size, Edge())
    assert labels.shape == (1, size)
    assert len(set(labels[0].tolist())) == size
