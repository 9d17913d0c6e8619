"""Capped scores compiled, interpreted, and against an exact twin; and what they promise."""

from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.kernels import capped, capped_terms, capped_values
from tests.kernels.rounds import Rounds, fractions
from tests.oracles import capped as oracle

PARTS = (
    "capped_score",
    "rival_scores",
    "add_leader_scores",
    "single_scores",
    "set_stakes",
    "compare",
    "_add_sums",
    "_write_bets",
    "_add_terms",
)
WHOLES = ("add_terms", "add_value_factors")
MODULES = (capped, capped_terms, capped_values)
STAKES = np.array([float(stake) for stake in oracle.STAKES])


@pytest.fixture(params=["compiled", "interpreted"])
def kernels(request, monkeypatch):
    every = {name: one for module in MODULES for name, one in vars(module).items()}
    found = {name: every[name] for name in PARTS + WHOLES}
    if request.param == "interpreted":
        found = {name: kernel.py_func for name, kernel in found.items()}
        for module in MODULES:
            for name in vars(module).keys() & set(PARTS):
                monkeypatch.setattr(module, name, found[name])
    return SimpleNamespace(**found)


def kernel_score(kernels, leader, rival, w, mean, seen, sparsity, tau):
    """The score of two slates, or of two single items, worked out as the other kernels do."""
    if len(leader) == 1:
        (b,), (a,) = leader, rival
        at = [(float(w[j]), float(mean[j]), j in seen, float(seen.get(j, 0.0))) for j in (b, a)]
        if a == b:
            return 0.0
        taus, z, f = np.array([float(tau)]), np.empty(1), np.empty(1)
        kernels.rival_scores(*at[1], min(float(sparsity), 1.0), taus, z, f)
        kernels.add_leader_scores(*at[0], taus - f, z)
        return z[0]
    plus = [j for j in leader if j not in rival]
    minus = [j for j in rival if j not in leader]
    shown, reward = np.zeros(len(w), bool), np.zeros(len(w))
    for j, r in seen.items():
        shown[j], reward[j] = True, r
    return kernels.capped_score(
        np.array(plus, np.int64),
        len(plus),
        np.array(minus, np.int64),
        len(minus),
        np.asarray(w, float),
        np.asarray(mean, float),
        shown,
        reward,
        float(sparsity),
        float(tau),
    )


CASES = [
    {"m": 1},
    {"m": 1, "sparsity": 0.4},
    {"m": 2},
    {"m": 2, "sparsity": 1.0},
    {"m": 3},
    {"m": 3, "sparsity": 0.5},
    {"m": 3, "sparsity": 1.7},
]


@pytest.mark.parametrize("case", CASES)
def test_scores(kernels, case):
    """Of all pairs of slates in random rounds, for every stake."""
    rounds = Rounds(1, n=12, n_policies=4, **case)
    for i, p, q in product(range(12), range(4), range(4)):
        w, mean, seen = rounds.given(i)
        for lam in oracle.STAKES[::2]:
            tau = oracle.SLACK * rounds.m / lam
            slates = rounds.slate(i, p), rounds.slate(i, q)
            exact = oracle.score(*slates, w, mean, seen, Fraction(rounds.sparsity), tau)
            found = kernel_score(
                kernels,
                *slates,
                rounds.W[i],
                rounds.M[i],
                {j: float(r) for j, r in seen.items()},
                rounds.sparsity,
                tau,
            )
            assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
            assert found >= -float(tau) * (1 + 1e-9)
            if p == q:
                assert found == 0


