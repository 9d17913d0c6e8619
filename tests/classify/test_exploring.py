"""Which labels are shown: probabilities that add up, and draws that keep to them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.classify import exploring
from policysieve.classify.exploring import LabelCounts, best_labels, draw_labels, inclusion, shares
from policysieve.classify.likelihoods import EXCLUSIVE, INDEPENDENT
from tests.statistics import assert_binomial

SHAPES = st.integers(2, 12).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k)))
SEEDS = st.integers(0, 2**32 - 1)


def counts_of(shown, right, propensity=0.5):
    """Counts after labels were shown and right so many times."""
    counts = LabelCounts(len(shown))
    for label, (n, hits) in enumerate(zip(shown, right, strict=True)):
        answers = (np.arange(n) < hits).astype(float)[:, None]
        labels = np.full((n, 1), label)
        counts = counts.with_answers(labels, answers, np.full((n, 1), propensity))
    return counts


@given(SHAPES, SEEDS)
def test_shares_add_up_and_follow_the_weights(shape, seed):
    k, size = shape
    weights = np.random.default_rng(seed).random((3, k)) ** 6 + 1e-9
    found = shares(weights, size)
    np.testing.assert_allclose(found.sum(axis=1), size)
    assert ((found > 0) & (found <= 1)).all()
    for row, heavy in zip(found, np.argsort(weights, axis=1), strict=True):
        assert (np.diff(row[heavy]) >= -1e-12).all()
    below = found < 1
    ratios = np.where(below, found / weights, np.nan)
    assert (
        np.nanmax(ratios, axis=1, initial=0)
        <= np.nanmin(ratios, axis=1, initial=np.inf) * (1 + 1e-9)
    ).all()


def test_what_is_too_much_for_one_label_goes_to_the_others():
    np.testing.assert_allclose(shares(np.array([[1.0, 0.1, 0.1]]), 2), [[1, 0.5, 0.5]])
    np.testing.assert_allclose(shares(np.array([[1.0, 0.9, 1e-3]]), 3), np.ones((1, 3)))


@given(SHAPES, SEEDS)
def test_best_labels_come_in_order(shape, seed):
    k, size = shape
    z = np.random.default_rng(seed).normal(size=(4, k))
    expected = [sorted(range(k), key=lambda label, row=row: -row[label])[:size] for row in z]
    assert best_labels(z, size).tolist() == expected


@given(SHAPES, SEEDS, st.floats(1e-6, 1.0), st.integers(0, 200))
def test_inclusion_adds_up_to_the_size_of_the_list(shape, seed, smallest, n_hits):
    k, size = shape
    rng = np.random.default_rng(seed)
    hits = rng.integers(n_hits + 1, size=k)
    counts = counts_of(hits + rng.integers(50, size=k), hits)
    z, spread = 3 * rng.normal(size=(5, k)), rng.random((5, k))
    likelihood = EXCLUSIVE if size == 1 else INDEPENDENT
    q = inclusion(z.copy(), spread, counts, likelihood, size=size, smallest=smallest, rng=rng)
    np.testing.assert_allclose(q.sum(axis=1), size)
    floor = max(smallest, counts.mixing) * exploring._EVEN * size / k
    assert ((q >= floor * (1 - 1e-12)) & (q <= 1)).all()


def sure(counts, z, **given):
    """What a model without doubts shows."""
    rng = np.random.default_rng(0)
    return inclusion(z, np.zeros(z.shape), counts, EXCLUSIVE, rng=rng, **given)


def test_a_model_that_is_sure_shows_its_best_label():
    counts = counts_of([10_000] * 3, [9_000] * 3)  # and nothing is left to be found
    q = sure(counts, np.array([[30.0, 0.0, 0.0], [0.0, 0.0, 30.0]]), size=1, smallest=0.09)
    even = 0.09 * exploring._EVEN / 3  # of each label, whatever is known
    np.testing.assert_allclose(
        q, [[1 - 2 * even, even, even], [even, even, 1 - 2 * even]], rtol=0.01
    )


def test_labels_that_were_never_right_are_looked_for_where_they_may_be_right():
    """Label 2 was never right; the second row may well be its, the first one not."""
    counts = counts_of([2_000, 2_000, 2], [1_800, 1_800, 0])
    z = np.array([[9.0, 0.0, 0.0], [1.0, 1.0, 0.9]])
    q = sure(counts, z, size=1, smallest=0.1)
    assert q[1, 2] > 0.4 > 0.15 > q[0, 2] > 0.5 * 0.1
    early = sure(counts_of([40, 40, 2], [4, 4, 0]), z, size=1, smallest=0.1)
    late = sure(counts_of([4_000, 4_000, 2], [400, 400, 0]), z, size=1, smallest=0.1)
    assert late[1, 2] - late[0, 2] > early[1, 2] - early[0, 2]  # first get to know the others


@given(SHAPES, SEEDS, st.integers(0, 6))
def test_lists_hold_different_labels_with_the_given_probabilities_only(shape, seed, n):
    """Also where some probabilities are 1 and others nearly nothing."""
    k, size = shape
    rng = np.random.default_rng(seed)
    q = shares(rng.random((n, k)) ** 20 + 1e-9, size)
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


@given(SEEDS, st.integers(0, 12), st.integers(2, 5))
def test_pairs_of_right_answers_are_counted_by_weight(seed, n, k):
    """The share of pairs that agree is that over all pairs, one by one."""
    rng = np.random.default_rng(seed)
    labels, answers = rng.integers(k, size=(n, 1)), rng.integers(2, size=(n, 1)).astype(float)
    propensities = rng.uniform(0.05, 1, size=(n, 1))
    counts = LabelCounts(k).with_answers(labels, answers, propensities)
    right = [
        (a, 1 / q)
        for a, r, q in zip(*(x.ravel() for x in (labels, answers, propensities)), strict=True)
        if r
    ]
    every = sum(v * w for (_, v), (_, w) in combinations(right, 2))
    same = sum(v * w for (a, v), (b, w) in combinations(right, 2) if a == b)
    pairs, agreeing = counts.pairs()
    if len(right) < 2:
        assert (pairs, agreeing) == (0, 0)
        return
    assert agreeing / pairs == pytest.approx(same / every, abs=1e-9)
    assert 0 < pairs <= len(right) * (len(right) - 1) / 2 * (1 + 1e-9)


@given(SEEDS, st.integers(0, 10))
def test_answers_may_come_in_any_parts(seed, cut):
    rng = np.random.default_rng(seed)
    block = rng.integers(4, size=(10, 2)), rng.random((10, 2)), rng.uniform(0.1, 1, size=(10, 2))
    before = LabelCounts(4)
    whole = before.with_answers(*block)
    parts = before.with_answers(*(x[:cut] for x in block)).with_answers(*(x[cut:] for x in block))
    np.testing.assert_allclose(parts.unknown, whole.unknown)
    assert parts.mixing == pytest.approx(whole.mixing)
    assert before.mixing == 1  # counts are not changed, but made anew
    assert not before.shown.any()


def test_how_little_is_known_of_labels():
    little = counts_of([0, 40, 400, 40, 40], [0, 0, 0, 1, 20]).unknown
    assert little[0] == 1
    assert (np.diff(little[:3]) < 0).all()  # what is shown in vain is known to be rare
    assert (np.diff(little[[1, 3, 4]]) < 0).all()
    assert (little > 0).all()


def test_where_few_labels_matter_exploration_ends_early_and_shows_them_again():
    k = 40
    even = counts_of([80] * k, [2] * k)
    uneven = counts_of([80] * k, [80, *[0] * (k - 1)])
    assert even.right.sum() == uneven.right.sum()
    assert even.mixing == pytest.approx(0.5)  # 2 right answers for each of K labels
    assert uneven.mixing < 0.1
    one_right = [
        counts_of([80] * k, hits) for hits in ([1, *[3] * (k - 1)], [1, 80, *[0] * (k - 2)])
    ]
    assert one_right[0].unknown[0] < one_right[1].unknown[0]


@given(st.lists(st.integers(0, 30), min_size=2, max_size=30))
def test_exploration_falls_and_search_rises_as_right_answers_come(hits):
    few = counts_of([30] * len(hits), hits)
    many = counts_of([300] * len(hits), [10 * h for h in hits])
    assert 0 < many.mixing <= few.mixing <= 1
    assert 0 <= few.search <= many.search < 1


def test_labelled_rows_need_no_exploration():
    """As `fit` enters them: every label known, none shown by chance."""
    y = np.arange(10_000)[:, None] % 4
    counts = LabelCounts(4).with_answers(y, np.ones(y.shape), np.ones(y.shape))
    assert counts.mixing < 0.01
    assert (counts.unknown < 0.01).all()
