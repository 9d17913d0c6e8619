"""What low-variance exploration promises holds as often as it says, also in adversarial worlds."""

import numpy as np
import pytest

import policysieve as ps
from tests.statistics import assert_at_most


def worlds():
    """Small worlds, adversarial ones among them, with a fitting epsilon."""
    make = ps.worlds.SparseSynthetic
    yield (
        "one good",
        make(n_actions=8, n_contexts=30, n_policies=25, profile="one_good", rng=1),
        0.3,
    )
    yield "close", make(n_actions=5, n_contexts=30, n_policies=25, profile="close", rng=2), 0.3
    equal = make(n_actions=5, n_contexts=30, n_policies=25, profile="close", rng=3)
    equal.pool = np.repeat(equal.pool[:, :1], 25, axis=1)
    yield "all equal", equal, 0.3
    yield "rare context", ps.worlds.RareContext(n_actions=6, epsilon=0.2, rng=4), 0.2
    yield "hidden arm", ps.worlds.HiddenArm(n_actions=8, sparsity=4, epsilon=0.2, rng=5), 0.2
    yield (
        "fractional",
        make(
            n_actions=6,
            n_contexts=30,
            n_policies=25,
            profile="one_good",
            fractional=True,
            noise=0.2,
            rng=6,
        ),
        0.3,
    )
    slates = make(
        n_actions=8,
        n_contexts=20,
        n_policies=25,
        profile="one_good",
        slate_size=4,
        sparsity=2.0,
        rng=7,
    )
    yield "m > s", slates, 0.6
    full = make(
        n_actions=5,
        n_contexts=20,
        n_policies=10,
        profile="close",
        slate_size=5,
        sparsity=2.0,
        rng=8,
    )
    yield "m = K", full, 0.6


def exact_variance_terms(world, policies, design):
    """E sum_j g(r(j)) 1[j in pi(x)] / W(x, j) for every policy, by summing over all contexts."""
    m = policies.slate_size
    contexts = world.contexts
    weights = (
        np.full(len(contexts), 1 / len(contexts))
        if world._probabilities is None
        else world._probabilities
    )
    draws = 400 if m == 1 else 1
    total = np.zeros(policies.n_policies)
    rng = np.random.default_rng(0)
    for x, weight in zip(contexts, weights, strict=True):
        if m == 1:  # second moments of the rewards, by averaging draws of the reward vector
            rewards = np.zeros(world.n_actions)
            here = world._rewards_of(np.full(draws, x), rng)
            for action in range(world.n_actions):
                shown = np.full((draws, 1), action, dtype=np.int32)
                rewards[action] = (here(shown) ** 2).mean()
        else:
            rewards = world._expected_rewards(np.array([x]))[0]
        ratio = rewards / design.propensities([x])[0]
        slates = policies.actions([x])[0]
        total += weight * ratio[slates].sum(axis=1)
    return total


CASES = list(worlds())


@pytest.mark.parametrize(("name", "world", "epsilon"), CASES, ids=[case[0] for case in CASES])
def test_promises(name, world, epsilon):
    """Failures of epsilon, of the variance theorem and of the observed bound, against delta."""
    delta = 0.05
    runs = 100
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    problem = world.problem(epsilon=epsilon, delta=delta)
    failures = {"epsilon": 0, "theorem": 0, "observed": 0}
    for seed in range(runs):
        learner = ps.LowVarianceExploration(policies, problem, sampled=seed % 5 == 4, rng=seed)
        result = ps.run(learner, world, 10**7, batch_size=20_000, checkpoints=0, rng=100 + seed)
        assert result.finished
        failures["epsilon"] += result.suboptimality > epsilon
        truth = exact_variance_terms(world, policies, learner.design).max()
        failures["theorem"] += truth > learner.plan.variance_bound
        failures["observed"] += truth > learner.design.variance_bound
    for count in failures.values():
        assert_at_most(count, runs, delta, alpha=1e-3)


def test_the_promise_can_be_broken():
    """With far too few rounds the same count does find failures."""
    _, world, epsilon = CASES[0]
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    wrong = 0
    for seed in range(50):
        learner = ps.LowVarianceExploration(
            policies,
            world.problem(epsilon=epsilon, delta=0.05),
            explore_rounds=10,
            estimate_rounds=10,
            rng=seed,
        )
        wrong += ps.run(learner, world, rng=100 + seed).suboptimality > epsilon
    with pytest.raises(AssertionError):
        assert_at_most(wrong, 50, 0.05, alpha=1e-3)
