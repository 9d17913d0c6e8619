"""Best-arm identification compiled, interpreted, and against a plain twin."""

from math import comb, exp

import numpy as np
import pytest

from policysieve.kernels import arms
from tests.oracles import arms as oracle

SHARES = np.array([0.05, 0.3, 0.9])


@pytest.fixture(params=["compiled", "interpreted"])
def follow(request, monkeypatch):
    if request.param == "compiled":
        return arms.follow_arms
    for name in ("log_wealth", "lower_bound"):
        monkeypatch.setattr(arms, name, getattr(arms, name).py_func)
    return arms.follow_arms.py_func


def play(follow, rewards, n_levels, blocks, epsilon=0.15):
    """Counts, rounds and the proved arm, of rewards that come in blocks."""
    n_arms = rewards.shape[1]
    counts, means, upper = np.zeros((n_arms, n_levels)), np.full(n_arms, np.nan), np.ones(n_arms)
    following, rounds, proved = np.array([-1]), 0, -1
    for block in np.array_split(rewards, blocks):
        if proved < 0:
            n, proved = follow(block, epsilon, SHARES, 2.0, 1.0, counts, means, upper, following)
            rounds += n
    return counts, rounds, proved


@pytest.mark.parametrize("n_levels", [2, 4])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blocks", [1, 7])
def test_agrees_with_plain_loops(follow, n_levels, seed, blocks):
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.1, 0.9, size=4)
    n = 60 if seed < 3 else 200  # some are given up, some are proved
    rewards = rng.binomial(n_levels - 1, chances, size=(n, 4)) / (n_levels - 1)
    counts, rounds, proved = play(follow, rewards, n_levels, blocks)
    met, leader = oracle.identify(rewards.tolist(), 0.15, SHARES.tolist(), 2.0, 1.0)
    expected = [
        np.bincount(np.rint(np.array(one) * (n_levels - 1)).astype(int), minlength=n_levels)
        for one in met
    ]
    np.testing.assert_allclose(counts, expected, rtol=0, atol=1e-9)
    assert rounds == sum(map(len, met))
    assert proved == (-1 if leader is None else leader)


def test_some_are_proved_and_some_are_not():
    """In the cases above."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        chances = rng.uniform(0.1, 0.9, size=4)
        rewards = rng.binomial(1, chances, size=(60 if seed < 3 else 200, 4)) * 1.0
        found.append(play(arms.follow_arms, rewards, 2, 1)[2])
    assert -1 in found
    assert max(found) >= 0


@pytest.mark.parametrize("mirrored", [False, True])
def test_bounds(mirrored):
    rewards = np.random.default_rng(0).binomial(2, 0.7, size=50) / 2
    counts = np.bincount((2 * rewards).astype(int), minlength=3).astype(float)
    found = arms.lower_bound(counts, SHARES, 3.0, mirrored)
    expected = oracle.lower_bound((1 - rewards if mirrored else rewards).tolist(), SHARES, 3.0)
    assert expected - 1e-7 < found <= expected
    assert 0 < found < 0.7


def test_rewards_between_levels_prove_less():
    """They are split between the two levels next to them, which the logarithm makes safe."""
    rewards = np.random.default_rng(1).uniform(0.6, 1.0, size=80)
    counts, means = np.zeros((2, 3)), np.full(2, np.nan)
    upper, following = np.ones(2), np.array([-1])
    rows = np.stack([rewards, np.zeros(80)], axis=1)
    arms.follow_arms(rows, 0.0, SHARES, np.inf, 1.0, counts, means, upper, following)
    assert counts[0].sum() == pytest.approx(40)
    met = rewards[::2]
    assert means[0] == pytest.approx(met.mean())
    for mean in (0.3, 0.5, 0.7):
        exact = oracle.log_wealth(met.tolist(), SHARES, mean)
        assert arms.log_wealth(counts[0], SHARES, mean, False) < exact


@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("mirrored", [False, True])
def test_bets_against_the_truth_are_fair(mean, mirrored):
    """The wealth has mean one over all that can happen: it ever reaches 1/delta with delta."""
    n, chance = 7, 1 - mean if mirrored else mean
    total = sum(
        comb(n, k)
        * chance**k
        * (1 - chance) ** (n - k)
        * exp(arms.log_wealth(np.array([n - k, k], float), SHARES, mean, mirrored))
        for k in range(n + 1)
    )
    assert total == pytest.approx(1.0, rel=1e-12)
