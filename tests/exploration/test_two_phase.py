"""What the log-barrier design and the list by multiplicative weights have in common."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs import ListExploration
from tests.contracts.explorer_contract import ExplorerContract
from tests.exploration.cases import assert_unbiased, play, random_case, true_values
from tests.oracles import baselines as oracle
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most

every = pytest.mark.parametrize("kind", [ps.LowVarianceExploration, ps.LogBarrier, ps.ListWeights])
both = pytest.mark.parametrize("kind", [ps.LogBarrier, ps.ListWeights])


class SecondPhase(ExplorerContract):
    """The same contract with a first phase so short that the tests reach the second."""

    def test_estimates_are_unbiased(self, m):
        """The first batch of a hundred is uniform, thirty rounds of it phase 1."""
        learner = self.learner(m)
        for k in range(4):
            decisions = learner.ask(self.contexts(100, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        log = learner.log
        assert (log.propensities[:100] == m / 6).all()
        assert len(np.unique(log.propensities[100:])) > 1
        slates = self.policies(m).actions(log.contexts).tolist()
        samples = importance_weighted(slates, log.actions, log.propensities, log.rewards)
        worth = self.worth(m)
        naive = oracle.weighted_estimates(samples, [worth] * 100 + [1.0] * 300)
        np.testing.assert_allclose(learner.intervals().values, naive, rtol=1e-12)


class TestSecondPhaseOfLogBarrier(SecondPhase):
    def make(self, policies, problem, seed):
        return ps.LogBarrier(
            policies, problem, explore_rounds=30, estimate_rounds=10**6, mixing=0.2, rng=seed
        )

    def worth(self, m):
        """Variance s/(mu (1-gamma)) over K/m; the contract's problems have s = mu."""
        return m / (0.8 * 6)


class TestSecondPhaseOfListWeights(SecondPhase):
    def make(self, policies, problem, seed):
        return ps.ListWeights(
            policies,
            problem,
            explore_rounds=30,
            estimate_rounds=10**6,
            list_size=1,
            mixing=0.5,
            rng=seed,
        )

    def worth(self, m):
        """Variance L/(1-gamma) over K/m, at most one."""
        return min(1.0, 2 * m / 6)


def make(kind, policies, m=1, K=6, **arguments):
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.3, delta=0.1)
    return kind(policies, problem, **{"rng": 1, **arguments})


@both
def test_sizes_are_those_of_the_plan(kind):
    policies, _ = random_case(0)
    learner = make(kind, policies)
    sizes = ps.plan(learner.problem, 9)
    assert learner.explore_rounds == sizes.explore_rounds
    assert learner.estimate_rounds == sizes.estimate_rounds
    assert learner.mixing == sizes.mixing


@both
@pytest.mark.parametrize("m", [1, 2])
def test_estimates_are_right_on_average_and_intervals_hold(kind, m):
    policies, rewards = random_case(seed=10 + m, m=m)
    truth = true_values(policies, rewards)
    estimates, outside = [], 0
    for seed in range(300):
        learner = make(kind, policies, m, explore_rounds=40, estimate_rounds=60, rng=seed)
        play(learner, rewards, 40, 40, seed=1000 + seed)
        play(learner, rewards, 60, 60, seed=5000 + seed)
        assert learner.finished
        intervals = learner.intervals()
        estimates.append(intervals.values)
        outside += bool(((truth < intervals.lower) | (truth > intervals.upper)).any())
    assert_unbiased(estimates, truth)
    assert_at_most(outside, 300, 0.1)


def test_such_limits_would_notice_a_wrong_propensity():
    """Phase 1 weighed by half with the design that was learnt from it is biased."""
    policies, rewards = random_case(seed=11)
    truth = true_values(policies, rewards)
    estimates = []
    for seed in range(300):
        learner = make(
            ps.LogBarrier, policies, explore_rounds=40, estimate_rounds=1, mixing=0.2, rng=seed
        )
        play(learner, rewards, 40, 40, seed=1000 + seed)
        log = learner.log
        W = learner.design.propensities(log.contexts)
        wrong = (log.propensities + np.take_along_axis(W, log.actions, axis=1)) / 2
        slates = policies.actions(log.contexts).tolist()
        estimates.append(importance_weighted(slates, log.actions, wrong, log.rewards).mean(axis=0))
    with pytest.raises(AssertionError):
        assert_unbiased(estimates, truth)


