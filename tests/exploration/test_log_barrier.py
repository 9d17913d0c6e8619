"""The log-barrier design against EM written out, and against a general solver."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize

import policysieve as ps
from policysieve.evidence import rewarded_events
from policysieve.exploration.learners.log_barrier import log_barrier_weights
from tests.exploration.cases import play, random_case, uniform_log
from tests.oracles import baselines as oracle


def minimise(log, policies, mixing, gap, start=None):
    """The weights from equal ones, for a uniform part of slates of any K actions."""
    start = np.full(policies.n_policies, 1 / policies.n_policies) if start is None else start
    uniform = policies.slate_size / policies.n_actions
    events = rewarded_events(log, policies)
    return log_barrier_weights(events, start, mixing=mixing, uniform=uniform, gap=gap)


def items_of(log, policies):
    slates = policies.actions(log.contexts).tolist()
    return oracle.rewarded_items(slates, log.actions, log.rewards)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("mixing", [0.1, 0.5])
def test_log_barrier_takes_the_steps_of_em(m, mixing):
    """Stopped by a gap, the weights are those of as many EM steps, each of which lowers it."""
    policies, rewards = random_case(seed=m, m=m)
    log = uniform_log(policies, rewards, 150, seed=2)
    gains, shows = items_of(log, policies)
    floor = mixing * m / 6
    p, potentials = np.full(9, 1 / 9), []
    for gap in (0.05, 0.01, 0.001):
        while oracle.duality_gap(p, gains, shows, floor, mixing) > gap:
            potentials.append(oracle.potential(p, gains, shows, floor, mixing))
            p = oracle.expectation_step(p, gains, shows, floor, mixing)
        found = minimise(log, policies, mixing, gap)
        np.testing.assert_allclose(found, p, rtol=1e-9, atol=1e-12)
    assert len(potentials) > 5
    assert (np.diff(potentials) < 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_log_barrier_finds_the_minimum(seed):
    """Against a general solver on the simplex, and the gap bounds what is missing."""
    m = 1 + seed % 2
    policies, rewards = random_case(seed=seed, m=m, n_policies=5)
    log = uniform_log(policies, rewards, 120, seed=seed)
    gains, shows = items_of(log, policies)
    floor, mixing = 0.3 * m / 6, 0.3
    best = optimize.minimize(
        oracle.potential,
        np.full(5, 0.2),
        args=(gains, shows, floor, mixing),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert best.success
    for gap in (0.1, 1e-5):
        p = minimise(log, policies, mixing, gap)
        assert p.sum() == pytest.approx(1)
        excess = oracle.potential(p, gains, shows, floor, mixing) - best.fun
        assert -1e-7 <= excess <= gap
    # No point of a grid over the simplex is better.
    for corner in product(range(5), repeat=4):
        if sum(corner) <= 4:
            other = np.array([*corner, 4 - sum(corner)]) / 4
            assert oracle.potential(other, gains, shows, floor, mixing) >= best.fun - 1e-7


def test_log_barrier_evens_out_variances():
    """At the minimum no policy's variance term exceeds that of the mixture: total/(1-gamma)."""
    policies, rewards = random_case(seed=8)
    log = uniform_log(policies, rewards, 400, seed=1)
    gains, shows = items_of(log, policies)
    p = minimise(log, policies, 0.2, 1e-6)
    W = 0.2 / 6 + 0.8 * shows @ p
    variances = (gains / W) @ shows
    assert variances.max() <= gains.sum() / 0.8 * (1 + 1e-5)
    uniform = (gains * 6) @ shows
    assert uniform.max() > 1.5 * variances.max()


def test_log_barrier_weighs_events_by_their_propensities():
    """An item shown twice as seldom counts twice, as if it had come twice."""
    policies, rewards = random_case(seed=9)
    log = uniform_log(policies, rewards, 60, seed=1)
    halved = log.propensities.copy()
    halved[30:] /= 2
    seldom = ps.Log(
        contexts=log.contexts, actions=log.actions, propensities=halved, rewards=log.rewards
    )
    again = ps.Log(
        contexts=np.concatenate([log.contexts, log.contexts[30:]]),
        actions=np.concatenate([log.actions, log.actions[30:]]),
        propensities=np.concatenate([log.propensities, log.propensities[30:]]),
        rewards=np.concatenate([log.rewards, log.rewards[30:]]),
    )
    weights = [minimise(one, policies, 0.2, 1e-3) for one in (seldom, again, log)]
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-9)
    assert np.abs(weights[0] - weights[2]).max() > 1e-3


def test_log_barrier_among_some_policies():
    """Policies that start without weight might as well not be there."""
    policies, rewards = random_case(seed=4)
    log = uniform_log(policies, rewards, 200, seed=3)
    some = np.array([0, 3, 4, 8])
    start = np.zeros(9)
    start[some] = 1 / 4
    found = minimise(log, policies, 0.2, 1e-3, start)
    fewer = ps.PolicyTable(policies.actions(np.arange(5))[:, some], n_actions=6)
    np.testing.assert_allclose(found[some], minimise(log, fewer, 0.2, 1e-3), rtol=1e-9)
    assert found.sum() == pytest.approx(1)
    assert (start > 0).sum() == 4  # the start is left as it was


@pytest.mark.parametrize("m", [1, 2])
def test_log_barrier_plays_what_it_found(m):
    policies, rewards = random_case(seed=m, m=m)
    problem = ps.Problem(n_actions=6, slate_size=m, epsilon=0.3, delta=0.1)
    learner = ps.LogBarrier(
        policies, problem, explore_rounds=200, estimate_rounds=100, mixing=0.3, rng=1
    )
    play(learner, rewards, 200, 60, seed=2)
    gains, shows = items_of(learner.log[:200], policies)
    p, floor = np.full(9, 1 / 9), 0.3 * m / 6
    while oracle.duality_gap(p, gains, shows, floor, 0.3) > 0.1:
        p = oracle.expectation_step(p, gains, shows, floor, 0.3)
    found = np.zeros(9)
    found[learner.design.support] = learner.design.shares
    np.testing.assert_allclose(found, p, rtol=1e-9, atol=1e-12)
    assert np.ptp(p) > 0.01
    play(learner, rewards, 100, 100, seed=3)
    later = learner.log[200:]
    for x, shown, propensities in zip(
        later.contexts, later.actions, later.propensities, strict=True
    ):
        slates = policies.actions([x])[0].tolist()
        for j, w in zip(shown, propensities, strict=True):
            expected = floor + 0.7 * sum(p[q] for q in range(9) if j in slates[q])
            assert w == pytest.approx(expected, rel=1e-9)
