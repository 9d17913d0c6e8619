"""The list by multiplicative weights against its twin, and what is played with it."""

from itertools import combinations

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import rewarded_events
from policysieve.exploration.designs import ListExploration
from policysieve.exploration.learners.list_weights import draw_list
from tests.exploration.cases import play, random_case, uniform_log
from tests.oracles import baselines as oracle


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("size", [1, 3, 9])
def test_list_equals_the_naive_one(m, size):
    """The same list from the same random numbers, from events and through the learner."""
    lists = set()
    for seed in range(20):
        policies, rewards = random_case(seed=seed, m=m)
        log = uniform_log(policies, rewards, 80, seed=seed)
        slates = policies.actions(log.contexts).tolist()
        uniforms = np.random.default_rng(seed).random(500)
        expected = oracle.draw_list(slates, log.actions, log.rewards, size, 1.5, uniforms)
        listed = draw_list(
            rewarded_events(log, policies), 9, size=size, rate=1.5, rng=np.random.default_rng(seed)
        )
        assert listed.tolist() == expected
        lists.add(tuple(expected))
    assert len(lists) > 5

    problem = ps.Problem(n_actions=6, slate_size=m, epsilon=0.3, delta=0.1)
    learner = ps.ListWeights(
        policies, problem, explore_rounds=80, estimate_rounds=50, list_size=size, rng=7
    )
    play(learner, rewards, 80, 30, seed=2)
    seeds = np.random.SeedSequence(7, spawn_key=(1,))
    uniforms = np.random.default_rng(seeds).spawn(1)[0].random(500)
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    expected = oracle.draw_list(slates, log.actions, log.rewards, size, 2.0, uniforms)
    assert learner.design.listed.tolist() == expected
    W = learner.design.propensities(np.arange(5))
    for x in range(5):
        naive = oracle.list_propensities(
            policies.actions([x])[0].tolist(), expected, 6, m, learner.mixing
        )
        np.testing.assert_allclose(W[x], naive, rtol=1e-12)
    play(learner, rewards, 50, 50, seed=3)
    later = learner.log[80:]
    np.testing.assert_allclose(
        later.propensities,
        np.take_along_axis(learner.design.propensities(later.contexts), later.actions, axis=1),
        rtol=1e-12,
    )


def test_list_covers_what_was_rewarded():
    """Without a limit every rewarded item that some policy shows ends up on the list's slates."""
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=20, n_policies=30, profile="close", rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    learner = ps.ListWeights(
        policies, world.problem(epsilon=0.1, delta=0.1), explore_rounds=20_000, rng=0
    )
    ps.run(learner, world, 20_000, batch_size=5000, checkpoints=0)
    listed = learner.design.listed
    assert len(listed) < 10
    right = world.pool[:, listed] == world._rewarded
    assert right.any(axis=1).all()


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("listed", [[], [2], [0, 3, 1]])
def test_list_exploration_is_unbiased_by_enumeration(m, listed):
    """Over all slates it can show, E R(pi) is the policy's reward and E[shown] is W."""
    K = 5
    policies, rewards = random_case(seed=20 + m, m=m, K=K, n_policies=4, n_contexts=1)
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.3, delta=0.1)
    design = ListExploration(policies, problem, listed=np.array(listed, dtype=np.int32), mixing=0.3)
    W = design.propensities([0])[0]
    assert W.sum() == pytest.approx(m)
    slates = [set(slate) for slate in policies.actions([0])[0].tolist()]
    items = set().union(*(slates[p] for p in listed)) or set(range(K))
    probability = {}
    for share, among in ((0.3, range(K)), (0.7, sorted(items))):
        subsets = list(combinations(among, m))
        for subset in subsets:
            probability[subset] = probability.get(subset, 0) + share / len(subsets)
    shown = np.zeros(K)
    for subset, chance in probability.items():
        shown[list(subset)] += chance
    np.testing.assert_allclose(shown, W, rtol=1e-12)
    for slate in slates:
        expected = sum(
            chance * sum(rewards[0, j] / W[j] for j in subset if j in slate)
            for subset, chance in probability.items()
        )
        assert expected == pytest.approx(sum(rewards[0, j] for j in slate), rel=1e-12)
    assert f"{len(listed)} of 4 policies" in repr(design)
    assert len(design.ask(np.zeros(3, int))) == 3
