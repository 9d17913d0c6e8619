"""What counts of showings and right answers say about exploration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.classify.counts import LabelCounts
from tests.classify.test_exploring import counts_of

SEEDS = st.integers(0, 2**32 - 1)


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
