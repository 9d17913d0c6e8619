"""The classical bounds: equal to their twins, and true as often as they promise."""

from itertools import combinations
from math import log
from typing import get_args

import numpy as np
import pytest
from scipy import stats
from scipy.special import zeta

import policysieve as ps
from policysieve.evidence import classical
from policysieve.evidence.floored import FloorMethod
from policysieve.evidence.record import Record
from tests.evidence.records import plus
from tests.oracles import classical as oracle
from tests.oracles.naive import importance_weighted
from tests.statistics import TINY, assert_at_most

METHODS = [method for method in get_args(FloorMethod) if method != "betting"]
EVER = [method for method in METHODS if method != "fixed"]  # which hold at all times
N_POLICIES, K, N = 5, 6, 1200
CUTS = [0, 150, 700, N]  # the blocks of a case; milestones lie inside them


class Case:
    """Three blocks with different floors."""

    def __init__(self, m):
        rng = np.random.default_rng(m)
        keys = rng.random((7, N_POLICIES, K))
        self.policies = ps.PolicyTable(keys.argsort(axis=-1)[..., :m], n_actions=K)
        self.problem = ps.Problem(n_actions=K, slate_size=m, sparsity=None, epsilon=0.1, delta=0.1)
        self.floors = [0.2, 0.25, 0.3]
        block = np.searchsorted(CUTS, np.arange(N), side="right") - 1
        floor = np.array(self.floors)[block][:, None]
        self.log = ps.Log(
            contexts=rng.integers(0, 7, N),
            actions=rng.random((N, K)).argsort(axis=1)[:, :m],
            propensities=floor + (1 - floor) * rng.random((N, m)) ** 2,
            rewards=np.where(rng.random((N, m)) < 0.2, rng.random((N, m)), 0.0),
        )
        self.r = importance_weighted(
            self.policies.actions(self.log.contexts).tolist(),
            self.log.actions,
            self.log.propensities,
            self.log.rewards,
        ).T
        self.ranges = np.tile(m / floor[:, 0], (N_POLICIES, 1))  # of each policy in each round

    def record(self, n):
        record = Record(self.policies, self.problem)
        for b in range(3):
            piece = self.log[CUTS[b] : min(CUTS[b + 1], n)]
            if n > CUTS[b]:
                record = plus(record, piece, floor=self.floors[b])
        return record

    def expected(self, method, leader, delta, n):
        z, ranges = self.r[[leader]] - self.r, self.ranges
        cap, widths = self.problem.reward_cap, ranges + ranges[[leader]]
        if method == "fixed":
            bound = oracle.maurer_pontil(z[:, :n], widths[:, :n].max(axis=1), delta)
        elif method == "checkpoints":
            bound = oracle.checkpoints(z[:, :n], widths[:, :n], delta)[:, -1]
        elif method == "stitched":
            bound = oracle.stitched(z[:, :n], ranges[:, :n], delta)[:, -1]
        else:
            bound = oracle.empirical_bernstein(z[:, :n], ranges[:, :n], cap, delta)[:, -1]
        bound = np.maximum(bound, -cap)
        bound[leader] = 0
        return bound


@pytest.fixture(scope="module", params=[1, 2])
def case(request):
    return Case(request.param)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 63, 64, 65, 149, 150, 151, 800, N])
def test_equal_to_the_naive_twin(case, method, n):
    for leader, delta in ((0, 0.3), (4, 0.9)):
        bounds = getattr(classical, method)(case.record(n), leader, delta)
        expected = case.expected(method, leader, delta, n)
        np.testing.assert_allclose(bounds, expected, rtol=1e-9, atol=1e-9)


def test_the_twins_say_something(case):
    """Not all of what was compared is the trivial limit."""
    cap = case.problem.reward_cap
    for method in METHODS:
        bounds = case.expected(method, 0, 0.9, N)
        assert (bounds[1:] > -cap).any()


