"""Slates compiled, interpreted, and against brute force; those of the Sieve are in test_sieve."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policysieve.exploration.designs.parts import uniform_slates
from policysieve.kernels import slates
from tests.oracles import baselines as oracle
from tests.oracles.naive import all_ordered_subsets
from tests.statistics import TINY


@pytest.fixture(params=["compiled", "interpreted"])
def pick(request, monkeypatch):
    if request.param == "compiled":
        return lambda kernel: kernel
    for name in ("draw_subset", "by_alias", "_followed"):
        monkeypatch.setattr(slates, name, getattr(slates, name).py_func)
    return lambda kernel: kernel.py_func


def test_subsets_are_uniform(pick):
    kernel = pick(slates.uniform_subsets)
    n = 40_000 if kernel is slates.uniform_subsets else 8_000
    shown = np.empty((n, 2), np.int64)
    kernel(np.random.default_rng(0).random((n, 2)), 4, shown)
    outcomes = all_ordered_subsets(4, 2)
    counts = [int((shown == outcome).all(axis=1).sum()) for outcome in outcomes]
    assert sum(counts) == n
    assert stats.chisquare(counts).pvalue > TINY


@given(
    shape=st.integers(1, 30).flatmap(lambda K: st.tuples(st.just(K), st.integers(1, K))),
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_subsets_compiled_equals_interpreted(shape, seed):
    K, m = shape
    u = np.random.default_rng(seed).random((6, m))
    u[0] = 1 - 2**-53  # the largest number that random() returns
    u[1] = 0
    one, two = np.empty((6, m), np.int64), np.empty((6, m), np.int64)
    slates.uniform_subsets(u, K, one)
    slates.uniform_subsets.py_func(u, K, two)
    np.testing.assert_array_equal(one, two)
    assert all(len(set(slate)) == m and 0 <= min(slate) <= max(slate) < K for slate in one.tolist())


@pytest.mark.parametrize("K", [1, 2, 3, 10, 257, 100_003])
def test_single_items_need_no_kernel(K):
    u = np.random.default_rng(K).random((2_000, 1))
    u[0], u[1] = 1 - 2**-53, 0
    by_kernel = np.empty(u.shape, np.int32)
    slates.uniform_subsets(u, K, by_kernel)
    np.testing.assert_array_equal(uniform_slates(u, K), by_kernel, strict=True)


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_alias_tables_hold_the_distribution(pick, size):
    kernel = pick(slates.alias_table)
    p = np.random.default_rng(size).random(size) ** 4 + 1e-12
    accept, alias = np.empty(size), np.empty(size, np.int64)
    kernel(p, accept, alias)
    share = np.zeros(size)
    for k in range(size):
        share[k] += accept[k] / size
        share[alias[k]] += (1 - accept[k]) / size
    np.testing.assert_allclose(share, p / p.sum(), atol=1e-14)


def test_marginals(pick):
    rng = np.random.default_rng(0)
    K, m = 7, 2
    table = rng.random((4, 6, K)).argsort(axis=-1)[..., :m].astype(np.uint8)
    support, p = np.array([0, 2, 5]), np.array([0.5, 0.3, 0.2])
    rows = np.array([3, 0, 0])
    out = np.zeros((3, K))
    pick(slates.marginals)(table, rows, support, p, out)
    naive = [
        [sum(p[k] for k, q in enumerate(support) if j in table[x, q]) for j in range(K)]
        for x in rows
    ]
    np.testing.assert_allclose(out, naive)
    shown = np.array([[0, 1], [2, 3], [5, 6]])
    few = np.empty((3, m))
    pick(slates.shown_marginals)(table, rows, support, p, K, shown, few)
    np.testing.assert_allclose(few, np.take_along_axis(out, shown, axis=1))


def test_mixed_slates_follow_the_coin(pick):
    kernel = pick(slates.mixed_subsets)
    table = np.array([[[0], [1], [2]]], np.uint8)
    u = np.array([[0.1, 0.0, 0.99], [0.5, 0.0, 0.0], [0.5, 0.999, 0.0]])
    out = np.empty((3, 1), np.int64)
    accept, alias = np.ones(2), np.arange(2)
    kernel(u, 0.3, 9, table, np.zeros(3, np.int64), np.array([1, 2]), accept, alias, out)
    assert out[:, 0].tolist() == [8, 1, 2]


@pytest.mark.parametrize(("K", "m", "L"), [(6, 1, 0), (6, 1, 3), (7, 2, 2), (4, 4, 1), (300, 1, 4)])
def test_list_slates(pick, K, m, L):
    """Slates are sets, from the list unless the coin says otherwise; propensities as the twin."""
    rng = np.random.default_rng(K + m + L)
    n = 400
    shown = rng.random((n, L, K)).argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
    found, propensities = np.empty((n, m), np.int32), np.empty((n, m))
    u = rng.random((n, m + 1))
    u[0], u[1] = 1 - 2**-53, 0.0  # the largest and the smallest number that random() returns
    pick(slates.list_slates)(u, 0.4, K, shown, found, propensities)
    inside = 0
    for i in range(n):
        W = oracle.list_propensities(shown[i].tolist(), range(L), K, m, 0.4)
        assert len(set(found[i])) == m
        np.testing.assert_allclose(propensities[i], W[found[i]], rtol=1e-12)
        inside += u[i, 0] >= 0.4 and set(found[i]) <= set(shown[i].ravel())
    if L:
        assert inside == (u[:, 0] >= 0.4).sum()


def test_list_slates_are_uniform_within_the_list(pick):
    shown = np.tile(np.array([[[4, 1], [1, 2]]], np.uint8), (3000, 1, 1))
    found, propensities = np.empty((3000, 2), np.int32), np.empty((3000, 2))
    u = np.random.default_rng(0).random((3000, 3))
    pick(slates.list_slates)(u, 0.25, 6, shown, found, propensities)
    chance = {}
    for a in range(6):
        for b in range(6):
            if a != b:
                chance[a, b] = 0.25 / 30 + 0.75 / 6 * ({a, b} <= {1, 2, 4})
    counts = [int((found == pair).all(axis=1).sum()) for pair in chance]
    assert stats.chisquare(counts, 3000 * np.array(list(chance.values()))).pvalue > TINY