@both
def test_late_rewards_change_nothing(kind):
    policies, rewards = random_case(seed=1)
    found = []
    for lag in (0, 5):
        learner = make(kind, policies, explore_rounds=90, estimate_rounds=50)
        waiting, rng = [], np.random.default_rng(2)
        for _ in range(10):
            contexts = rng.integers(0, 5, 20)
            waiting.append(learner.ask(contexts) if learner.design is None else None)
            if len(waiting) > lag and (first := waiting.pop(0)) is not None:
                learner.tell(first, rewards[first.contexts[:, None], first.actions])
        for late in reversed([one for one in waiting if one is not None]):
            learner.tell(late, rewards[late.contexts[:, None], late.actions])
        found.append(learner.design.propensities(np.arange(5)))
    np.testing.assert_array_equal(found[0], found[1])


@both
def test_rounds_between_the_phases_count_but_do_not_enter_the_design(kind):
    policies, rewards = random_case(seed=1)
    designs = []
    for extra in (0, 30):
        learner = make(kind, policies, explore_rounds=50, estimate_rounds=30)
        assert learner.ask_limit == 50
        contexts = np.arange(50 + extra) % 5
        decisions = learner.ask(contexts)
        assert learner.ask_limit == 0
        learner.tell(decisions, rewards[contexts[:, None], decisions.actions])
        assert learner.ask_limit == 30
        slates = policies.actions(contexts).tolist()
        samples = importance_weighted(
            slates, decisions.actions, decisions.propensities, learner.log.rewards
        )
        np.testing.assert_allclose(learner.intervals().values, samples.mean(axis=0))
        designs.append(learner.design.propensities(np.arange(5)))
    np.testing.assert_array_equal(designs[0], designs[1])
    play(learner, rewards, 45, 45, seed=1)
    assert learner.finished
    assert learner.rounds == 125
    before = learner.recommend()
    play(learner, rewards, 20, 20, seed=2)  # after the planned rounds nothing counts
    assert (learner.recommend().policy, learner.recommend().value) == (before.policy, before.value)
    assert "guarantee no epsilon in advance" in before.guarantee


@both
@pytest.mark.parametrize("m", [1, 2])
def test_without_a_reward_the_design_knows_nothing(kind, m):
    policies, _ = random_case(seed=2, m=m)
    learner = make(kind, policies, m, explore_rounds=20, estimate_rounds=20)
    learner.tell(learner.ask(np.zeros(20, int)), np.zeros((20, m)))
    if isinstance(learner.design, ListExploration):
        assert not len(learner.design.listed)
        np.testing.assert_allclose(learner.design.propensities([0, 1]), m / 6)
    else:
        np.testing.assert_allclose(learner.design.shares, 1 / 9)
    decisions = learner.ask(np.zeros(20, int))
    W = learner.design.propensities(decisions.contexts)
    np.testing.assert_allclose(
        decisions.propensities, np.take_along_axis(W, decisions.actions, axis=1)
    )


@both
@pytest.mark.parametrize("profile", ["one_good", "clusters"])
def test_finds_a_good_policy(kind, profile):
    world = ps.worlds.SparseSynthetic(
        n_actions=10, n_contexts=500, n_policies=100, profile=profile, rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=10)
    learner = kind(
        policies,
        world.problem(epsilon=0.05, delta=0.05),
        explore_rounds=500,
        estimate_rounds=1500,
        rng=0,
    )
    result = ps.run(learner, world, 2000)
    assert result.finished
    assert result.suboptimality <= 0.05


@both
@pytest.mark.parametrize(
    "bad",
    [{"explore_rounds": 0}, {"estimate_rounds": 1.5}, {"mixing": 0}, {"mixing": 1}],
)
def test_bad_arguments(kind, bad):
    with pytest.raises(ps.InvalidArgumentError, match=next(iter(bad))):
        make(kind, random_case(0)[0], **bad)


@pytest.mark.parametrize("bad", [{"list_size": 0}, {"learning_rate": 0}])
def test_bad_arguments_of_the_list(bad):
    with pytest.raises(ps.InvalidArgumentError, match=next(iter(bad))):
        make(ps.ListWeights, random_case(0)[0], **bad)


def certified_case(seed=0, n_actions=8, n_policies=20):
    world = ps.worlds.SparseSynthetic(
        n_actions=n_actions, n_contexts=60, n_policies=n_policies, profile="clusters", rng=seed
    )
    return world, ps.PolicyTable(world.pool, n_actions=n_actions)


