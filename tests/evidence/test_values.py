"""Limits on single policies' values: those of the slow twin, and they cover."""

from math import log

import numpy as np
import pytest
from numba import config

import policysieve as ps
from policysieve.evidence import values
from policysieve.evidence.values import betting_limits, policy_interval, policy_intervals
from tests.evidence.capped import World
from tests.evidence.following import LEVEL, VALUES, assert_covers, looks
from tests.oracles.capped import least_mean

STEP = 1 / 11**3  # of a limit that is found by zooming in, of what a round can earn


@pytest.mark.parametrize(
    "arguments",
    [
        {"seed": 0, "n": 120},
        {"seed": 1, "n": 120, "sparsity": 0.5, "epsilon": 0.2},
        {"seed": 2, "n": 70, "m": 2, "sparsity": 1.5},
        {"seed": 3, "n": 50, "m": 3, "K": 6, "sparsity": None},
    ],
)
def test_betting_limits_agree_with_the_twin(arguments):
    """To the last step of the search, on the safe side; whoever else is asked about."""
    world = World(**arguments)
    evidence, fold, problem = world.evidence(), world.fold(), world.problem
    world.feed(evidence, 0, len(world.log))
    world.feed_fold(fold, 0, len(world.log))
    step = STEP * problem.reward_cap + 1e-9
    which, inside = evidence.survivors[::-1][:3], 0
    for log_term in (0.5, 2.0, 6.0):
        found = betting_limits(problem, evidence._past, which, log_term)
        for k, p in enumerate(which):
            lower, upper = fold.betting_limits(p, log_term)
            assert lower - step <= found[0][k] <= lower + 1e-9
            assert upper - 1e-9 <= found[1][k] <= upper + step
            inside += 0 < lower < upper < problem.reward_cap
            alone = betting_limits(problem, evidence._past, which[k : k + 1], log_term)
            assert (alone[0][0], alone[1][0]) == (found[0][k], found[1][k])
    assert inside >= 3


@pytest.mark.parametrize("m", [1, 2])
def test_threads_change_no_bit(monkeypatch, m):
    world = World(6, m=m, n=200, sparsity=None)
    evidence = world.evidence()
    world.feed(evidence, 0, 200)
    given = world.problem, evidence._past, evidence.survivors, 2.0
    alone = betting_limits(*given)
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 3)
    monkeypatch.setattr(values, "_MANY", 1)
    assert len(evidence.survivors) > 1
    assert np.array_equal(betting_limits(*given), alone)


@pytest.mark.parametrize("m", [1, 2])
def test_limits_are_wider_at_smaller_levels(m):
    world = World(4, m=m, n=200, sparsity=None)
    evidence, problem = world.evidence(), world.problem
    world.feed(evidence, 0, 200)
    terms = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 1e6)
    limits = [betting_limits(problem, evidence._past, evidence.survivors, t) for t in terms]
    lower, upper = np.array(limits).swapaxes(0, 1)
    assert (np.diff(lower, axis=0) <= 0).all()
    assert (np.diff(upper, axis=0) >= 0).all()
    assert (lower[-1] == 0).all()
    assert (upper[-1] == problem.reward_cap).all()
    assert (lower[2] < evidence.intervals().values[evidence.survivors]).all()
    assert (upper[2] > evidence.intervals().values[evidence.survivors]).all()


def test_the_largest_estimates_are_bet_on():
    """All others have the limits from sums, unless they are asked for."""
    world = World(5, n=400, n_policies=40, n_contexts=30, delta=0.01, right=0)
    evidence = world.evidence()
    world.feed(evidence, 0, 400)
    standing, *_ = evidence._now()
    assert len(standing.survivors) == 40
    log_term = log(4 * 40 / 0.01)
    order = sorted(range(40), key=lambda p: (-standing.values[p], p))
    found = policy_intervals(standing, evidence._past)
    sharper = 0
    for rank, p in enumerate(order):
        earned = least_mean(standing.sums[2, p], standing.sums[3, p], 400, log_term)
        missed = least_mean(standing.sums[4, p], standing.sums[5, p], 400, log_term)
        lower, upper = np.clip([earned, 1 - missed], 0, 1)
        value, *some = policy_interval(standing, evidence._past, p)
        below, above = betting_limits(world.problem, evidence._past, np.array([p]), log_term)
        assert some[0] == pytest.approx(max(lower, below[0]), abs=1e-12)
        assert some[1] == pytest.approx(min(upper, above[0]), abs=1e-12)
        if rank < 32:
            assert (found.lower[p], found.upper[p]) == tuple(some)
        else:
            assert found.lower[p] == pytest.approx(lower, abs=1e-12)
            assert found.upper[p] == pytest.approx(upper, abs=1e-12)
            sharper += some[1] < found.upper[p]
        assert evidence.interval(p) == (value, *some)
        assert value == standing.values[p]
    assert sharper
    assert (found.upper < 1).any()


def test_limits_of_eliminated_policies_stay_as_they_were():
    world = World(6, m=2, n=300, sparsity=None)
    evidence, kept = world.evidence(), {}
    for start in range(0, 300, 10):
        world.feed(evidence, start, start + 10)
        limits = evidence.intervals()
        for p in np.flatnonzero(evidence.certificate().eliminated):
            if p in evidence.survivors:
                continue  # found between looks, and not for good
            now = limits.values[p], limits.lower[p], limits.upper[p]
            assert kept.setdefault(p, now) == now
    assert kept


def test_nothing_is_known_of_what_is_never_shown():
    policies = ps.PolicyTable([[0, 1, 2]], n_actions=3)
    problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1)
    evidence, W = ps.Evidence(policies, problem), np.tile([0.5, 0.5, 0.0], (500, 1))
    contexts, actions = np.zeros(500, int), np.arange(500) % 2
    rewards = (actions == 0) & (np.arange(500) % 5 < 3)
    rounds = ps.Log(
        contexts=contexts, actions=actions, propensities=np.full(500, 0.5), rewards=rewards
    )
    evidence.take(rounds, policies.answers(contexts), lambda rows: W[rows])
    limits = evidence.intervals()
    assert (limits.lower[2], limits.upper[2]) == (0, 1)
    assert 0.4 < limits.lower[0] < 0.6 < limits.upper[0]
    assert 0.4 < evidence.certificate().suboptimality_bound < 0.6  # the third may earn 1 or 0


# --- cover, whatever is explored --------------------------------------------------------------


def ever_wrong(seed, *, honest):
    """Whether a lower or an upper limit was ever wrong, for each policy."""
    wrong = np.zeros((2, 4), bool)
    for evidence in looks(seed, honest=honest, delta=0.1, most=120):
        which = evidence.survivors
        limits = betting_limits(evidence.problem, evidence._past, which, log(1 / LEVEL))
        wrong[0, which] |= limits[0] > VALUES[which]
        wrong[1, which] |= limits[1] < VALUES[which]
    return wrong


def test_betting_limits_cover_at_any_time():
    assert_covers(ever_wrong)
