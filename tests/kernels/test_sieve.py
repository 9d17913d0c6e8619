"""The slates of the Sieve compiled, interpreted, and against a slow twin."""

from types import SimpleNamespace

import numpy as np
import pytest

from policysieve.kernels import slates
from policysieve.kernels.slates import alias_table
from tests.oracles import sieve as oracle
from tests.statistics import assert_binomial

SHAPES = [(2, 1), (9, 1), (60, 1), (9, 4), (60, 3), (5, 5)]
PARTS = ("_inclusion", "scale_needs", "systematic", "by_alias")
WHOLES = ("sieve_slates", "sieve_propensities")


@pytest.fixture(params=["compiled", "interpreted"])
def kernels(request, monkeypatch):
    found = {name: getattr(slates, name) for name in PARTS + WHOLES}
    if request.param == "interpreted":
        found = {name: kernel.py_func for name, kernel in found.items()}
        for name in PARTS:
            monkeypatch.setattr(slates, name, found[name])
    return SimpleNamespace(**found)


class Case:
    """A random table, and survivors of unlike needs and votes."""

    def __init__(self, K, m, seed, *, n_policies=12, n_survivors=8, n_contexts=6, widest=1e3):
        rng = np.random.default_rng(seed)
        keys = rng.random((n_contexts, n_policies, K))
        self.K, self.m, self.gamma = K, m, 0.4
        self.table = keys.argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
        self.survivors = np.sort(rng.choice(n_policies, n_survivors, replace=False)).astype(
            np.int32
        )
        self.need = widest ** -rng.random(n_survivors)
        self.votes = rng.dirichlet(np.ones(n_survivors))
        self.votes[rng.random(n_survivors) < 0.3] = 0.0
        self.votes /= self.votes.sum()
        self.accept, self.alias = np.empty(n_survivors), np.empty(n_survivors, np.int32)
        alias_table(self.votes, self.accept, self.alias)

    def oracle(self, x):
        """W of every item of A(x)."""
        return oracle.propensities(self.gamma, self.table[x], self.needs(), self.follow())

    def needs(self):
        return dict(zip(self.survivors.tolist(), self.need, strict=True))

    def follow(self):
        return dict(zip(self.survivors.tolist(), self.votes, strict=True))

    def inclusion(self, kernels, x):
        """The items of A(x) in the order of the kernel, and their pi."""
        seen, allowed = np.full(self.K, -1), np.empty(self.K, np.int64)
        pi, q = np.zeros(self.K), np.zeros(self.K)
        design = self.survivors, self.need, self.votes
        size = kernels._inclusion(self.table[x], *design, 0, seen, allowed, pi, q)
        return {int(item): pi[item] for item in allowed[:size]}

    def slates(self, kernels, rows, u):
        slates = np.full((len(rows), self.m), -1, np.int32)
        propensities = np.zeros(slates.shape)
        design = (self.survivors, self.need, self.votes, self.accept, self.alias)
        kernels.sieve_slates(u, self.gamma, self.K, self.table, rows, *design, slates, propensities)
        return slates, propensities

    def propensities(self, kernels, rows):
        out = np.full((len(rows), self.K), np.nan)
        design = (self.survivors, self.need, self.votes)
        kernels.sieve_propensities(self.gamma, self.table, rows, *design, out)
        return out


@pytest.mark.parametrize(("K", "m"), SHAPES)
@pytest.mark.parametrize("widest", [1.0, 3.0, 1e6])
def test_inclusion_by_need(kernels, K, m, widest):
    """min(1, c v) with one c for all items, v the largest need, and m items in the mean."""
    case = Case(K, m, seed=K + m, widest=widest)
    for x in range(6):
        pi = case.inclusion(kernels, x)
        assert sum(pi.values()) == pytest.approx(m, rel=1e-12)
        v = oracle.item_needs(case.table[x], case.needs())
        assert set(pi) == set(v)
        scales = [pi[item] / v[item] for item in pi if pi[item] < 1]
        if scales:
            assert max(scales) == pytest.approx(min(scales), rel=1e-9)
            assert all(v[item] * scales[0] >= 1 - 1e-9 for item in pi if pi[item] == 1)
        assert pi == pytest.approx(oracle.inclusion(case.table[x], case.needs()), rel=1e-9)


@pytest.mark.parametrize(
    ("slates", "need", "expected"),
    [
        ([[0], [1], [1], [2]], [2.0, 1.0, 4.0, 2.0], {0: 1 / 4, 1: 1 / 2, 2: 1 / 4}),
        ([[0, 1], [1, 2], [3, 2]], [1.0, 4.0, 8.0], {0: 2 / 21, 1: 8 / 21, 2: 16 / 21, 3: 16 / 21}),
        ([[0, 1], [0, 2], [0, 3]], [4.0, 1.0, 1.0], {0: 0.8, 1: 0.8, 2: 0.2, 3: 0.2}),
        ([[0, 1], [1, 0]], [9.0, 1.0], {0: 1.0, 1: 1.0}),
    ],
)
def test_inclusion_by_hand(kernels, slates, need, expected):
    case = Case(5, len(slates[0]), seed=0)
    case.table, case.need = np.array([slates], np.uint8), np.array(need)
    case.survivors = np.arange(len(slates), dtype=np.int32)
    case.votes = np.full(len(slates), 1 / len(slates))
    assert case.inclusion(kernels, 0) == pytest.approx(expected)