@pytest.mark.parametrize("method", [*METHODS, "value_intervals"])
@pytest.mark.parametrize(
    "cuts", [[64], [63, 65], [10, 10, 80, 100, 999], list(range(1, 130))], ids=str
)
def test_blocks_do_not_matter(case, method, cuts):
    """The same rounds with the same floor, in other pieces; one of them is empty."""
    one, many = Record(case.policies, case.problem), Record(case.policies, case.problem)
    one = plus(one, case.log, floor=0.2)
    for start, end in zip([0, *cuts], [*cuts, N], strict=True):
        many = plus(many, case.log[start:end], floor=0.2)
    if method == "value_intervals":
        left, right = (classical.value_intervals(record, 0.5) for record in (one, many))
        np.testing.assert_allclose(left.lower, right.lower, rtol=1e-9)
        np.testing.assert_allclose(left.upper, right.upper, rtol=1e-9)
    else:
        left, right = (getattr(classical, method)(record, 1, 0.9) for record in (one, many))
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def test_value_intervals_equal_their_twin(case):
    for n in (1, 64, 200, N):
        intervals = classical.value_intervals(case.record(n), 0.5)
        ranges, cap = case.ranges[:, :n], case.problem.reward_cap
        expected = oracle.value_limits(case.r[:, :n], ranges, cap, 0.5)
        for got, want in zip(
            (intervals.values, intervals.lower, intervals.upper), expected, strict=True
        ):
            np.testing.assert_allclose(got, want[:, -1], rtol=1e-9, atol=1e-12)
    assert (intervals.lower > 0).any()
    assert (intervals.upper < cap).any()


def test_before_the_first_round(case):
    record, cap = Record(case.policies, case.problem), case.problem.reward_cap
    for method in METHODS:
        bounds = getattr(classical, method)(record, 2, 0.1)
        assert bounds.tolist() == [-cap, -cap, 0, -cap, -cap]
    intervals = classical.value_intervals(record, 0.1)
    assert np.isnan(intervals.values).all()
    assert (intervals.lower.tolist(), intervals.upper.tolist()) == ([0] * 5, [cap] * 5)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_arguments(case, method):
    bounds, record = getattr(classical, method), case.record(100)
    with pytest.raises(ps.InvalidArgumentError, match=r"leader must be .* in \[0, 4\], got 5"):
        bounds(record, 5, 0.1)
    with pytest.raises(ps.InvalidArgumentError, match=r"delta_each must be .* got 1"):
        bounds(record, 0, 1.0)
    with pytest.raises(ps.InvalidArgumentError, match=r"delta must be .* got 0"):
        classical.value_intervals(record, 0)


def test_milestones():
    assert classical.milestones(63) == []
    assert classical.milestones(64) == [64]
    assert classical.milestones(160) == [64, 80, 100, 125, 156]
    assert classical.milestones(10**6) == oracle.milestones(10**6)


# What the theorems rest on


def psi_e(lam):
    return -np.log1p(-lam) - lam


def test_supermartingales_by_enumeration():
    """One round of a tiny problem, over every context and slate, at every bet and prediction."""
    m, actions = 2, 3
    slates = list(combinations(range(actions), m))
    chances = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])  # of each slate in each context
    rewards = np.array([[0.2, 0.9, 0.0], [1.0, 0.1, 0.6]])
    policies = ps.PolicyTable([slates, slates[::-1]], n_actions=actions)
    shows = np.array([[j in slate for j in range(actions)] for slate in slates])
    propensities = chances @ shows
    largest = m / propensities.min()
    chance, outcome = [], []
    for x in range(2):
        for k, slate in enumerate(slates):
            own = policies.actions([x]).tolist()
            w, r = propensities[x, list(slate)], rewards[x, list(slate)]
            chance.append(chances[x, k] / 2)
            outcome.append(importance_weighted(own, [slate], [w], [r])[0])
    chance, outcome = np.array(chance), np.array(outcome)
    slots = policies.actions([0, 1])
    values = np.take_along_axis(rewards[:, None], slots.astype(int), axis=2).sum(axis=2).mean(0)
    np.testing.assert_allclose(chance @ outcome, values, rtol=1e-12)
    lam = np.linspace(0, 0.99, 34)[:, None]
    for leader in range(3):
        for other in range(3):
            z = outcome[:, leader] - outcome[:, other]
            gap = values[leader] - values[other]
            y = z / largest
            mean = np.exp(lam * y - psi_e(lam) * y**2) @ chance
            assert (mean <= 1 + lam[:, 0] * gap / largest + 1e-12).all()
            for mu in np.linspace(-m, m, 9):
                c = largest + max(mu, 0)
                step = lam * (z - gap) / c - psi_e(lam) * ((z - mu) / c) ** 2
                assert (np.exp(step) @ chance <= 1 + 1e-12).all()
        y = outcome[:, leader] / largest
        mean = np.exp(3 * lam * (y - chance @ y) - (3 * lam * y) ** 2 / 2) @ chance
        assert (mean <= 1 + 1e-12).all()


def test_psi():
    """exp(lam y - psi_E(lam) y^2) <= 1 + lam y for y >= -1, and psi_E is at most sub-gamma."""
    lam, y = np.meshgrid(np.linspace(0, 0.999, 300), np.linspace(-1, 20, 400))
    assert (lam * y - psi_e(lam) * y**2 <= np.log1p(lam * y) + 1e-12).all()
    assert (psi_e(lam) <= lam**2 / (2 * (1 - lam)) + 1e-12).all()


