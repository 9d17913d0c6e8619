"""Worlds that show the terms of the theorems: their answers, by hand."""

import numpy as np
import pytest

from policysieve.bench.scaling import worlds
from policysieve.bench.scaling.worlds import KnownMeans
from tests.contracts.world_contract import WorldContract


class TestKnownMeans(WorldContract):
    kind = KnownMeans

    @pytest.fixture(params=["single", "lists"])
    def world(self, request):
        if request.param == "single":
            means = np.array([[0.2, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.7]])
            return KnownMeans(means, sparsity=2.0, probabilities=np.array([0.3, 0.7]))
        means = np.array([[0.5, 0.5, 0.25, 0.25, 0.0]])
        coins = np.array([0, 0, 1, 1, 0])
        return KnownMeans(means, sparsity=4.0, slate_size=2, coins=coins)

    def test_rewards_that_share_a_coin_come_together(self):
        means = np.full((1, 4), 0.5)
        world = KnownMeans(means, sparsity=4.0, slate_size=4, coins=np.array([0, 0, 1, 1]))
        rewards = world.draw(500, np.random.default_rng(0)).rewards(np.tile(np.arange(4), (500, 1)))
        assert (rewards[:, 0] == rewards[:, 1]).all()
        assert (rewards[:, 2] == rewards[:, 3]).all()
        assert 0.4 < (rewards[:, 0] == rewards[:, 2]).mean() < 0.6

    def test_variances_are_those_of_a_simulation(self):
        world, policies = worlds.arms_among_many(0, n_actions=5, sparsity=2, epsilon=0.1)
        propensities = np.array([[0.1, 0.3, 0.2, 0.25, 0.15]])
        exact = world.variances(policies, propensities)
        rng = np.random.default_rng(1)
        n = 200_000
        actions = rng.choice(5, size=(n, 1), p=propensities[0])
        earned = world.draw(n, rng).rewards(actions)[:, 0] / propensities[0, actions[:, 0]]
        for policy in range(5):
            second_moment = (np.where(actions[:, 0] == policy, earned, 0.0) ** 2).mean()
            assert exact[policy] == pytest.approx(second_moment, rel=0.03, abs=1e-12)


def optimal(made, epsilon):
    world, policies = made
    values = world.values(policies)
    return values, int((values >= values.max() - epsilon).sum())


@pytest.mark.parametrize(("K", "s", "eps"), [(2, 2, 0.2), (16, 3, 0.1), (40, 16, 0.03)])
def test_both_terms(K, s, eps):
    """One policy of K s is right in both; each miss costs more than epsilon."""
    made = worlds.both_terms(3, n_actions=K, sparsity=s, epsilon=eps)
    values, n_optimal = optimal(made, eps)
    assert (len(values), n_optimal) == (K * s, 1)
    assert values.max() == pytest.approx(2 * eps + (1 - 2 * eps) * (0.5 + 2 * eps))
    assert np.sort(values)[-2] == pytest.approx(values.max() - 2 * eps * (1 - 2 * eps))
    made[1].check_fits(made[0].problem(epsilon=eps, delta=0.05))


def test_both_terms_with_one_close_rival():
    """The same class; of the arms, two are close and the others earn nothing."""
    world, policies = worlds.both_terms(3, n_actions=16, sparsity=4, epsilon=0.1, n_close=1)
    values = world.values(policies)
    assert len(values) == 16 * 4
    best = 0.2 + 0.8 * 0.7
    expected = [0.0] * 30 + [0.2] * 2 + [0.4] * 15 + [0.56] * 15 + [0.6, best]
    np.testing.assert_allclose(np.sort(values), sorted(expected))


@pytest.mark.parametrize(("K", "n_policies", "eps"), [(2, 5, 0.1), (10, 60, 0.05)])
def test_contest(K, n_policies, eps):
    made = worlds.contest(1, n_actions=K, n_policies=n_policies, epsilon=eps)
    values, n_optimal = optimal(made, eps)
    assert n_optimal == 1
    np.testing.assert_allclose(np.sort(values)[:-1], 0.5)
    assert values.max() == pytest.approx(0.5 + 2 * eps)


@pytest.mark.parametrize(("K", "s"), [(4, 2), (64, 4)])
def test_arms_among_many(K, s):
    values, n_optimal = optimal(
        worlds.arms_among_many(2, n_actions=K, sparsity=s, epsilon=0.1), 0.1
    )
    assert n_optimal == 1
    np.testing.assert_allclose(np.sort(values)[-s:], [0.5] * (s - 1) + [0.7])
    assert (values > 0).sum() == s


@pytest.mark.parametrize("m", [1, 2, 4, 8])
def test_common_lists(m):
    """Lists without a common item; the second moment of a slate's sum is m times its mean."""
    made = worlds.common_lists(5, n_actions=20, slate_size=m, sparsity=16, epsilon=0.2)
    world, policies = made
    values, n_optimal = optimal(made, 0.2)
    assert (len(values), n_optimal) == (16 // m, 1)
    assert values.max() == pytest.approx(m / 2 + 0.4)
    slates = policies.actions([0])[0]
    assert len(np.unique(slates)) == 16
    rewards = world.draw(300, np.random.default_rng(0)).rewards(np.tile(slates[0], (300, 1)))
    assert set(rewards.sum(axis=1)) == {0.0, float(m)}


@pytest.mark.parametrize(
    "build",
    [
        lambda seed: worlds.both_terms(seed, n_actions=9, sparsity=2, epsilon=0.1),
        lambda seed: worlds.contest(seed, n_actions=9, n_policies=20, epsilon=0.1),
        lambda seed: worlds.arms_among_many(seed, n_actions=9, sparsity=2, epsilon=0.1),
        lambda seed: worlds.rare_context(seed, n_actions=9, epsilon=0.1),
        lambda seed: worlds.hidden_arm(seed, n_actions=9, sparsity=2, epsilon=0.1),
    ],
)
def test_another_world_for_each_seed(build):
    """And the same one again for the same seed."""
    found = []
    for seed in (0, 0, 1, 2, 3):
        world, policies = build(seed)
        found.append(tuple(world.values(policies).tolist()))
    assert found[0] == found[1]
    assert len(set(found)) > 1
