import numpy as np
import pytest

import policysieve as ps
from tests.exploration.cases import assert_unbiased, play, random_case, true_values
from tests.oracles import baselines as oracle
from tests.statistics import assert_at_most


def make(policies, m=1, K=6, **arguments):
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.2, delta=0.1)
    return ps.EpsilonGreedy(policies, problem, **{"rng": 1, **arguments})


@pytest.mark.parametrize("m", [1, 2, 6])
@pytest.mark.parametrize("batch", [1, 20])
def test_equals_the_naive_algorithm(m, batch):
    """The leader before every round, and the propensities of what was shown."""
    policies, rewards = random_case(seed=m, m=m)
    learner = make(policies, m, rounds=300, mixing=0.3)
    leaders, rng = [], np.random.default_rng(2)
    for _ in range(0, 300, batch):
        contexts = rng.integers(0, 5, batch)
        leaders += [learner.leader] * batch
        decisions = learner.ask(contexts)
        learner.tell(decisions, rewards[contexts[:, None], decisions.actions])
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    expected, propensities = oracle.epsilon_greedy(slates, log.actions, log.rewards, 6, 0.3, batch)
    assert leaders == expected
    assert len(set(leaders)) > 1 or m == 6
    np.testing.assert_allclose(log.propensities, propensities, rtol=1e-12)
    assert learner.recommend().policy == learner.leader


def test_of_equals_the_first_leads():
    policies = ps.PolicyTable([[1, 0, 0, 2]], n_actions=3)
    learner = make(policies, K=3, mixing=1.0)
    assert learner.leader == 0
    decisions = learner.ask(np.zeros(200, int))
    assert (decisions.propensities == 1 / 3).all()
    learner.tell(decisions, decisions.actions == 0)
    assert learner.leader == learner.recommend().policy == 1


def test_the_leader_stands_still_within_a_batch():
    policies = ps.PolicyTable([[0, 1]], n_actions=2)
    learner = make(policies, K=2, mixing=0.5)
    first, second = learner.ask(np.zeros(100, int)), learner.ask(np.zeros(100, int))
    for batch in (first, second):
        np.testing.assert_array_equal(batch.propensities == 0.75, batch.actions == 0)
        learner.tell(batch, batch.actions == 1)
    later = learner.ask(np.zeros(100, int))
    np.testing.assert_array_equal(later.propensities == 0.75, later.actions == 1)


@pytest.mark.parametrize("m", [1, 2])
def test_estimates_are_right_on_average_and_intervals_hold(m):
    policies, rewards = random_case(seed=10 + m, m=m)
    truth = true_values(policies, rewards)
    estimates, outside = [], 0
    for seed in range(300):
        learner = make(policies, m, rounds=60, mixing=0.4, rng=seed)
        play(learner, rewards, 60, 10, seed=1000 + seed)
        intervals = learner.intervals()
        estimates.append(intervals.values)
        outside += bool(((truth < intervals.lower) | (truth > intervals.upper)).any())
    assert_unbiased(estimates, truth)
    assert_at_most(outside, 300, 0.1)


def test_planned_rounds():
    policies, rewards = random_case(seed=3)
    learner = make(policies, rounds=50)
    play(learner, rewards, 50, 25, seed=1)
    assert learner.finished
    assert learner.ask_limit == 0
    before = learner.recommend()
    play(learner, rewards, 30, 30, seed=2)
    assert (learner.recommend().policy, learner.recommend().value) == (before.policy, before.value)
    assert learner.rounds == 80
    assert "no number of rounds" in before.guarantee


def test_finds_a_good_policy():
    world = ps.worlds.SparseSynthetic(
        n_actions=10, n_contexts=500, n_policies=100, profile="one_good", rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=10)
    learner = ps.EpsilonGreedy(policies, world.problem(epsilon=0.05, delta=0.05), rng=0)
    assert ps.run(learner, world, 1000).suboptimality == 0


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"mixing": 0}, {"mixing": 1.1}])
def test_bad_arguments(bad):
    with pytest.raises(ps.InvalidArgumentError, match=next(iter(bad))):
        make(random_case(0)[0], **bad)
