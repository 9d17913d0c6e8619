"""Lists of items compiled, interpreted, and against a slow twin."""

from types import SimpleNamespace

import numpy as np
import pytest

from policysieve.kernels import listing
from tests.kernels.rounds import Rounds
from tests.oracles import capped as oracle


@pytest.fixture(params=["compiled", "interpreted"])
def kernels(request, monkeypatch):
    found = {
        name: getattr(listing, name) for name in ("_bin_of", "_expect", "list_items", "list_summed")
    }
    if request.param == "interpreted":
        found = {name: kernel.py_func for name, kernel in found.items()}
        for name in ("_bin_of", "_expect"):
            monkeypatch.setattr(listing, name, found[name])
    return SimpleNamespace(**found)


@pytest.mark.parametrize("m", [1, 3])
def test_lists_of_items(kernels, m):
    """All that voters show, once, with its propensity and the reward that its votes let expect."""
    rounds, rng = Rounds(5, m=m), np.random.default_rng(0)
    n, voters = rounds.n, rounds.columns
    votes = rng.dirichlet(np.ones(len(voters)))
    votes[0] = 0.0  # what this one alone shows has no votes
    edges = np.array(oracle.EDGES)
    rates = np.sort(rng.random(len(edges) + 1))
    shown_w = np.maximum(np.take_along_axis(rounds.W, rounds.shown.astype(int), axis=1), 0.01)
    most = n * min(rounds.K, m * len(voters))
    offsets, items = np.full(n + 1, -1), np.full(most, -1, np.int32)
    w, mean = np.full(most, np.nan), np.full(most, np.nan, np.float32)
    tally, costs = np.full((2, len(rates)), 0.5), np.full(n, np.nan)
    kernels.list_items(
        table=rounds.table,
        rows=rounds.rows,
        columns=voters,
        votes=votes,
        propensities=rounds.W,
        shown=rounds.shown,
        shown_w=shown_w,
        rewards=rounds.rewards,
        edges=edges,
        rates=rates,
        offsets=offsets,
        items=items,
        w=w,
        mean=mean,
        costs=costs,
        tally=tally,
    )
    expected, without = np.full(tally.shape, 0.5), 0
    for i in range(n):
        slates = rounds.table[rounds.rows[i]].tolist()
        listed = {j for p in voters for j in slates[p]}
        part = slice(offsets[i], offsets[i + 1])
        assert sorted(items[part].tolist()) == sorted(listed)
        shares = {
            j: oracle.share_of(j, slates, dict(zip(voters, votes, strict=True))) for j in listed
        }
        for j, chance, reward in zip(items[part].tolist(), w[part], mean[part], strict=True):
            assert chance == rounds.W[i, j]
            bin = oracle.bin_of(shares[j])
            assert reward == (np.float32(rates[bin]) if shares[j] else 0)
            without += not shares[j]
        assert costs[i] == pytest.approx(
            sum(shares[j] / rounds.W[i, j] for j in listed if rounds.W[i, j] > 0), rel=1e-12
        )
        for j, r, chance in zip(rounds.shown[i], rounds.rewards[i], shown_w[i], strict=True):
            if j in listed:
                expected[:, oracle.bin_of(shares[j])] += r / chance, 1 / chance
    assert offsets[0] == 0
    assert without
    np.testing.assert_allclose(tally, expected, rtol=1e-12)


def test_a_share_on_an_edge_belongs_to_the_bin_below(kernels):
    edges = np.array(oracle.EDGES)
    for k, edge in enumerate(oracle.EDGES):
        assert oracle.bin_of(edge) == k == kernels._bin_of(edge, edges)
    assert kernels._bin_of(1.0, edges) == oracle.bin_of(1.0) == len(edges)
