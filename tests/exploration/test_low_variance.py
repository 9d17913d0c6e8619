"""Low-variance exploration: the contract, its two phases, and what it says."""

import math
from itertools import combinations

import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorer_contract import ExplorerContract
from tests.exploration.cases import play, random_case
from tests.oracles.naive import importance_weighted


class TestPaperDraws(ExplorerContract):
    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(policies, problem, sampled=True, rng=seed)


class TestSecondPhase(ExplorerContract):
    """The same contract with a first phase so short that the tests reach the second."""

    sampled = False

    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(
            policies,
            problem,
            explore_rounds=30,
            estimate_rounds=10**6,
            sampled=self.sampled,
            rng=seed,
        )

    def estimation_log(self, learner):
        return learner.log[100:]  # the first batch of a hundred is uniform, thirty of it phase 1

    def test_reaches_the_second_phase(self, m):
        learner = self.learner(m)
        decisions = learner.ask(self.contexts(60))
        assert learner.design is None
        learner.tell(decisions, self.rewards(decisions))
        assert learner.design is not None
        later = learner.ask(self.contexts(50))
        assert len(np.unique(later.propensities)) > 1


class TestSecondPhaseOfPaperDraws(TestSecondPhase):
    sampled = True


class TestUntilCertified(ExplorerContract):
    """The same contract for one that ends when epsilon is certified, in its second phase, too."""

    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(
            policies, problem, explore_rounds=150, stop="certified", rng=seed
        )


def test_squares_bound_what_a_slate_can_vary():
    """E R^2 <= m E sum r^2/W, and r for r^2 with min(s, m) for m; over all slates."""
    rng = np.random.default_rng(0)
    tight = 0.0
    for trial in range(200):
        m = 2 + trial % 2
        slates = list(combinations(range(5), m))
        chance = rng.dirichlet(np.full(len(slates), 0.5))
        W = np.array(
            [sum(c for c, a in zip(chance, slates, strict=True) if j in a) for j in range(5)]
        )
        r = rng.random(5) if trial % 3 else np.full(5, rng.random())
        chosen = slates[rng.integers(len(slates))]
        totals = [sum(r[j] / W[j] for j in a if j in chosen) for a in slates]
        second = chance @ np.square(totals)
        by_squares = m * sum(r[j] ** 2 / W[j] for j in chosen)
        by_rewards = min(r.sum(), m) * sum(r[j] / W[j] for j in chosen)
        assert second <= min(by_squares, by_rewards) * (1 + 1e-9)
        tight = max(tight, second / by_squares)
    assert tight > 0.8


def test_small_rewards_need_fewer_rounds_of_phase_two():
    """Rewards of a fifth: with squares the variance is a fifth, in the limit of many rounds."""
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=20, n_policies=10, profile="close", slate_size=2, sparsity=2
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = ps.Problem(n_actions=8, slate_size=2, sparsity=None, epsilon=0.1, delta=0.1)
    bounds = []
    for level in (1.0, 0.2):
        draw = world.draw(20_000, np.random.default_rng(0))
        actions = np.random.default_rng(1).permuted(np.tile(np.arange(8), (20_000, 1)), axis=1)
        log = ps.Log(
            contexts=draw.contexts,
            actions=actions[:, :2],
            propensities=np.full((20_000, 2), 0.25),
            rewards=level * draw.rewards(actions[:, :2].astype(np.int32)),
        )
        bounds.append(ps.design(log, policies, problem, mixing=0.5).variance_bound)
    assert 0.04 < bounds[1] / bounds[0] < 0.2


@pytest.mark.parametrize("m", [1, 2, 3])
def test_estimator_is_unbiased_by_enumeration(m):
    """Over all slates the design can show, E R(pi) is the policy's reward and E[shown] is W."""
    K = 5
    policies, rewards = random_case(seed=20 + m, m=m, K=K, n_policies=4, n_contexts=1, rewarded=0.3)
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=50, estimate_rounds=1, rng=0
    )
    play(learner, rewards, 50, 50, seed=1)
    design = learner.design
    W = design.propensities([0])[0]
    assert W.sum() == pytest.approx(m)
    probability = {}
    subsets = list(combinations(range(K), m))
    for subset in subsets:
        probability[subset] = probability.get(subset, 0) + design.mixing / len(subsets)
    for policy, share in zip(design.support, design.shares, strict=True):
        subset = tuple(sorted(policies.actions([0])[0, policy].tolist()))
        probability[subset] += (1 - design.mixing) * share
    shown = np.zeros(K)
    for subset, chance in probability.items():
        shown[list(subset)] += chance
    np.testing.assert_allclose(shown, W, rtol=1e-12)
    for policy in range(4):
        slate = set(policies.actions([0])[0, policy].tolist())
        expected = sum(
            chance * sum(rewards[0, j] / W[j] for j in subset if j in slate)
            for subset, chance in probability.items()
        )
        assert expected == pytest.approx(sum(rewards[0, j] for j in slate), rel=1e-12)


