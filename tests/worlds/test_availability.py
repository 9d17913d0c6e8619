"""Worlds in which not everything can be shown in every round."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.worlds import Availability, Draw, Replay, SparseSynthetic, World
from tests.contracts.world_contract import WorldContract
from tests.oracles import available as oracle


def synthetic(m=1, **how):
    how = {"n_contexts": 12, "n_actions": 7, "n_policies": 5, "rng": 0, "noise": 0.2} | how
    return SparseSynthetic(slate_size=m, profile="close", **how)


class TestContract(WorldContract):
    kind = Availability

    @pytest.fixture
    def world(self):
        return Availability(synthetic(), share=1.0)


class TestSlatesContract(WorldContract):
    kind = Availability

    @pytest.fixture
    def world(self):
        return Availability(synthetic(3), share=1.0, sets=2)


@pytest.mark.parametrize("m", [1, 3])
def test_values_are_means_over_contexts_and_sets(m):
    world = Availability(synthetic(m), 0.5, sets=4, rng=3)
    policies = ps.PolicyTable(world.world.pool, n_actions=7, fallback=[6, 5, 4, 3, 2, 1, 0])
    expected = np.zeros(5)
    rewards = world.world._expected_rewards(np.arange(12))
    for row in world.sets:
        allowed = set(np.flatnonzero(row).tolist())
        for x, slates in enumerate(policies.table.tolist()):
            for p, slate in enumerate(slates):
                shown = oracle.mended(slate, allowed, [6, 5, 4, 3, 2, 1, 0])
                expected[p] += rewards[x, shown].sum() / (12 * 4)
    np.testing.assert_allclose(world.values(policies), expected)
    assert np.abs(expected - world.world.values(policies)).max() > 0.05


def test_sets_are_drawn_evenly_and_hold_enough():
    world = Availability(synthetic(3), 0.05, sets=50)
    assert (world.sets.sum(axis=1) >= 3).all()
    draw = world.draw(5000, 0)
    kinds, counts = np.unique(draw.available.dense(), axis=0, return_counts=True)
    assert len(kinds) <= 50
    assert counts.min() > 50
    again = world.draw(5000, 0)
    assert again.available == draw.available
    np.testing.assert_array_equal(again.contexts, draw.contexts)


def test_what_is_not_available_has_no_rewards():
    world = Availability(synthetic(), sets=np.eye(7, dtype=bool))
    draw = world.draw(9, 0)
    shown = draw.available.dense().argmax(axis=1)
    assert draw.rewards(shown).shape == (9, 1)
    shown[4] = (shown[4] + 1) % 7
    with pytest.raises(
        ps.InvalidArgumentError, match=r"actions must be available, got .* in row 4"
    ):
        draw.rewards(shown)


@pytest.mark.parametrize("share", [0, 1.5, "half", None])
def test_bad_shares(share):
    with pytest.raises(ps.InvalidArgumentError, match="share"):
        Availability(synthetic(), share)


@pytest.mark.parametrize(
    "sets", [0, 2.5, np.ones((2, 7)), np.ones((2, 6), bool), np.zeros((2, 7), bool), [], "all"]
)
def test_bad_sets(sets):
    with pytest.raises(ps.InvalidArgumentError, match=r"sets|available"):
        Availability(synthetic(), sets=sets)


def test_bad_worlds():
    for bad in ("world", Availability(synthetic())):
        with pytest.raises(ps.InvalidArgumentError, match="world must be one"):
            Availability(bad)


def test_a_world_that_does_not_list_its_contexts_cannot_know():
    class Endless(World):
        def _draw(self, n, rng):
            def rewards_of(actions):
                return np.zeros(actions.shape)

            x = rng.random((n, 2))
            return Draw(x, rewards_of, n_actions=self.n_actions, slate_size=1)

        def _values(self, policies):
            return np.zeros(policies.n_policies)

    world = Availability(Endless(n_actions=3, slate_size=1, sparsity=1.0))
    assert len(world.draw(3, 0).available) == 3
    with pytest.raises(ps.UnknownValueError, match="does not list its contexts"):
        world.values(ps.LinearPolicies(np.ones((2, 3, 2))))


def test_a_run_knows_how_far_it_is_from_the_best():
    world = Availability(synthetic(n_policies=20), 0.6)
    policies = ps.PolicyTable(world.world.pool, n_actions=7, fallback=range(7))
    learner = ps.Sieve(policies, world.problem(epsilon=0.15, delta=0.1), rng=0)
    result = ps.run(learner, world, 3000, progress=False)
    values = world.values(policies)
    assert result.recommendation.certified
    assert result.suboptimality == values.max() - values[result.recommendation.policy]
    assert result.suboptimality <= 0.15
    assert learner.log.available.has(learner.log.actions).all()


def test_a_replayed_log_shows_what_was_available():
    world = Availability(synthetic(), 0.6)
    policies = ps.PolicyTable(world.world.pool, n_actions=7, fallback=range(7))
    problem = world.problem(epsilon=0.2, delta=0.1)
    first = ps.Uniform(policies, problem, rounds=2000, rng=0)
    ps.run(first, world, 2000, progress=False)
    replay = Replay(first.log, n_actions=7)
    draw = replay.draw(50, 0)
    assert draw.available == first.log.available[:50]
    replay.rewind()
    second = ps.Sieve(policies, problem, rng=0)
    ps.run(second, replay, 2000, progress=False)
    assert second.rounds > 50
    assert second.log.available.has(second.log.actions).all()
