"""Slates of what is available compiled, interpreted, and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policysieve.kernels import available, slates
from tests.oracles import available as oracle
from tests.statistics import TINY


@pytest.fixture(params=["compiled", "interpreted"])
def pick(request, monkeypatch):
    if request.param == "compiled":
        return lambda kernel: kernel
    for name in ("list_available", "draw_subset"):
        monkeypatch.setattr(available, name, getattr(available, name).py_func)
    return lambda kernel: kernel.py_func


def masks(rng, n, K, m):
    mask = rng.random((n, K)) < rng.random((n, 1))
    for row in mask:
        row[rng.choice(K, m, replace=False)] = True
    return mask


sizes = st.integers(1, 12).flatmap(
    lambda K: st.tuples(st.just(K), st.integers(1, K), st.integers(0, 10_000))
)


def test_subsets_are_uniform_among_what_is_available(pick):
    kernel = pick(available.available_subsets)
    n = 30_000 if kernel is available.available_subsets else 6_000
    shown = np.empty((n, 2), np.int64)
    mask = np.tile([False, True, True, False, True], (n, 1))
    kernel(np.random.default_rng(0).random((n, 2)), mask, shown)
    outcomes = [(a, b) for a in (1, 2, 4) for b in (1, 2, 4) if a != b]
    counts = [int((shown == outcome).all(axis=1).sum()) for outcome in outcomes]
    assert sum(counts) == n
    assert stats.chisquare(counts).pvalue > TINY


@given(size=sizes)
@settings(deadline=None)
def test_subsets_are_those_without_limits_where_all_is_available(size):
    K, m, seed = size
    u = np.random.default_rng(seed).random((5, m))
    u[0], u[1] = 1 - 2**-53, 0
    one, two, three = (np.empty((5, m), np.int64) for _ in range(3))
    slates.uniform_subsets(u, K, one)
    available.available_subsets(u, np.ones((5, K), bool), two)
    available.available_subsets.py_func(u, np.ones((5, K), bool), three)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_the_best_available_are_shown(pick, m):
    rng, n, P, K = np.random.default_rng(m), 30, 6, 7
    mask = masks(rng, n, K, m)
    scores = rng.integers(0, 4, (n, P, K)).astype(float)  # many ties
    scores[::3, :, 2] = -np.inf
    out = np.empty((n, P, m), np.uint8)
    pick(available.top_available)(scores, mask, out)
    for i in range(n):
        allowed = set(np.flatnonzero(mask[i]).tolist())
        for p in range(P):
            assert out[i, p].tolist() == oracle.ranked(scores[i, p], allowed, m)


def test_scores_that_are_no_numbers_never_bring_in_what_is_not_available(pick):
    mask, out = np.array([[False, True, True, True]]), np.empty((1, 1, 2), np.uint8)
    pick(available.top_available)(np.array([[[9.0, np.nan, 1.0, np.nan]]]), mask, out)
    assert out[0, 0].tolist() == [2, 1]


@pytest.mark.parametrize("m", [1, 2, 4])
def test_what_is_not_available_is_replaced_in_order(pick, m):
    rng, n, P, K = np.random.default_rng(m), 40, 6, 7
    mask = masks(rng, n, K, m)
    table = rng.random((n, P, K)).argsort(axis=-1)[..., :m].astype(np.uint8)
    order, said = rng.permutation(K), table.copy()
    assert pick(available.mend_slates)(table, mask, order) == -1
    changed = 0
    for i in range(n):
        allowed = set(np.flatnonzero(mask[i]).tolist())
        for p in range(P):
            assert table[i, p].tolist() == oracle.mended(said[i, p].tolist(), allowed, order)
            changed += table[i, p].tolist() != said[i, p].tolist()
    assert changed > n


def test_an_order_that_ends_is_told(pick):
    mask = np.array([[True, True, False], [False, True, True]])
    table = np.array([[[1], [0]], [[1], [0]]], np.uint8)
    kernel = pick(available.mend_slates)
    assert kernel(table.copy(), mask, np.empty(0, np.int64)) == 3
    assert kernel(table.copy(), mask, np.array([0])) == 3
    assert kernel(table, mask, np.array([0, 2])) == -1
    assert table[:, :, 0].tolist() == [[1, 0], [1, 2]]