def test_boundary_is_the_authors():
    """Their library's own test has 64.48755 for v = 100, alpha = 0.05, m = 10, c = 3."""
    assert classical.stitched_boundary(100.0, 0.05, scale=3, start=10) == pytest.approx(
        64.48755, abs=1e-5
    )
    assert oracle.boundary(100.0, 0.05, 3, 10) == pytest.approx(64.48755, abs=1e-5)


@pytest.mark.parametrize(("c", "start"), [(0.0, 0.01), (1.0, 10.0)])
def test_boundary_lies_above_lines_that_share_delta(c, start):
    """In epoch k the line of the bet lam_k, which is crossed with probability delta/h(k)."""
    delta = 0.07
    for k in range(30):
        h = (k + 1) ** 1.4 * zeta(1.4)
        target = log(h / delta) / (start * 2 ** (k + 0.5))
        lam = -c * target + np.sqrt((c * target) ** 2 + 2 * target)
        psi = lam**2 / (2 * (1 - c * lam))
        assert psi == pytest.approx(target)
        v = start * np.geomspace(2**k, 2 ** (k + 1), 50)
        if k == 0:
            v = np.append(v, np.linspace(0, start, 20))
        line = (log(h / delta) + psi * v) / lam
        boundary = classical.stitched_boundary(v, delta, scale=c, start=start)
        assert (boundary >= line * (1 - 1e-12)).all()
        assert (boundary <= 2.5 * line).all()
    assert sum(1 / ((k + 1) ** 1.4 * zeta(1.4)) for k in range(10_000)) < 1


# How often they fail, ever, in worlds where two policies are equally good. Policy 0 shows action 0
# and policy 1 shows action 1, in all contexts.


class Null:
    """Independent runs: what was shown, with which propensity, and what it earned."""

    def __init__(self, n_actions, propensity, chance, n_runs, n_rounds, seed):
        rng = np.random.default_rng(seed)
        shape = (n_runs, n_rounds)
        self.n_actions = n_actions
        self.actions = np.empty(shape, dtype=int)
        self.propensities = np.empty(shape)
        self.rewards = (rng.random(shape) < chance).astype(float)
        self.z = np.zeros(shape)
        lead = np.zeros(n_runs)
        for i in range(n_rounds):
            w = propensity(lead)  # of each action, from what was seen before
            u = rng.random((n_runs, 1))
            a = np.minimum((u > np.cumsum(w, axis=1)).sum(axis=1), n_actions - 1)
            self.actions[:, i] = a
            self.propensities[:, i] = w[np.arange(n_runs), a]
            gain = self.rewards[:, i] / self.propensities[:, i]
            self.z[:, i] = gain * ((a == 0).astype(float) - (a == 1))
            lead += self.z[:, i]

    def record(self, run, n, floor):
        policies = ps.PolicyTable([[0, 1]], n_actions=self.n_actions)
        problem = ps.Problem(n_actions=self.n_actions, epsilon=0.1, delta=0.1)
        record = Record(policies, problem)
        columns = (self.actions, self.propensities, self.rewards)
        actions, propensities, rewards = (column[run, :n] for column in columns)
        contexts = np.zeros(n, dtype=int)
        log = ps.Log(contexts=contexts, actions=actions, propensities=propensities, rewards=rewards)
        return plus(record, log, floor=floor)


def uniform(lead):
    return np.full((len(lead), 3), 1 / 3)


def skewed(lead):
    return np.tile([0.9, 0.1], (len(lead), 1))


def adaptive(lead):
    first = np.where(lead >= 0, 0.8, 0.2)
    return np.stack([first, 1 - first], axis=1)


RUNS, ROUNDS = 1000, 1500


@pytest.fixture(
    scope="module",
    params=[(uniform, 3, 1 / 3), (skewed, 2, 0.1), (adaptive, 2, 0.2)],
    ids=["uniform", "skewed", "adaptive"],
)
def null(request):
    """Differences that are symmetric, rare and large on one side, or from learning exploration."""
    propensity, n_actions, floor = request.param
    world = Null(n_actions, propensity, 0.4, RUNS, ROUNDS, seed=n_actions)
    world.learns, world.floor = propensity is adaptive, floor
    return world


def ever(bounds):
    """Runs in which a lower limit on a difference of zero is positive at any time."""
    return int((bounds > 0).any(axis=1).sum())


def path(method, z, largest, delta):
    if method == "empirical_bernstein":
        return oracle.empirical_bernstein(z, largest, 1.0, delta)
    if method == "stitched":
        return oracle.stitched(z, largest, delta)
    if method == "checkpoints":
        return oracle.checkpoints(z, 2 * largest, delta)
    return oracle.maurer_pontil(z, 2 * largest, delta)[:, None]


