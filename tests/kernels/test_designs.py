"""Kernels of designs compiled, interpreted, and the log barrier against brute force."""

import numpy as np
import pytest

from policysieve.kernels import designs
from policysieve.kernels.hits import find_hits


@pytest.fixture(params=["compiled", "interpreted"])
def pick(request, monkeypatch):
    if request.param == "compiled":
        return lambda kernel: kernel
    monkeypatch.setattr(designs, "find_hits", find_hits.py_func)
    return lambda kernel: kernel.py_func


@pytest.mark.parametrize(("K", "m"), [(3, 1), (9, 1), (300, 1), (9, 4), (5, 5)])
def test_barrier(pick, K, m):
    rng = np.random.default_rng(K + m)
    table = rng.random((6, 17, K)).argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
    rows = rng.integers(0, 6, 20)
    items = rng.integers(0, K, 20)
    items[:15] = table[rows[:15], rng.integers(0, 17, 15), 0]  # so that hits are not rare
    with np.errstate(over="ignore"):
        starts, hits = pick(designs.hit_lists)(table, rows, items)
    shows = np.array(
        [[j in slate for slate in table[x].tolist()] for x, j in zip(rows, items, strict=True)]
    )
    for c in range(20):
        assert hits[starts[c] : starts[c + 1]].tolist() == np.flatnonzero(shows[c]).tolist()
    gains, p = rng.random(20), rng.dirichlet(np.ones(17))
    gradient = np.full(17, np.nan)
    pick(designs.barrier_gradient)(starts, hits, gains, 0.02, 0.7, p, gradient)
    for q in range(17):
        naive = sum(gains[c] / (0.02 + 0.7 * p[shows[c]].sum()) for c in range(20) if shows[c, q])
        assert gradient[q] == pytest.approx(naive, rel=1e-12)
    nothing = np.empty(0, np.int64)
    with np.errstate(over="ignore"):
        starts, hits = pick(designs.hit_lists)(table, nothing, nothing)
    pick(designs.barrier_gradient)(starts, hits, np.empty(0), 0.02, 0.7, p, gradient)
    assert (gradient == 0).all()


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
            for name in ("_gather", "_scatter", "settle", "hedge_events"):
                monkeypatch.setattr(designs, name, getattr(designs, name).py_func)
            monkeypatch.setattr(designs, "find_hits", find_hits.py_func)
        state, clock = np.zeros((20, 4)), np.array([20.0, 0.0, 0.0])
        state[:, designs.WEIGHT] = 1
        with np.errstate(over="ignore"):
            designs.hedge_events(*arguments, state, clock)
            designs.settle(state, clock, 500.0)
        states.append(state)
    np.testing.assert_allclose(states[0], states[1], rtol=1e-12)
