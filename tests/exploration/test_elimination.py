"""Policy elimination: uniform over what the survivors would show, with the Sieve's certificate."""

import numpy as np
import pytest

import policysieve as ps
from tests.statistics import assert_at_most


def one_good(K=20, n_policies=40, **arguments):
    world = ps.worlds.SparseSynthetic(
        n_actions=K, n_contexts=100, n_policies=n_policies, profile="one_good", rng=0, **arguments
    )
    return world, ps.PolicyTable(world.pool, n_actions=K)


def test_finds_certifies_and_stops():
    world, policies = one_good()
    learner = ps.PolicyElimination(policies, world.problem(epsilon=0.05, delta=0.05), rng=1)
    result = ps.run(learner, world, 50_000, rng=2)
    assert result.finished
    assert result.recommendation.certified
    assert result.suboptimality == 0
    assert result.rounds < 10_000
    assert 0 < len(learner.survivors) < 40


def play_to_the_next_look(learner, world, rng):
    draw = world.draw(learner.ask_limit, rng)
    decisions = learner.ask(draw.contexts)
    learner.tell(decisions, draw.rewards(decisions.actions))


@pytest.mark.parametrize("m", [1, 3])
def test_uniform_over_what_survivors_show(m):
    """W = m/|A(x)|, and no policy that a look has eliminated is still played."""
    world, policies = one_good(K=12, n_policies=10, slate_size=m)
    learner = ps.PolicyElimination(policies, world.problem(epsilon=0.01, delta=0.2), rng=0)
    slates = policies.actions(np.arange(100))
    rng, numbers = np.random.default_rng(3), set()
    while len(learner.survivors) > 3 and learner.rounds < 5000:
        play_to_the_next_look(learner, world, rng)
        np.testing.assert_array_equal(learner.exploration.survivors, learner.survivors)
        if len(learner.survivors) in numbers:
            continue
        numbers.add(len(learner.survivors))
        sizes = [len(np.unique(slates[x, learner.survivors])) for x in range(100)]
        assert learner.mixing == 1
        assert learner.exploration.floor <= m / max(sizes) * (1 + 1e-9)
        contexts = rng.permutation(100)[: learner.ask_limit]
        decisions = learner.ask(contexts)
        for x, shown, found in zip(
            contexts, decisions.actions, decisions.propensities, strict=True
        ):
            assert np.isin(shown, slates[x, learner.survivors]).all()
            np.testing.assert_allclose(found, m / sizes[x], rtol=1e-12)
        learner.discard(decisions)
    assert len(numbers) > 2


def test_the_best_is_not_lost():
    """Certificates and eliminations that are wrong, against delta."""
    world = ps.worlds.SparseSynthetic(
        n_actions=5, n_contexts=40, n_policies=8, profile="close", noise=0.3, rng=4
    )
    policies = ps.PolicyTable(world.pool, n_actions=5)
    problem = world.problem(epsilon=0.05, delta=0.2)
    truth = world.values(policies)
    wrong = lost = left = 0
    for seed in range(60):
        learner = ps.PolicyElimination(policies, problem, rng=seed)
        result = ps.run(learner, world, 1500, checkpoints=5, rng=500 + seed)
        wrong += any(
            look.suboptimality > look.recommendation.suboptimality_bound for look in result.history
        )
        lost += truth[learner.survivors].max() < truth.max()
        left += len(learner.survivors) < 8
    assert_at_most(wrong, 60, problem.delta, alpha=1e-3)
    assert_at_most(lost, 60, problem.delta, alpha=1e-3)
    assert left > 30


def test_stops_when_the_rounds_are_used_up():
    world, policies = one_good()
    learner = ps.PolicyElimination(
        policies, world.problem(epsilon=0.01, delta=0.05), rounds=60, rng=0
    )
    result = ps.run(learner, world, 1000, rng=0)
    assert result.finished
    assert result.rounds == 60
    assert not result.recommendation.certified


def test_bad_rounds():
    world, policies = one_good()
    with pytest.raises(ps.InvalidArgumentError, match="rounds"):
        ps.PolicyElimination(policies, world.problem(epsilon=0.1, delta=0.1), rounds=0)
