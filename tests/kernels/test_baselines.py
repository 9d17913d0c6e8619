"""Kernels of the baselines compiled, interpreted, and against brute force."""

import numpy as np
import pytest
from scipy import stats

from policysieve.kernels import lists, log_barrier
from policysieve.kernels.hits import find_hits
from policysieve.kernels.subsets import draw_subset
from tests.oracles import baselines as oracle
from tests.statistics import TINY


@pytest.fixture(params=["compiled", "interpreted"])
def pick(request, monkeypatch):
    if request.param == "compiled":
        return lambda kernel: kernel
    monkeypatch.setattr(log_barrier, "find_hits", find_hits.py_func)
    monkeypatch.setattr(lists, "draw_subset", draw_subset.py_func)
    return lambda kernel: kernel.py_func


def slates(rng, n, n_policies, K, m):
    table = rng.random((n, n_policies, K)).argsort(axis=-1)[..., :m]
    return table.astype(np.min_scalar_type(K - 1))


@pytest.mark.parametrize(("K", "m"), [(3, 1), (9, 1), (300, 1), (9, 4), (5, 5)])
def test_barrier(pick, K, m):
    rng = np.random.default_rng(K + m)
    table = slates(rng, 6, 17, K, m)
    rows = rng.integers(0, 6, 20)
    items = rng.integers(0, K, 20)
    items[:15] = table[rows[:15], rng.integers(0, 17, 15), 0]  # so that hits are not rare
    with np.errstate(over="ignore"):
        starts, hits = pick(log_barrier.hit_lists)(table, rows, items)
    shows = np.array(
        [[j in slate for slate in table[x].tolist()] for x, j in zip(rows, items, strict=True)]
    )
    for c in range(20):
        assert hits[starts[c] : starts[c + 1]].tolist() == np.flatnonzero(shows[c]).tolist()
    gains, p = rng.random(20), rng.dirichlet(np.ones(17))
    gradient = np.full(17, np.nan)
    pick(log_barrier.barrier_gradient)(starts, hits, gains, 0.02, 0.7, p, gradient)
    for q in range(17):
        naive = sum(gains[c] / (0.02 + 0.7 * p[shows[c]].sum()) for c in range(20) if shows[c, q])
        assert gradient[q] == pytest.approx(naive, rel=1e-12)
    nothing = np.empty(0, np.int64)
    with np.errstate(over="ignore"):
        starts, hits = pick(log_barrier.hit_lists)(table, nothing, nothing)
    pick(log_barrier.barrier_gradient)(starts, hits, np.empty(0), 0.02, 0.7, p, gradient)
    assert (gradient == 0).all()


@pytest.mark.parametrize(("K", "m", "L"), [(6, 1, 0), (6, 1, 3), (7, 2, 2), (4, 4, 1), (300, 1, 4)])
def test_list_slates(pick, K, m, L):
    """Slates are sets, from the list unless the coin says otherwise; propensities as the twin."""
    rng = np.random.default_rng(K + m + L)
    n = 400
    shown = slates(rng, n, L, K, m)
    found, propensities = np.empty((n, m), np.int32), np.empty((n, m))
    u = rng.random((n, m + 1))
    u[0], u[1] = 1 - 2**-53, 0.0  # the largest and the smallest number that random() returns
    pick(lists.list_slates)(u, 0.4, K, shown, found, propensities)
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
    pick(lists.list_slates)(u, 0.25, 6, shown, found, propensities)
    chance = {}
    for a in range(6):
        for b in range(6):
            if a != b:
                chance[a, b] = 0.25 / 30 + 0.75 / 6 * ({a, b} <= {1, 2, 4})
    counts = [int((found == pair).all(axis=1).sum()) for pair in chance]
    assert stats.chisquare(counts, 3000 * np.array(list(chance.values()))).pvalue > TINY
