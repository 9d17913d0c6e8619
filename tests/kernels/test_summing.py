"""Sums over shares of survivors compiled, interpreted, and against twins, slow or in one pass."""

from types import SimpleNamespace

import numpy as np
import pytest

from policysieve.kernels import listing, slates, summing
from policysieve.kernels.slates import sieve_propensities, sieve_slates
from tests.kernels.test_sieve import SHAPES, Case
from tests.oracles import sieve as oracle

NAMES = ("sum_answers", "draw_voters", "summed_slates", "summed_propensities")
PARTS = ("by_alias", "scale_needs", "systematic")


@pytest.fixture(params=["compiled", "interpreted"])
def kernels(request, monkeypatch):
    found = {name: getattr(summing, name) for name in NAMES}
    if request.param == "interpreted":
        found = {name: kernel.py_func for name, kernel in found.items()}
        for name in PARTS:
            monkeypatch.setattr(summing, name, getattr(slates, name).py_func)
    return SimpleNamespace(**found)


def summed(kernels, case, rows, cuts=(3, 5)):
    """The survivors in three shares, one after the other."""
    n = len(rows)
    named = np.zeros((n, case.K), np.int32)
    sums = np.zeros(n, np.int64), named, *np.zeros((2, n, case.K))
    for some in np.split(np.arange(len(case.survivors)), cuts):
        mine = np.ascontiguousarray(case.table[rows][:, case.survivors[some]])
        kernels.sum_answers(mine, np.arange(len(some)), case.need[some], case.votes[some], *sums)
    return sums


@pytest.mark.parametrize(("K", "m"), SHAPES)
def test_sums_are_those_of_one_pass(kernels, K, m):
    case, rows = Case(K, m, seed=1), np.array([0, 3, 5, 3])
    sums = summed(kernels, case, rows)
    out = np.full((len(rows), K), np.nan)
    kernels.summed_propensities(case.gamma, m, *sums, out)
    design = case.survivors, case.need, case.votes
    expected = np.full(out.shape, np.nan)
    sieve_propensities(case.gamma, case.table, rows, *design, expected)
    np.testing.assert_array_equal(out, expected)
    for i, x in enumerate(rows):
        needs = oracle.item_needs(case.table[x], case.needs())
        assert sorted(sums[1][i, : sums[0][i]].tolist()) == sorted(needs)
        assert {j: sums[2][i, j] for j in needs} == needs
        truth = case.oracle(x)
        for j in range(K):
            assert out[i, j] == pytest.approx(min(truth.get(j, 0.0), 1.0), rel=1e-9)


@pytest.mark.parametrize(("K", "m"), SHAPES)
def test_decisions_are_those_of_one_pass(kernels, K, m):
    case, rng = Case(K, m, seed=2), np.random.default_rng(0)
    rows, u = rng.integers(0, 6, 60), rng.random((60, 3))
    voters = np.empty(60, np.int64)
    kernels.draw_voters(u[:, 1], case.accept, case.alias, voters)
    found = np.array(case.table[rows, case.survivors[voters]], np.int32)
    found[u[:, 0] < case.gamma] = -1
    propensities = np.zeros((60, m))
    kernels.summed_slates(u, case.gamma, *summed(kernels, case, rows), found, propensities)
    expected, theirs = np.full((60, m), -1, np.int32), np.zeros((60, m))
    design = case.survivors, case.need, case.votes, case.accept, case.alias
    sieve_slates(u, case.gamma, K, case.table, rows, *design, expected, theirs)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(propensities, theirs)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("interpreted", [False, True])
def test_lists_are_those_of_one_pass(m, interpreted, monkeypatch):
    case, rng = Case(9, m, seed=3), np.random.default_rng(0)
    rows = rng.integers(0, 6, 30)
    shown = rng.permuted(np.tile(np.arange(9, dtype=np.int32), (30, 1)), axis=1)[:, :m].copy()
    W, rewards = rng.uniform(0.1, 1, (30, 9)), rng.random((30, m))
    W[rng.random(W.shape) < 0.2] = 0.0
    edges, rates = np.array([0.1, 0.3, 0.6]), np.array([0.1, 0.2, 0.5, 0.9])
    sizes, named, _, shares = summed(summing, case, rows)
    same = W, shown, np.full((30, m), 0.3), rewards, edges, rates
    kernel = listing.list_summed
    if interpreted:
        kernel = kernel.py_func
        for name in ("_bin_of", "_expect"):
            monkeypatch.setattr(listing, name, getattr(listing, name).py_func)
    found = []
    for call, given in (
        (listing.list_items, (case.table, rows, case.survivors, case.votes)),
        (kernel, (sizes, named, shares)),
    ):
        most = int(sizes.sum())
        lists = np.empty(most, np.uint8), np.empty(most), np.empty(most, np.float32)
        out = np.empty(31, np.int64), *lists, np.empty(30), np.zeros((2, 4))
        call(*given, *same, *out)
        found.append(out)
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
