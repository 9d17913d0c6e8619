"""Odd but possible uses: copies, discards, bad late answers, equal seeds, vanishing weights."""

import copy

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs import MixtureExploration

TWO = ps.PolicyTable([[0, 1]], n_actions=2)
PROBLEM = ps.Problem(n_actions=2, sparsity=2.0, epsilon=0.1, delta=0.1)


def test_discarded_rounds_do_not_enter_the_average():
    """Ask and discard for long, then play honestly: the average is over the played rounds only."""
    learner = ps.ExplorationByOptimization(TWO, PROBLEM, rounds=300, output="average", rng=0)
    for _ in range(3000):
        learner.discard(learner.ask(0))
    honest = ps.ExplorationByOptimization(TWO, PROBLEM, rounds=300, output="average", rng=1)
    for one in (learner, honest):
        for _ in range(300):
            decisions = one.ask(0)
            one.tell(decisions, decisions.actions[:, 0] == 1)
    assert learner.average_policy().shares[1] > 0.8
    assert honest.average_policy().shares[1] > 0.8
    before = honest.average_policy().shares.copy()
    honest.tell(honest.ask(0), np.ones(1))  # after the planned rounds nothing counts
    np.testing.assert_array_equal(honest.average_policy().shares, before)


@pytest.mark.parametrize("make", [ps.ExplorationByOptimization, ps.Exp4])
def test_no_policy_loses_its_propensity(make):
    """Weights that would vanish stay, so that every policy can still be estimated."""
    arguments = {"information_weight": 2.4} if make is ps.ExplorationByOptimization else {}
    learner = make(TWO, PROBLEM, rounds=60_000, rng=0, **arguments)
    rng = np.random.default_rng(0)
    means = np.array([0.9, 0.7])
    for _ in range(10):
        decisions = learner.ask(np.zeros(6_000, int))
        learner.tell(decisions, rng.random(6_000) < means[decisions.actions[:, 0]])
    assert (learner.weights > 0).all()
    intervals = learner.intervals()
    assert ((intervals.lower <= means) & (means <= intervals.upper)).all()
    recommendation = learner.recommend()
    assert means.max() - means[recommendation.policy] <= recommendation.suboptimality_bound


def test_a_bad_late_answer_is_refused_when_it_is_told():
    learner = ps.ExplorationByOptimization(TWO, PROBLEM, rounds=50, rng=0)
    first, second = learner.ask(0), learner.ask(0)
    with pytest.raises(ps.InvalidArgumentError, match="rewards='real'"):
        learner.tell(second, [0.5])
    learner.tell(second, [1])
    learner.tell(first, [1])
    assert learner.rounds == 2


def test_contexts_of_one_kind():
    rules = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)] * 2, n_actions=2)
    learner = ps.Uniform(rules, PROBLEM, rng=0)
    decisions = learner.ask(np.zeros((3, 2)))
    for other in (np.zeros((3, 4)), np.array(["a", "b"])):
        with pytest.raises(
            ps.InvalidArgumentError, match=r"like those of earlier rounds, of shape \(n, 2\)"
        ):
            learner.ask(other)
    learner.tell(decisions, np.zeros(3))
    assert len(learner.log) == 3


def test_no_contexts_are_of_no_kind():
    rules = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)] * 2, n_actions=2)
    learner = ps.Uniform(rules, PROBLEM, rng=0)
    assert not len(learner.ask([]))
    assert len(learner.ask(["a", "b"])) == 2


def test_large_numbers_are_not_rounded():
    rules = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)] * 2, n_actions=2)
    learner = ps.Uniform(rules, PROBLEM, rng=0)
    learner.tell(learner.ask([2**63 + 1025]), [0])
    assert learner.log.contexts.tolist() == [2**63 + 1025]
    with pytest.raises(ps.InvalidArgumentError, match="beyond int64"):
        learner.ask([2**60 + 1])


def test_a_copy_is_another_learner():
    learner = ps.Uniform(ps.PolicyTable([[0, 1]] * 3, n_actions=2), PROBLEM, rng=0)
    twin = copy.deepcopy(learner)
    theirs = twin.ask(np.arange(3).repeat(20))
    learner.ask(np.zeros(5, int))  # now the copies have gone different ways
    learner.ask(np.zeros(60, int))
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        learner.tell(twin.ask(np.zeros(60, int)), np.zeros(60))
    twin.tell(theirs, np.zeros(60))


def test_a_failed_ask_does_not_use_random_numbers():
    broken = []

    def fragile(x):
        if broken:
            raise RuntimeError("down")
        return x % 2

    policies = ps.FunctionPolicies([fragile, lambda x: x * 0], n_actions=2)
    one, two = (ps.Sieve(policies, PROBLEM, rng=4) for _ in range(2))
    for learner in (one, two):
        learner.ask([0])
    broken.append(True)
    with pytest.raises(ps.PolicyFailureError):
        one.ask(np.arange(50))
    broken.clear()
    np.testing.assert_array_equal(one.ask(np.arange(50)).actions, two.ask(np.arange(50)).actions)


def test_a_learner_and_its_world_may_have_the_same_seed():
    """Otherwise actions would be drawn from the numbers that drew contexts and rewards."""
    for seed in range(3):
        learner = ps.Uniform(TWO, PROBLEM, rounds=4000, rng=seed)
        decisions = learner.ask(np.zeros(4000, int))
        same = np.random.default_rng(seed).random(4000)
        correlation = np.corrcoef(same, decisions.actions[:, 0])[0, 1]
        assert abs(correlation) < 6 / np.sqrt(4000)
        design = MixtureExploration(
            TWO, PROBLEM, support=np.array([0, 1]), shares=np.full(2, 0.5), mixing=0.5
        )
        other = design.ask(np.zeros(4000, int), rng=seed).actions[:, 0]
        assert abs(np.corrcoef(other, decisions.actions[:, 0])[0, 1]) < 6 / np.sqrt(4000)


def test_empty_batches_in_any_order():
    learner = ps.Uniform(TWO, PROBLEM, rng=0)
    nothing, something = learner.ask(np.empty(0, int)), learner.ask([0])
    learner.tell(something, [1])
    learner.tell(nothing, [])
    assert learner.rounds == 1


def test_a_world_that_exceeds_the_declared_sparsity():
    world = ps.worlds.HiddenArm(n_actions=6, sparsity=4, epsilon=0.1)
    problem = ps.Problem(n_actions=6, sparsity=1.0, epsilon=0.2, delta=0.1)
    learner = ps.Uniform(ps.PolicyTable(world.pool, n_actions=6), problem, rng=0)
    with pytest.raises(ps.InvalidArgumentError, match=r"declares sparsity 1, but .* up to 4"):
        ps.run(learner, world)


def test_sizes_for_fractions_are_larger():
    binary = ps.ExplorationByOptimization(TWO, PROBLEM)
    real = ps.ExplorationByOptimization(TWO, PROBLEM, rewards="real")
    assert real.planned_rounds > binary.planned_rounds
    room = real.information_weight - 2
    gap = 2 / room + real.information_weight * np.log(2 / 0.1) / real.planned_rounds
    assert gap <= 0.1
