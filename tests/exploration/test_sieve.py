"""The Sieve: valid whatever it does, and sooner done than uniform exploration."""

from itertools import combinations

import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorer_contract import ExplorerContract
from tests.statistics import assert_at_most


class TestSieve(ExplorerContract):
    def make(self, policies, problem, seed):
        return ps.Sieve(policies, problem, rng=seed)


class TestSieveForTheBest(ExplorerContract):
    def make(self, policies, problem, seed):
        return ps.Sieve(policies, problem, goal="best", rounds=5000, rng=seed)


def one_good(K=20, n_policies=40, seed=0, **arguments):
    world = ps.worlds.SparseSynthetic(
        n_actions=K,
        n_contexts=100,
        n_policies=n_policies,
        profile="one_good",
        rng=seed,
        **arguments,
    )
    return world, ps.PolicyTable(world.pool, n_actions=K)


@pytest.mark.parametrize("m", [1, 2])
def test_propensities_are_exact(m):
    """W(x, j) by enumeration of the survivors' slates and of the policies of the design."""
    world, policies = one_good(K=6, n_policies=8, slate_size=m)
    learner = ps.Sieve(policies, world.problem(epsilon=0.3, delta=0.1), mixing=0.4, rng=0)
    ps.run(learner, world, 400, batch_size=50)
    design = learner._design
    assert design.mixing == 0.4
    decisions = learner.ask(np.arange(100))
    for x in range(100):
        slates = [set(policies.actions([x])[0, p].tolist()) for p in design.survivors]
        allowed = sorted(set().union(*slates))
        W = dict.fromkeys(range(6), 0.0)
        subsets = list(combinations(allowed, m))
        for subset in subsets:
            for j in subset:
                W[j] += 0.4 / len(subsets)
        for p, share in zip(design.support, design.shares, strict=True):
            for j in policies.actions([x])[0, p].tolist():
                W[j] += 0.6 * share
        for j, w in zip(decisions.actions[x], decisions.propensities[x], strict=True):
            assert w == pytest.approx(W[int(j)])
        assert min(w for w in W.values() if w) >= design.floor * (1 - 1e-12)
        for p in design.survivors:
            largest = sum(1 / W[int(j)] for j in policies.actions([x])[0, p]) / m
            assert largest <= design.ranges[p] * (1 + 1e-9) / learner.problem.reward_cap


def test_finds_certifies_and_stops():
    world, policies = one_good()
    problem = world.problem(epsilon=0.05, delta=0.05)
    learner = ps.Sieve(policies, problem, rng=1)
    result = ps.run(learner, world, 50_000, rng=2)
    assert result.finished
    assert result.recommendation.certified
    assert result.suboptimality == 0
    assert "whenever you look" in result.recommendation.guarantee
    assert result.rounds < 5000
    assert len(learner.survivors) < 40


def test_needs_fewer_rounds_than_uniform_exploration():
    """On policies of close value, with the same certificate."""
    world = ps.worlds.SparseSynthetic(
        n_actions=50, n_contexts=200, n_policies=30, profile="close", rng=3
    )
    policies = ps.PolicyTable(world.pool, n_actions=50)
    problem = world.problem(epsilon=0.08, delta=0.05)
    sieve = ps.run(ps.Sieve(policies, problem, rng=0), world, 200_000, batch_size=1000)
    assert sieve.finished
    uniform = ps.Uniform(policies, problem, rounds=2 * sieve.rounds, rng=0)
    ps.run(uniform, world, 2 * sieve.rounds, batch_size=1000)
    assert not ps.select(uniform.log, policies, problem).certificate.certified


def test_certificates_of_the_sieve_are_true():
    """Adaptive designs, elimination, optional stopping: wrong ones against delta."""
    world = ps.worlds.SparseSynthetic(
        n_actions=6, n_contexts=40, n_policies=12, profile="close", noise=0.3, rng=4
    )
    policies = ps.PolicyTable(world.pool, n_actions=6)
    problem = world.problem(epsilon=0.05, delta=0.2)
    truth = world.values(policies)
    wrong = lost = 0
    for seed in range(60):
        learner = ps.Sieve(policies, problem, rng=seed)
        result = ps.run(learner, world, 3000, checkpoints=12, rng=500 + seed)
        wrong += any(
            look.suboptimality > look.recommendation.suboptimality_bound for look in result.history
        )
        lost += truth[learner.survivors].max() < truth.max()
    assert_at_most(wrong, 60, problem.delta, alpha=1e-3)
    assert_at_most(lost, 60, problem.delta, alpha=1e-3)


def test_delayed_answers_meet_their_own_design():
    """Batches that were asked before a redesign count with the design they were asked with."""
    world, policies = one_good(K=8, n_policies=10)
    problem = world.problem(epsilon=0.1, delta=0.1)
    learner = ps.Sieve(policies, problem, rng=0)
    rng, waiting = np.random.default_rng(1), []
    for _ in range(40):
        draw = world.draw(30, rng)
        waiting.append((learner.ask(draw.contexts), draw))
        if len(waiting) > 6:
            decisions, late = waiting.pop(0)
            learner.tell(decisions, late.rewards(decisions.actions))
    for decisions, late in reversed(waiting):
        learner.tell(decisions, late.rewards(decisions.actions))
    assert learner.rounds == 1200
    assert learner.pending == 0
    assert len({block.largest for block in learner.evidence.record.blocks}) > 1


def test_functions_as_policies():
    """Contexts that cannot be listed: the floor comes from the number of survivors."""
    rules = ps.FunctionPolicies([lambda x, k=k: (x + k) % 5 for k in range(5)], n_actions=5)
    learner = ps.Sieve(rules, ps.Problem(n_actions=5, epsilon=0.1, delta=0.1), rng=0)
    rng = np.random.default_rng(0)
    while not learner.finished and learner.rounds < 20_000:
        contexts = rng.integers(0, 10**6, 50)
        decisions = learner.ask(contexts)
        learner.tell(decisions, decisions.actions[:, 0] == (contexts + 2) % 5)
    assert learner.finished
    assert learner.recommend().policy == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "win"}, "goal must be one of"),
        ({"mixing": 0}, "mixing"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_arguments(arguments, message):
    world, policies = one_good()
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.1), **arguments)