def test_the_score_of_single_items_has_two_formulas():
    """The twin for slates, and the one for single actions of which each part is written out."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        w, mean = ([Fraction(int(x), 16) for x in rng.integers(low, 17, 3)] for low in (1, 0))
        seen = {int(rng.integers(3)): Fraction(int(rng.integers(5)), 4)}
        tau = oracle.SLACK / oracle.STAKES[rng.integers(9)]
        one = oracle.score([0], [1], w, mean, seen, Fraction(1), tau)
        assert one == oracle.score_of_single(0, 1, w, mean, seen, tau)


SCALES = np.repeat([0.02, 1.0, 0.3], [20, 10, 10])  # of 40 rounds


def stakes_of(rounds, fixed, shares):
    """In every round, as exact numbers."""
    return [
        [Fraction(float(x)) for x in (*fixed, *np.minimum(shares * scale, fixed[-1]))]
        for scale in SCALES[: rounds.n]
    ]


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_terms(kernels, monkeypatch, case, scored):
    """Bets by fixed stakes, and by shares of scales that change on the way; and sums of scores.

    More policies than a tile has, more rounds than are worked out at once.
    """
    if kernels.add_terms is not capped_terms.add_terms:  # compiled kernels know them as constants
        for name, value in {"_TILE": 3, "_ROUNDS": 7, "_TERMS": 1}.items():
            monkeypatch.setattr(capped_terms, name, value)
    rounds, epsilons, weight = Rounds(2, **case), np.array([0.0, 0.1, 0.7]), 0.8
    columns = np.resize(rounds.columns, 300 if kernels.add_terms is capped_terms.add_terms else 5)
    fixed, shares = STAKES[[0, 3, 8]] / rounds.m, np.array([0.1, 0.9]) / rounds.m
    totals = np.full((len(columns), 22 if scored else 15), 0.5)
    kernels.add_terms(
        **{
            **rounds.arguments(),
            "columns": columns,
            "scales": SCALES,
            "leader": rounds.leader,
            "sparsity": rounds.sparsity,
            "fixed": fixed,
            "shares": shares,
            "epsilons": epsilons,
            "weight": weight,
            "lists": rounds.room,
            "totals": totals,
        }
    )
    stakes = stakes_of(rounds, fixed, shares)
    for s, p in enumerate(rounds.columns):
        assert (totals[columns == p] == totals[s]).all()
        for g in range(5):
            z = [
                oracle.score(
                    rounds.slate(i, rounds.leader),
                    rounds.slate(i, p),
                    *rounds.given(i),
                    Fraction(rounds.sparsity),
                    oracle.SLACK / stakes[i][g],
                )
                for i in range(rounds.n)
            ]
            for e, epsilon in enumerate(epsilons):
                exact = oracle.Wealth()
                for lams, x in zip(stakes, z, strict=True):
                    exact = exact.times(1 + lams[g] * (x + Fraction(float(epsilon))))
                assert totals[s, 5 * e + g] == pytest.approx(0.5 + exact.log, rel=1e-9, abs=1e-9)
        if scored:
            np.testing.assert_allclose(totals[s, 15:], sums_of(rounds, p, weight), rtol=1e-9)


def sums_of(rounds, p, weight):
    """Half, and the seven sums; an item that cannot be shown counts nothing."""
    expected = [0.5] * 7
    for i in range(rounds.n):
        (w, mean, seen), slate = rounds.given(i), rounds.slate(i, p)
        scores = (
            weight * float(oracle.robust(slate, w, mean, seen)),
            float(oracle.earned(slate, w, seen)),
            float(oracle.missed(slate, w, seen)),
        )
        for k, x in enumerate(scores):
            expected[2 * k] += x
            expected[2 * k + 1] += x * x
        expected[6] += weight**2 * float(oracle.cost(slate, w)) / rounds.m
    return expected


@pytest.mark.parametrize("m", [1, 2])
def test_a_million_actions_give_the_same_terms(m):
    """Some rounds at once would take too much room, so it is one."""
    rounds, K = Rounds(6, m=m), 1_000_000
    spread = np.sort(np.random.default_rng(0).choice(K, rounds.K, replace=False))
    bets = {
        "scales": SCALES,
        "leader": rounds.leader,
        "sparsity": rounds.sparsity,
        "fixed": STAKES[[0, 8]] / m,
        "shares": np.array([0.3]) / m,
        "epsilons": np.array([0.1]),
        "weight": 1.0,
        "lists": rounds.room,
    }
    few, many = np.zeros((len(rounds.columns), 10)), np.zeros((len(rounds.columns), 10))
    capped_terms.add_terms(**rounds.arguments(**bets, totals=few))
    given_here = rounds.arguments(**bets, totals=many)
    for name in ("table", "shown", "items"):
        given_here[name] = spread[given_here[name]].astype(np.int32)
    capped_terms.add_terms(**{**given_here, "K": K})
    np.testing.assert_allclose(many, few, rtol=1e-12)


@pytest.mark.parametrize("kind", ["below", "above", "against"])
@pytest.mark.parametrize("case", CASES)
def test_factors_of_values(kernels, case, kind):
    """Of products that get out of hand on the way, with propensities of 1e-16."""
    rounds = Rounds(4, **case)
    fixed, cap = STAKES[[1, 5, 8]] / rounds.m, min(rounds.sparsity, rounds.m)
    shares = np.array([0.3] if kind == "against" else []) / rounds.m
    grid = np.random.default_rng(0).uniform(0, cap, (len(rounds.columns), 3))
    grid[:, 0], grid[:, 2] = 0, cap
    stakes = stakes_of(rounds, fixed, shares)
    wealth = np.full((len(grid), len(stakes[0]), 3), 0.5)
    kernels.add_value_factors(
        **rounds.arguments(
            scales=SCALES,
            leader=rounds.leader,
            sparsity=rounds.sparsity,
            cap=cap,
            fixed=fixed,
            shares=shares,
            kind=getattr(capped_values, kind.upper()),
            grid=grid,
            lists=rounds.room,
            log_wealth=wealth,
        )
    )
    for (s, p), g in product(enumerate(rounds.columns), range(len(stakes[0]))):
        z = []
        for i in range(rounds.n):
            own = rounds.slate(i, p)
            leader = {"below": own, "above": (), "against": rounds.slate(i, rounds.leader)}[kind]
            rival = () if kind == "below" else own
            tau = oracle.SLACK / stakes[i][g] - (Fraction(cap) if kind == "below" else 0)
            given_here = *rounds.given(i), Fraction(rounds.sparsity)
            z.append(oracle.score(leader, rival, *given_here, tau))
        for v in range(3):
            at = Fraction(float(grid[s, v])) * (-1 if kind == "below" else 1)
            exact = oracle.Wealth()
            for lams, x in zip(stakes, z, strict=True):
                exact = exact.times(1 + lams[g] * (x + at))
            assert wealth[s, g, v] == pytest.approx(0.5 + exact.log, rel=1e-9, abs=1e-9)


# --- what scores promise, by enumeration of everything that can happen -------------------------


class Enumerated:
    """A distribution over slates, all means and rewards of a small world, as exact fractions."""

    def __init__(self, K, m, sparsity, *, missing):
        rng = np.random.default_rng([K, m, missing])
        self.K, self.m, self.sparsity = K, m, Fraction(sparsity)
        self.slates = list(combinations(range(K), m))
        can = [slate for slate in self.slates if not (missing and 0 in slate)]
        weights = rng.integers(1, 9, len(can)) * np.where(rng.random(len(can)) < 0.3, 20, 1)
        total = int(weights.sum())
        self.chances = {s: Fraction(int(k), total) for s, k in zip(can, weights, strict=True)}
        self.w = [sum(c for s, c in self.chances.items() if j in s) for j in range(K)]
        assert (min(self.w) == 0) == missing
        self.means = [
            [Fraction(0)] * K,
            [Fraction(1)] * K,
            [Fraction(int(x), 8) for x in rng.integers(0, 9, K)],
        ]
        whole = [r for r in product((0, 1), repeat=K) if sum(r) <= self.sparsity]
        whole = [whole[k] for k in rng.permutation(len(whole))[:6]]
        parts = [rng.multinomial(8, np.ones(K) / K) for _ in range(3)]
        self.rewards = [[Fraction(x) for x in r] for r in whole] + [
            [min(Fraction(int(x), 8) * self.sparsity, Fraction(1)) for x in part] for part in parts
        ]
        one = rng.integers(K)
        self.rewards.append([min(self.sparsity, Fraction(1)) * (j == one) for j in range(K)])
        pairs = [(b, a) for b in self.slates for a in self.slates if a != b]
        self.pairs = [pairs[k] for k in rng.permutation(len(pairs))[:6]]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("K", "m", "sparsity"),
    [(3, 1, "1"), (3, 1, "1/2"), (4, 2, "1"), (4, 2, "2"), (5, 3, "3/2"), (5, 3, "3")],
)
def test_scores_are_unbiased_and_never_lose_more_than_they_may(K, m, sparsity, missing):
    """In the mean exactly the difference of rewards; less where an item cannot be shown."""
    world = Enumerated(K, m, sparsity, missing=missing)
    w, less = world.w, False
    for (b, a), mean, lam in product(world.pairs, world.means, oracle.STAKES[::4]):
        tau = oracle.SLACK * m / lam
        for rewards in world.rewards:
            expected, found = Fraction(0), 0.0
            for slate, chance in world.chances.items():
                seen = {j: rewards[j] for j in slate}
                z = oracle.score(b, a, w, mean, seen, world.sparsity, tau)
                assert z >= -tau
                expected += chance * z
                floats = {j: float(r) for j, r in seen.items()}
                kernel = kernel_score(capped, b, a, w, mean, floats, world.sparsity, tau)
                assert kernel >= -float(tau) * (1 + 1e-12)
                found += float(chance) * kernel
            true = sum(rewards[j] for j in b) - sum(rewards[j] for j in a)
            covered = all(w[j] > 0 for j in set(a) ^ set(b))
            assert expected == true if covered else expected <= true
            assert found == pytest.approx(float(expected), abs=1e-10)
            less |= expected < true
    assert less == missing


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("K", "m", "sparsity"), [(3, 1, "1/2"), (4, 2, "1"), (5, 3, "2")])
def test_scores_of_values_are_unbiased_and_never_lose_more_than_they_may(K, m, sparsity, missing):
    """From below h is at most the value in the mean, from above at least, also where W = 0."""
    world = Enumerated(K, m, sparsity, missing=missing)
    w, cap = world.w, min(world.sparsity, m)
    for slate, mean, lam in product(world.slates[::2], world.means, oracle.STAKES[::4]):
        tau = oracle.SLACK * m / lam
        for rewards in world.rewards:
            below = above = Fraction(0)
            for shown, chance in world.chances.items():
                given = w, mean, {j: rewards[j] for j in shown}, world.sparsity
                h = oracle.score(slate, (), *given, tau - cap)
                assert h - cap >= -tau
                below += chance * h
                z = oracle.score((), slate, *given, tau)
                assert z >= -tau
                above -= chance * z
            true = sum(rewards[j] for j in slate)
            assert below <= true <= above
            if all(w[j] > 0 for j in slate):
                assert below == true == above


numbers = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))
chances = st.one_of(st.sampled_from([0.0, 1e-16, 1e-300, 1.0]), st.floats(1e-9, 1))


@given(st.data())
def test_no_stake_can_lose_it_all(data):
    """Whatever the propensities, means and rewards are, in floats; also of slates that overlap."""
    m = data.draw(st.integers(1, 3), label="m")
    K = 2 * m
    w = data.draw(st.lists(chances, min_size=K, max_size=K), label="w")
    mean = data.draw(st.lists(numbers, min_size=K, max_size=K), label="mean")
    sparsity = data.draw(st.sampled_from([0.3, 1.0, 1.5, float(m)]), label="sparsity")
    leader, rival = (data.draw(st.permutations(range(K)), label="slate")[:m] for _ in range(2))
    shown = [j for j in data.draw(st.permutations(range(K)), label="shown") if w[j] > 0][:m]
    rewards = data.draw(st.lists(numbers, min_size=m, max_size=m), label="rewards")
    scale = max(1.0, sum(rewards) / sparsity)
    seen = {j: r / scale for j, r in zip(shown, rewards, strict=False)}
    lam = data.draw(st.sampled_from(STAKES.tolist()), label="lam") / m
    z = kernel_score(capped, leader, rival, w, mean, seen, sparsity, 0.99 / lam)
    assert 1 + lam * z >= 0.01 - 1e-9
    exact = oracle.score(
        leader,
        rival,
        fractions(w),
        fractions(mean),
        {j: Fraction(r) for j, r in seen.items()},
        Fraction(sparsity),
        Fraction(0.99 / lam),
    )
    assert z == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
