"""Importance-weighted sums compiled, interpreted, and against brute force."""

import numpy as np
import pytest

from policysieve.kernels import importance
from policysieve.kernels.hits import find_hits
from tests.oracles.naive import importance_weighted

SHAPES = [(2, 1), (9, 1), (300, 1), (9, 4), (300, 3), (5, 5)]


@pytest.fixture(params=["compiled", "interpreted"])
def pick(request, monkeypatch):
    if request.param == "compiled":
        return lambda kernel: kernel
    monkeypatch.setattr(importance, "find_hits", find_hits.py_func)
    return lambda kernel: kernel.py_func


@pytest.fixture
def kernel(pick):
    return pick(importance.add_differences)


def events(K, m, n, n_policies, reward_share, seed):
    rng = np.random.default_rng(seed)
    table = rng.random((6, n_policies, K)).argsort(axis=-1)[..., :m]
    table = table.astype(np.min_scalar_type(K - 1))
    rows = rng.integers(0, 6, n)
    # Half of what is shown follows a policy, so that hits are not rare when K is large.
    shown = rng.random((n, K)).argsort(axis=-1)[:, :m]
    copied = table[rows, rng.integers(0, n_policies, n)]
    shown = np.where(rng.random((n, 1)) < 0.5, copied, shown).astype(np.int32)
    rewards = np.where(rng.random((n, m)) < reward_share, rng.random((n, m)), 0.0)
    return table, rows, shown, rng.uniform(0.1, 1, (n, m)), rewards


@pytest.mark.parametrize(("K", "m"), SHAPES)
@pytest.mark.parametrize("reward_share", [0.3, 1.0])
def test_differences(kernel, K, m, reward_share):
    table, rows, shown, propensities, rewards = events(K, m, 40, 11, reward_share, seed=K + m)
    naive = importance_weighted(table[rows].tolist(), shown, propensities, rewards)
    for leader in (0, 10):
        z = naive[:, [leader]] - naive
        assert z.any() == (m < K)
        total, square = np.ones(11), np.ones(11)
        with np.errstate(over="ignore"):
            kernel(table, rows, shown, rewards / propensities, K, leader, total, square)
        np.testing.assert_allclose(total, 1 + z.sum(axis=0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(square, 1 + (z**2).sum(axis=0), rtol=1e-12, atol=1e-12)


def test_no_events(kernel):
    total, square = np.zeros(2), np.zeros(2)
    none = np.empty((0, 1))
    table = np.zeros((1, 2, 1), np.uint8)
    kernel(table, np.empty(0, np.intp), none.astype(np.int32), none, 3, 1, total, square)
    assert not total.any()
    assert not square.any()


def test_the_same_policy_twice_never_differs(kernel):
    table, rows, shown, propensities, rewards = events(9, 2, 200, 5, 0.5, seed=0)
    table[:, 3] = table[:, 1, ::-1]
    total, square = np.zeros(5), np.zeros(5)
    with np.errstate(over="ignore"):
        kernel(table, rows, shown, rewards / propensities, 9, 1, total, square)
    np.testing.assert_allclose(total[[1, 3]], 0, atol=1e-10)
    np.testing.assert_allclose(square[[1, 3]], 0, atol=1e-9)
    assert (square[[0, 2, 4]] > 1).all()


@pytest.mark.parametrize(("K", "m"), [(2, 1), (9, 1), (300, 1), (9, 4), (5, 5)])
def test_gains(pick, K, m):
    rng = np.random.default_rng(K * 10 + m)
    table = rng.random((6, 8, K)).argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
    rows = rng.integers(0, 6, 20)
    shown = rng.random((20, K)).argsort(axis=-1)[:, :m].astype(np.int32)
    rewards, propensities = rng.random((20, m)), rng.uniform(0.1, 1, (20, m))
    total, square = np.ones(8), np.ones(8)
    with np.errstate(over="ignore"):
        pick(importance.add_gains)(table, rows, shown, rewards / propensities, K, total, square)
    naive = importance_weighted(table[rows].tolist(), shown, propensities, rewards)
    np.testing.assert_allclose(total, 1 + naive.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(square, 1 + (naive**2).sum(axis=0), rtol=1e-12)


def test_gains_by_cell(pick):
    """Events at the same context with the same action are summed before the class is asked."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (4, 9, 1)).astype(np.uint8)
    rows, actions = rng.integers(0, 4, 60), rng.integers(0, 5, 60).astype(np.int32)
    gains = rng.uniform(0.1, 3, 60)
    sums, used = np.zeros((20, 2)), np.empty(20, np.int64)
    with np.errstate(over="ignore"):
        n = pick(importance.sum_by_cell)(rows, actions, gains, 5, sums, used)
        assert sorted(used[:n]) == sorted(set((rows * 5 + actions).tolist()))
        total, square = np.zeros(9), np.zeros(9)
        cells = used[:n]
        pick(importance.add_cells)(table, cells // 5, cells % 5, sums[cells], total, square)
    naive = importance_weighted(
        table[rows].tolist(), actions[:, None], np.ones((60, 1)), gains[:, None]
    )
    np.testing.assert_allclose(total, naive.sum(axis=0))
    np.testing.assert_allclose(square, (naive**2).sum(axis=0))
