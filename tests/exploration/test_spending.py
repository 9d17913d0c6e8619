"""Sums behind what exploring costs: as their twin has them, unbiased, bounded, and covering."""

import itertools

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.spending import Spending
from tests.oracles import spending as oracle
from tests.statistics import assert_at_most

K = 5


def random_log(rng, n, m, traffic):
    """Rounds with propensities as small as the traffic allows, and what runs today."""
    actions = rng.random((n, K)).argsort(axis=1)[:, :m].astype(np.int32)
    today = rng.random((n, K)).argsort(axis=1)[:, :m]
    both = (actions[:, :, None] == today[:, None, :]).any(axis=2)
    least = np.where(both, max(1 - traffic, 0.01), 0.01)
    propensities = least + (1 - least) * rng.random((n, m))
    log = ps.Log(
        contexts=np.arange(n),
        actions=actions,
        propensities=propensities,
        rewards=(rng.random((n, m)) < 0.3).astype(float),
    )
    return log, today


def problem(m=1, traffic=1.0, **arguments):
    arguments = {"epsilon": 0.1, "delta": 0.1, "against": 0, **arguments}
    return ps.Problem(n_actions=K, slate_size=m, sparsity=None, traffic=traffic, **arguments)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("traffic", [1.0, 0.75, 0.5, 0.1])
def test_as_the_twin_has_it(m, traffic):
    asked = problem(m, traffic, max_loss=500.0)
    log, today = random_log(np.random.default_rng(m), 60, m, traffic)
    spent = Spending(asked)
    for part in (slice(25), slice(25, 26), slice(26, None)):
        spent = spent.plus(log[part], today[part], explored=True, issued=True)
    rounds = [array.tolist() for array in (log.actions, log.propensities, log.rewards)]
    lower, upper = oracle.limits(today.tolist(), *rounds, float(m), traffic, 0.1)
    assert spent.lost(0.1)[1:] == pytest.approx((lower, upper), rel=1e-4)
    assert spent.earned.total == log.rewards.sum()
    room = oracle.room(today.tolist(), *rounds, float(m), traffic, 0.1, 500.0, 7)
    assert abs(spent.room(67) - room) <= 1
    assert room > 0


@pytest.mark.parametrize("traffic", [1.0, 0.6, 0.2])
def test_rounds_that_show_what_runs_today_lose_nothing(traffic):
    log, today = random_log(np.random.default_rng(0), 50, 2, 0.5)
    shown = ps.Log(
        contexts=log.contexts,
        actions=today.astype(np.int32),
        propensities=np.ones(today.shape),
        rewards=log.rewards,
    )
    spent = Spending(problem(2, traffic)).plus(shown, today, explored=False, issued=True)
    assert spent.lost_least == spent.lost_most == (0, 0)
    assert spent.lost(0.1) == (0, 0, 0)
    assert (spent.rounds, spent.explored, spent.settled) == (50, 0, 0)


@pytest.mark.parametrize("traffic", [1.0, 0.8, 0.3])
def test_scores_are_unbiased_and_within_their_bounds(traffic):
    """All slates of two out of five, each shown as an exploration would, and all rewards."""
    rng = np.random.default_rng(5)
    slates = np.array(list(itertools.combinations(range(K), 2)), dtype=np.int32)
    explored = rng.dirichlet(np.full(len(slates), 0.3))
    today = np.array([1, 4])
    p = traffic * explored + (1 - traffic) * (slates == today).all(axis=1)
    w = np.array([p[(slates == item).any(axis=1)].sum() for item in range(K)])
    asked = problem(2, traffic)
    for each in itertools.product([0.0, 1.0], repeat=K):
        rewards = np.array(each) * rng.choice([1.0, 0.4], K)
        lost = np.zeros((2, len(slates)))
        for row in np.flatnonzero(p > 0):
            one = ps.Log(
                contexts=[0],
                actions=slates[row][None],
                propensities=w[slates[row]][None],
                rewards=rewards[slates[row]][None],
            )
            spent = Spending(asked).plus(one, today[None], explored=True, issued=True)
            lost[:, row] = spent.lost_least.total, spent.lost_most.total
        loss = rewards[today].sum() - p @ rewards[slates].sum(axis=1)
        np.testing.assert_allclose(lost @ p, loss, atol=1e-12)
        assert lost[0].min() >= -2 - 1e-12
        assert lost[1].max() <= 2 + 1e-12


@pytest.mark.parametrize(("traffic", "value"), [(1.0, 0.5), (0.5, 0.02), (0.1, 0.9)])
def test_limits_cover_at_all_times(traffic, value):
    """An exploration that reacts to what it has seen, on the worst side, never fools them often."""
    runs, rounds, delta = 200, 300, 0.3
    rng = np.random.default_rng(2)
    other = 0.0  # what everything else earns
    lost, misses = np.zeros(runs), np.zeros(runs, dtype=bool)
    spent = [Spending(problem(traffic=traffic, delta=delta)) for _ in range(runs)]
    for _ in range(rounds // 20):
        for run in range(runs):
            bold = spent[run].lost_most.total < lost[run]  # when it seems to have cost little
            w = 1 - traffic * (0.9 if bold else 0.5)
            shows = rng.random(20) < w
            earned = rng.random(20) < np.where(shows, value, other)
            log = ps.Log(
                contexts=np.zeros(20),
                actions=np.where(shows, 0, 1)[:, None],
                propensities=np.where(shows, w, 1 - w)[:, None],
                rewards=earned[:, None].astype(float),
            )
            today = np.zeros((20, 1), dtype=int)
            spent[run] = spent[run].plus(log, today, explored=True, issued=True)
            lost[run] += 20 * (1 - w) * (value - other)
            _, lower, upper = spent[run].lost(delta)
            misses[run] |= not lower <= lost[run] <= upper
    assert_at_most(int(misses.sum()), runs, delta)