@every
@pytest.mark.parametrize("explore_rounds", [100, 5000])
def test_a_certificate_ends_it(kind, explore_rounds):
    """In either phase; until then it plays as it would have, and what it says is proved."""
    world, policies = certified_case()
    problem = world.problem(epsilon=0.2, delta=0.05)
    planned, stopping = (
        kind(policies, problem, explore_rounds=explore_rounds, stop=stop, rng=0)
        for stop in ("planned", "certified")
    )
    rng = np.random.default_rng(1)
    while not stopping.finished:
        draw = world.draw(min(stopping.ask_limit, 50), rng)
        for learner in (planned, stopping):
            decisions = learner.ask(draw.contexts)
            learner.tell(decisions, draw.rewards(decisions.actions))
    np.testing.assert_array_equal(stopping.log.actions, planned.log.actions)
    np.testing.assert_array_equal(stopping.log.propensities, planned.log.propensities)
    assert (stopping.design is None) == (planned.design is None) == (explore_rounds == 5000)
    assert not planned.finished
    assert planned.evidence is None
    assert stopping.rounds < ps.plan(problem, policies.n_policies).total_rounds / 3
    evidence = ps.Evidence(policies, problem)
    log, uniform = stopping.log, stopping.log[:explore_rounds]
    evidence.add(uniform, ps.Uniform(policies, problem, rounds=1).exploration)
    if stopping.design is not None:
        evidence.add(log[explore_rounds:], stopping.design)
    found, proof = stopping.recommend(), evidence.certificate()
    assert proof.certified
    assert found.certified
    assert (found.policy, found.suboptimality_bound) == (proof.leader, proof.suboptimality_bound)
    assert "whenever you look" in found.guarantee
    np.testing.assert_array_equal(stopping.intervals().values, evidence.intervals().values)


@every
def test_rounds_after_the_certificate_change_nothing(kind):
    """Also those of the batch in which it came."""
    world, policies = certified_case()
    problem = world.problem(epsilon=0.2, delta=0.05)
    found = []
    for limited in (True, False):
        learner = kind(policies, problem, explore_rounds=4000, stop="certified", rng=0)
        draw = world.draw(4000, np.random.default_rng(1))
        rewards = np.hstack([draw.rewards(np.full((4000, 1), action)) for action in range(8)])
        start = 0
        while start < 4000 and not (limited and learner.finished):
            size = min(learner.ask_limit, 4000 - start) if limited else 4000
            decisions = learner.ask(draw.contexts[start : start + size])
            rows = np.arange(start, start + size)[:, None]
            learner.tell(decisions, rewards[rows, decisions.actions])
            start += size
        assert learner.finished
        assert learner.design is None
        found.append((learner.evidence.rounds, learner.recommend().policy))
        assert learner.rounds == start
    assert found[0] == found[1]


@every
def test_certificates_are_true(kind):
    """Wrong bounds among runs with a rival that is hard to tell from the best, against delta."""
    world = ps.worlds.HiddenArm(n_actions=4, sparsity=1.0, epsilon=0.1, rng=0)
    policies = ps.PolicyTable(world.pool, n_actions=4)
    problem, truth = world.problem(epsilon=0.15, delta=0.2), world.values(policies)
    wrong, certified = 0, []
    for seed in range(40):
        learner = kind(
            policies, problem, explore_rounds=40, estimate_rounds=160, stop="certified", rng=seed
        )
        result = ps.run(learner, world, 1000, checkpoints=0, rng=100 + seed)
        assert result.finished
        found = result.recommendation
        certified.append(found.certified)
        wrong += truth.max() - truth[found.policy] > found.suboptimality_bound + 1e-12
    assert_at_most(wrong, 40, 0.2, alpha=1e-3)
    assert set(certified) == {True, False}  # the planned rounds are the end without one, too


@every
def test_what_cannot_be_certified(kind):
    policies, _ = random_case(0)
    with pytest.raises(ps.InvalidArgumentError, match="stop must be one of"):
        make(kind, policies, stop="soon")
    one = ps.PolicyTable(np.zeros((5, 1), int), n_actions=6)
    with pytest.raises(ps.InvalidArgumentError, match="at least two"):
        make(kind, one, stop="certified")


def test_a_class_without_end_ends_as_planned():
    tabular = ps.TabularPolicies(n_contexts=3, n_actions=6)
    with pytest.raises(ps.InvalidArgumentError, match=r"stop must be .planned. for a class"):
        make(ps.LowVarianceExploration, tabular, stop="certified")