def holds(method, null):
    return not null.learns or method in ("empirical_bernstein", "stitched")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_stopping_at_the_best_moment(method, null, delta):
    if holds(method, null):
        assert_at_most(ever(path(method, null.z, 1 / null.floor, delta)), RUNS, delta)


@pytest.mark.parametrize("method", METHODS)
def test_these_runs_are_what_the_code_computes(method, null):
    n = 300
    for run in range(10):
        bound = getattr(classical, method)(null.record(run, n, null.floor), 0, 0.3)[1]
        expected = path(method, null.z[[run], :n], 1 / null.floor, 0.3)[0, -1]
        assert bound == pytest.approx(max(expected, -1.0), rel=1e-9)


def too_many(failures, delta):
    return failures > stats.binom.ppf(1 - TINY, RUNS, delta)


@pytest.mark.parametrize(
    ("method", "part"),
    [("empirical_bernstein", 2), ("stitched", 2), ("fixed", 5), ("checkpoints", 10)],
)
def test_a_part_of_the_radius_would_be_caught(method, part, null):
    """Otherwise the tests above would prove nothing; the last two are far from tight."""
    delta, largest, z = 0.03, 1 / null.floor, null.z
    if method == "empirical_bernstein":  # whose radius goes with the root of ln(1/delta)
        bounds = path(method, z, largest, delta ** (1 / part**2))
    else:
        bounds = path(method, z, largest, delta)
        means = np.cumsum(z, axis=1) / np.arange(1, ROUNDS + 1)
        if method == "fixed":
            means = means[:, -1:]
        elif method == "checkpoints":
            last = oracle.milestones(ROUNDS)
            means, bounds = means[:, np.array(last) - 1], bounds[:, np.array(last) - 1]
        bounds = means - (means - bounds) / part
    assert too_many(ever(bounds), delta)


@pytest.mark.parametrize("method", ["empirical_bernstein", "stitched"])
def test_a_range_that_is_too_small_would_be_caught(method):
    world = Null(2, skewed, 0.4, RUNS, 500, seed=1)
    assert_at_most(ever(path(method, world.z, 10.0, 0.03)), RUNS, 0.03)
    assert too_many(ever(path(method, world.z, 1.0, 0.03)), 0.03)


# The whole class: a leader that the data chose, and intervals for all policies

MEANS = np.array([0.5, 0.48, 0.4, 0.3])


def looks(run, n_looks, each):
    """Records that grow; policy j shows action j, whose mean reward is MEANS[j]."""
    rng = np.random.default_rng([7, run])
    policies = ps.PolicyTable([[0, 1, 2, 3]], n_actions=4)
    record = Record(policies, ps.Problem(n_actions=4, sparsity=None, epsilon=0.1, delta=0.1))
    total = np.zeros(4)
    for _ in range(n_looks):
        actions = rng.integers(0, 4, each)
        rewards = (rng.random(each) < MEANS[actions]).astype(float)
        record = plus(
            record,
            ps.Log(
                contexts=np.zeros(each, dtype=int),
                actions=actions,
                propensities=np.full(each, 0.25),
                rewards=rewards,
            ),
            floor=0.25,
        )
        total += np.bincount(actions, rewards, minlength=4)
        yield record, int(total.argmax())


@pytest.mark.parametrize("method", EVER)
def test_the_leader_is_as_good_as_certified(method):
    delta, n_runs, failures, best = 0.3, 150, 0, MEANS.max()
    for run in range(n_runs):
        failed = False
        for record, leader in looks(run, 12, 60):
            lower = getattr(classical, method)(record, leader, delta / 3)
            failed |= best - MEANS[leader] > -lower.min()
        failures += failed
    assert_at_most(failures, n_runs, delta)


def test_value_intervals_cover_all_policies_at_all_times():
    delta, n_runs, failures, caught, narrow = 0.3, 300, 0, 0, 1.0
    for run in range(n_runs):
        failed = wrong = False
        for record, _ in looks(run, 12, 100):
            v = classical.value_intervals(record, delta)
            failed |= bool(((v.lower > MEANS) | (v.upper < MEANS)).any())
            low, high = v.values + (v.lower - v.values) / 4, v.values + (v.upper - v.values) / 4
            wrong |= bool(((low > MEANS) | (high < MEANS)).any())
        failures, caught = failures + failed, caught + wrong
        narrow = min(narrow, float((v.upper - v.lower).max()))
    assert_at_most(failures, n_runs, delta)
    assert narrow < 0.6
    assert caught > stats.binom.ppf(1 - TINY, n_runs, delta)  # a quarter of the width would not do
