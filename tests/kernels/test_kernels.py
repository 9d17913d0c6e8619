"""Each kernel compiled, interpreted, and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policysieve.kernels import hedge
from policysieve.kernels.hits import find_hits
from policysieve.kernels.importance import add_cells, add_gains, sum_by_cell
from policysieve.kernels.subsets import (
    alias_table,
    marginals,
    mixed_subsets,
    shown_marginals,
    uniform_subsets,
)
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


@both
def test_gains_by_cell(compiled):
    """Events at the same context with the same action are summed before the class is asked."""
    pick = (lambda kernel: kernel) if compiled else (lambda kernel: kernel.py_func)
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (4, 9, 1)).astype(np.uint8)
    rows, actions = rng.integers(0, 4, 60), rng.integers(0, 5, 60).astype(np.int32)
    gains = rng.uniform(0.1, 3, 60)
    sums, used = np.zeros((20, 2)), np.empty(20, np.int64)
    with np.errstate(over="ignore"):
        n = pick(sum_by_cell)(rows, actions, gains, 5, sums, used)
        assert sorted(used[:n]) == sorted(set((rows * 5 + actions).tolist()))
        total, square = np.zeros(9), np.zeros(9)
        cells = used[:n]
        pick(add_cells)(table, cells // 5, cells % 5, sums[cells], total, square)
    naive = importance_weighted(
        table[rows].tolist(), actions[:, None], np.ones((60, 1)), gains[:, None]
    )
    np.testing.assert_allclose(total, naive.sum(axis=0))
    np.testing.assert_allclose(square, (naive**2).sum(axis=0))


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("m", [1, 3])
def test_hits(compiled, dtype, m):
    """Any alignment, any length, any place of the item, in every dtype."""
    kernel = find_hits if compiled else find_hits.py_func
    rng = np.random.default_rng(m)
    store = rng.integers(0, 7, 400).astype(dtype)
    for offset in range(9):
        for n_policies in (0, 1, 2, 7, 8, 9, 30):
            row = store[offset : offset + n_policies * m]
            row = (
                np.array([rng.permutation(7)[:m] for _ in range(n_policies)], dtype=dtype).reshape(
                    -1
                )
                if m > 1
                else row
            )
            hits = np.full(4 + n_policies, -1, np.int32)
            with np.errstate(over="ignore"):
                n = kernel(row, np.int32(3), m, 100, hits, 2)
            slates = row.reshape(n_policies, m)
            expected = [100 + p for p in range(n_policies) if 3 in slates[p]]
            assert hits[2:n].tolist() == expected
            assert hits[:2].tolist() == [-1, -1]


@both
def test_hits_of_extreme_items(compiled):
    kernel = find_hits if compiled else find_hits.py_func
    for dtype, items in ((np.uint8, (0, 127, 128, 255)), (np.uint16, (0, 32767, 32768, 65535))):
        row = np.array([*items, 1, *items, 129, *items, 0, 1, 2], dtype=dtype)
        for item in items:
            hits = np.empty(len(row), np.int32)
            with np.errstate(over="ignore"):
                n = kernel(row, np.int32(item), 1, 0, hits, 0)
            assert hits[:n].tolist() == np.flatnonzero(row == item).tolist()


@both
@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_alias_tables_hold_the_distribution(compiled, size):
    kernel = alias_table if compiled else alias_table.py_func
    p = np.random.default_rng(size).random(size) ** 4 + 1e-12
    accept, alias = np.empty(size), np.empty(size, np.int64)
    kernel(p, accept, alias)
    share = np.zeros(size)
    for k in range(size):
        share[k] += accept[k] / size
        share[alias[k]] += (1 - accept[k]) / size
    np.testing.assert_allclose(share, p / p.sum(), atol=1e-14)


@both
def test_marginals(compiled):
    pick = (lambda kernel: kernel) if compiled else (lambda kernel: kernel.py_func)
    rng = np.random.default_rng(0)
    K, m = 7, 2
    table = rng.random((4, 6, K)).argsort(axis=-1)[..., :m].astype(np.uint8)
    support, p = np.array([0, 2, 5]), np.array([0.5, 0.3, 0.2])
    rows = np.array([3, 0, 0])
    out = np.zeros((3, K))
    pick(marginals)(table, rows, support, p, out)
    naive = [
        [sum(p[k] for k, q in enumerate(support) if j in table[x, q]) for j in range(K)]
        for x in rows
    ]
    np.testing.assert_allclose(out, naive)
    shown = np.array([[0, 1], [2, 3], [5, 6]])
    few = np.empty((3, m))
    pick(shown_marginals)(table, rows, support, p, K, shown, few)
    np.testing.assert_allclose(few, np.take_along_axis(out, shown, axis=1))


@both
def test_mixed_slates_follow_the_coin(compiled):
    kernel = mixed_subsets if compiled else mixed_subsets.py_func
    table = np.array([[[0], [1], [2]]], np.uint8)
    u = np.array([[0.1, 0.0, 0.99], [0.5, 0.0, 0.0], [0.5, 0.999, 0.0]])
    out = np.empty((3, 1), np.int64)
    accept, alias = np.ones(2), np.arange(2)
    kernel(u, 0.3, 9, table, np.zeros(3, np.int64), np.array([1, 2]), accept, alias, out)
    assert out[:, 0].tolist() == [8, 1, 2]


def test_hedge_compiled_equals_interpreted(monkeypatch):
    rng = np.random.default_rng(4)
    table = rng.random((3, 20, 6)).argsort(axis=-1)[..., :2].astype(np.uint8)
    n = 40
    arguments = (
        table,
        rng.integers(0, 3, n),
        np.sort(rng.choice(500, n, replace=False)),
        rng.random((n, 6)).argsort(axis=-1)[:, :2].astype(np.int32),
        np.where(rng.random((n, 2)) < 0.7, rng.random((n, 2)), 0.0),
        0.1,
        0.5 / 500,
        0.3,
    )
    states = []
    for interpreted in (False, True):
        if interpreted:
            for name in ("_gather", "_scatter", "settle", "_hedge_events"):
                monkeypatch.setattr(hedge, name, getattr(hedge, name).py_func)
            monkeypatch.setattr(hedge, "find_hits", find_hits.py_func)
        state, clock = np.zeros((20, 4)), np.array([20.0, 0.0, 0.0])
        state[:, hedge.WEIGHT] = 1
        with np.errstate(over="ignore"):
            hedge.hedge_events(*arguments, state, clock)
            hedge.settle(state, clock, 500.0)
        states.append(state)
    np.testing.assert_allclose(states[0], states[1], rtol=1e-12)
