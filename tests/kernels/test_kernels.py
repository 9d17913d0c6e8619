"""Each kernel compiled, interpreted, and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policysieve.kernels.importance import add_gains
from policysieve.kernels.subsets import uniform_subsets
from tests.oracles.naive import all_ordered_subsets, importance_weighted
from tests.statistics import TINY

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])


@both
def test_subsets_are_uniform(compiled):
    kernel = uniform_subsets if compiled else uniform_subsets.py_func
    n = 40_000 if compiled else 8_000
    slates = np.empty((n, 2), np.int64)
    kernel(np.random.default_rng(0).random((n, 2)), 4, slates)
    outcomes = all_ordered_subsets(4, 2)
    counts = [int((slates == outcome).all(axis=1).sum()) for outcome in outcomes]
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
    uniform_subsets(u, K, one)
    uniform_subsets.py_func(u, K, two)
    np.testing.assert_array_equal(one, two)
    assert all(len(set(slate)) == m and 0 <= min(slate) <= max(slate) < K for slate in one.tolist())


@both
@pytest.mark.parametrize(("K", "m"), [(2, 1), (9, 1), (300, 1), (9, 4), (5, 5)])
def test_gains(compiled, K, m):
    kernel = add_gains if compiled else add_gains.py_func
    rng = np.random.default_rng(K * 10 + m)
    table = rng.random((6, 8, K)).argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
    rows = rng.integers(0, 6, 20)
    shown = rng.random((20, K)).argsort(axis=-1)[:, :m].astype(np.int32)
    rewards, propensities = rng.random((20, m)), rng.uniform(0.1, 1, (20, m))
    total, square = np.ones(8), np.ones(8)
    kernel(table, rows, shown, rewards / propensities, K, total, square)
    naive = importance_weighted(table[rows].tolist(), shown, propensities, rewards)
    np.testing.assert_allclose(total, 1 + naive.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(square, 1 + (naive**2).sum(axis=0), rtol=1e-12)