@pytest.mark.parametrize(("K", "m"), SHAPES)
def test_systematic_sampling(kernels, K, m):
    """One uniform number picks the items that a ruler with unit steps falls on."""
    case = Case(K, m, seed=K + m)
    rng = np.random.default_rng(0)
    for x in range(6):
        pi = case.inclusion(kernels, x)
        chances = np.zeros(K)
        chances[list(pi)] = list(pi.values())
        allowed, out = np.array(list(pi)), np.empty(m, np.int64)
        for u in [0.0, *rng.random(20)]:
            kernels.systematic(u, allowed, len(allowed), chances, out)
            assert out.tolist() == oracle.systematic(u, pi)
        kernels.systematic(np.nextafter(1, 0), allowed, len(allowed), chances, out)
        assert len(set(out.tolist())) == m
        assert set(out.tolist()) <= set(pi)


def test_places_that_rounding_leaves_over_go_to_the_last_items(kernels):
    pi, out = np.full(10, 0.3 * (1 - 1e-13)), np.empty(3, np.int64)
    kernels.systematic(np.nextafter(1, 0), np.arange(10), 10, pi, out)
    assert out.tolist() == [3, 6, 9]


@pytest.mark.parametrize(("K", "m"), SHAPES)
def test_slates(kernels, K, m):
    """Different items of A(x), with the propensities of the slow twin."""
    case = Case(K, m, seed=K + m)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 6, 300)
    slates, propensities = case.slates(kernels, rows, rng.random((300, 3)))
    for x, slate, chances in zip(rows, slates.tolist(), propensities, strict=True):
        w = case.oracle(x)
        assert len(set(slate)) == m
        assert set(slate) <= set(w)
        np.testing.assert_allclose(chances, [w[item] for item in slate], rtol=1e-9)


def test_the_coin_the_policy_and_the_items(kernels):
    """What each of the three numbers decides."""
    case = Case(9, 2, seed=3)
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 6, 400)
    u = rng.random((400, 3))
    slates, _ = case.slates(kernels, rows, u)
    for x, (coin, policy, items), slate in zip(rows, u, slates.tolist(), strict=True):
        if coin < case.gamma:
            assert slate == oracle.systematic(items, case.inclusion(kernels, x))
        else:
            k = int(8 * policy)
            k = k if 8 * policy - k < case.accept[k] else case.alias[k]
            assert case.votes[k] > 0
            assert slate == case.table[x, case.survivors[k]].tolist()


@pytest.mark.parametrize(("K", "m"), [(8, 1), (8, 3)])
def test_propensities_are_frequencies(K, m):
    case, n = Case(K, m, seed=5, widest=20.0), 40_000
    rng = np.random.default_rng(4)
    for x in range(2):
        shown, _ = case.slates(slates, np.full(n, x), rng.random((n, 3)))
        for item, chance in case.oracle(x).items():
            assert_binomial(int((shown == item).sum()), n, min(1.0, chance))


@pytest.mark.parametrize(("K", "m"), SHAPES)
def test_propensities_of_all_items(kernels, K, m):
    """Those that the slates report, 0 for what no survivor shows, and m items in the mean."""
    case = Case(K, m, seed=K + m, n_survivors=3)
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 6, 100)
    slates, reported = case.slates(kernels, rows, rng.random((100, 3)))
    found = np.take_along_axis(case.propensities(kernels, rows), slates.astype(int), axis=1)
    np.testing.assert_allclose(found, reported, rtol=1e-12)
    w = case.propensities(kernels, np.arange(6))
    np.testing.assert_allclose(w.sum(axis=1), m, rtol=1e-9)
    assert (w == 0).any() == (m < K)
    for x in range(6):
        expected = case.oracle(x)
        assert set(np.flatnonzero(w[x])) == set(expected)
        np.testing.assert_allclose(w[x, list(expected)], list(expected.values()), rtol=1e-9)


def test_one_survivor_is_always_shown(kernels):
    case = Case(9, 3, seed=1)
    case.survivors, case.need, case.votes = case.survivors[:1], np.array([0.01]), np.ones(1)
    case.accept, case.alias = np.ones(1), np.zeros(1, np.int32)
    slates, propensities = case.slates(kernels, np.arange(6), np.full((6, 3), 0.999))
    np.testing.assert_array_equal(np.sort(slates), np.sort(case.table[:, case.survivors[0]]))
    np.testing.assert_allclose(propensities, 1, rtol=1e-12)
    shown = np.take_along_axis(case.propensities(kernels, np.arange(6)), slates.astype(int), axis=1)
    np.testing.assert_allclose(shown, 1, rtol=1e-12)