def test_late_rewards_change_nothing():
    policies, rewards = random_case(seed=1, rewarded=0.3)
    problem = ps.Problem(n_actions=6, epsilon=0.3, delta=0.1)
    designs = []
    for lag in (0, 5):
        learner = ps.LowVarianceExploration(
            policies, problem, explore_rounds=200, estimate_rounds=1, rng=1
        )
        waiting = []
        rng = np.random.default_rng(2)
        for _ in range(10):
            contexts = rng.integers(0, 5, 20)
            waiting.append(learner.ask(contexts))
            if len(waiting) > lag:
                first = waiting.pop(0)
                learner.tell(first, rewards[first.contexts[:, None], first.actions])
        for late in reversed(waiting):
            learner.tell(late, rewards[late.contexts[:, None], late.actions])
        designs.append(learner.design)
    np.testing.assert_array_equal(designs[0].shares, designs[1].shares)


def test_rounds_between_the_phases_count_in_neither():
    policies, rewards = random_case(seed=1, rewarded=0.3)
    problem = ps.Problem(n_actions=6, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=50, estimate_rounds=30, rng=1
    )
    assert learner.ask_limit == 50
    decisions = learner.ask(np.zeros(80, int))
    assert learner.ask_limit == 0
    learner.tell(decisions, rewards[0, decisions.actions])
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
    np.testing.assert_allclose(learner.intervals().values, naive[:50].mean(axis=0))
    assert learner.ask_limit == 30
    more = learner.ask(np.zeros(45, int))
    learner.tell(more, rewards[0, more.actions])
    assert learner.finished
    assert learner.rounds == 125
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
    np.testing.assert_allclose(learner.intervals().values, naive[80:110].mean(axis=0))
    before = learner.recommend()
    extra = learner.ask(np.zeros(5, int))
    learner.tell(extra, rewards[0, extra.actions])
    assert learner.recommend().policy == before.policy
    assert learner.recommend().value == before.value


def test_guarantee_sentences():
    policies, _ = random_case(seed=1, rewarded=0.3)
    problem = ps.Problem(n_actions=6, epsilon=0.5, delta=0.2)

    def finished(**sizes):
        learner = ps.LowVarianceExploration(policies, problem, rng=1, **sizes)
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, np.zeros(len(decisions)))
        return learner

    assert "were sized to guarantee it" in finished().recommend().guarantee
    short = finished(explore_rounds=20, estimate_rounds=30).recommend()
    assert "does not apply" in short.guarantee
    assert short.rounds == 50
    plan = finished().plan
    larger = finished(
        explore_rounds=plan.explore_rounds + 5, estimate_rounds=plan.estimate_rounds + 5
    )
    assert "were sized to guarantee it" in larger.recommend().guarantee
    learner = ps.LowVarianceExploration(policies, problem, rng=1)
    assert "Nothing is guaranteed" in learner.recommend().guarantee
    for bad in ({"explore_rounds": 0}, {"estimate_rounds": 0}, {"explore_rounds": 2.5}):
        with pytest.raises(ps.InvalidArgumentError, match="rounds must be a whole number"):
            ps.LowVarianceExploration(policies, problem, **bad)


def test_a_false_sparsity_is_noticed():
    """Rewards that clearly sum to more than declared take the guarantee away."""
    policies, _ = random_case(seed=1, rewarded=0.3)
    problem = ps.Problem(n_actions=6, sparsity=1.0, epsilon=0.5, delta=0.2)
    for dense in (True, False):
        learner = ps.LowVarianceExploration(policies, problem, rng=1)
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, decisions.actions < (3 if dense else 1))
        guarantee = learner.recommend().guarantee
        assert ("sum to about" in guarantee) == dense
        assert ("were sized to guarantee it" in guarantee) != dense


def test_unknown_sparsity_sizes_phase_two_from_what_it_sees():
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=40, n_policies=20, profile="one_good", rng=2
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = ps.Problem(n_actions=8, sparsity=None, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(policies, problem, rng=0)
    assert learner.estimate_rounds is None
    result = ps.run(learner, world, 10**6, batch_size=1000)
    assert result.finished
    V, B = learner.design.variance_bound, learner.design.largest_gain
    expected = (4 * V / 0.09 + 2 * B / 0.9 + 2 / 3) * math.log(20 * 2 / 0.1)
    assert learner.estimate_rounds == math.ceil(expected)
    assert result.suboptimality <= 0.3
    assert "were sized to guarantee it" in result.recommendation.guarantee
