"""Learners on classes without end do what they do on the same class as a list."""

import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import MarginalPolicy
from tests.contracts.explorer_contract import ExplorerContract
from tests.oracles import enumerated

K, X = 3, 4


def tabular():
    return ps.TabularPolicies(n_contexts=X, n_actions=K)


def listed():
    return ps.PolicyTable(enumerated.functions(X, K)[1], n_actions=K)


@pytest.fixture
def problem():
    return ps.Problem(n_actions=K, epsilon=0.2, delta=0.1)


def some_log(n, seed=0, uneven=False):
    """Contexts at random, the action x % K rewarded with probability 0.8, others with 0.1."""
    rng = np.random.default_rng(seed)
    p = np.array([0.5, 0.3, 0.2]) if uneven else np.full(K, 1 / K)
    contexts, actions = rng.integers(X, size=n), rng.choice(K, size=n, p=p)
    rewards = rng.random(n) < np.where(actions == contexts % K, 0.8, 0.1)
    return ps.Log(
        contexts=contexts, actions=actions, propensities=p[actions], rewards=rewards.astype(float)
    )


class TestDesign:
    @pytest.mark.parametrize("uneven", [False, True])
    def test_is_that_of_the_list(self, problem, uneven):
        log = some_log(400, uneven=uneven)
        ours, theirs = (ps.design(log, one, problem, rng=0) for one in (tabular(), listed()))
        contexts = np.arange(X)
        np.testing.assert_allclose(
            ours.propensities(contexts), theirs.propensities(contexts), rtol=1e-9
        )
        assert ours.variance_bound == pytest.approx(theirs.variance_bound, rel=1e-9)
        assert (ours.floor, ours.largest_gain) == (theirs.floor, theirs.largest_gain)

    def test_shows_what_it_says(self, problem):
        found = ps.design(some_log(400), tabular(), problem, rng=0)
        decisions = found.ask(np.zeros(20_000, dtype=int))
        shares = np.bincount(decisions.actions[:, 0], minlength=K) / 20_000
        expected = found.propensities([0])[0]
        np.testing.assert_allclose(shares, expected, atol=0.02)
        np.testing.assert_allclose(decisions.propensities[:, 0], expected[decisions.actions[:, 0]])
        assert repr(found).startswith("MarginalExploration(TabularPolicies(")

    def test_a_log_without_rewards_gives_a_uniform_design(self, problem):
        log = some_log(50)
        empty = ps.Log(
            contexts=log.contexts,
            actions=log.actions,
            propensities=log.propensities,
            rewards=np.zeros(50),
        )
        found = ps.design(empty, tabular(), problem, rng=0)
        np.testing.assert_allclose(found.propensities(np.arange(X)), 1 / K)

    def test_drawing_policies_is_for_lists(self, problem):
        with pytest.raises(ps.InvalidArgumentError, match="sampled=False"):
            ps.LowVarianceExploration(tabular(), problem, sampled=True)


class World:
    """The world of `some_log`, asked by hand."""

    def __init__(self, seed=1):
        self.rng = np.random.default_rng(seed)

    def contexts(self, n):
        return self.rng.integers(X, size=n)

    def rewards(self, decisions):
        right = decisions.actions[:, 0] == decisions.contexts % K
        return (self.rng.random(len(decisions)) < np.where(right, 0.8, 0.1)).astype(float)


def play(learner, n, batch, seed=1):
    world = World(seed)
    for _ in range(n // batch):
        decisions = learner.ask(world.contexts(batch))
        learner.tell(decisions, world.rewards(decisions))
    return learner


def shown(policy, policies=None):
    """What a recommended policy shows at every context."""
    if isinstance(policy, int):
        return policies.actions(np.arange(X), [policy])[:, 0, 0].tolist()
    return policy.actions(np.arange(X))[:, 0].tolist()


class TestLowVariance:
    def test_phases_and_answer(self, problem):
        learner = ps.LowVarianceExploration(
            tabular(), problem, explore_rounds=400, estimate_rounds=600, rng=0
        )
        play(learner, 1000, 100)
        assert learner.finished
        answer = learner.recommend()
        assert shown(answer.policy) == [x % K for x in range(X)]
        assert 0 < answer.lower <= answer.value <= answer.upper <= 1
        assert answer.to_dict()["policy"] == repr(answer.policy) == answer.policy_name
        assert "TabularPolicies" in repr(learner)
        copy = pickle.loads(pickle.dumps(learner))
        assert copy.recommend().to_dict() == answer.to_dict()

    def test_plan_is_that_of_the_list(self, problem):
        ours, theirs = (ps.LowVarianceExploration(one, problem) for one in (tabular(), listed()))
        assert ours.plan.total_rounds == theirs.plan.total_rounds
        assert (ours.explore_rounds, ours.estimate_rounds) == (
            theirs.explore_rounds,
            theirs.estimate_rounds,
        )

    def test_recommends_on_the_same_rounds_what_the_list_does(self, problem):
        """Phase 1 shows the same slates to both."""
        learners = [
            play(
                ps.LowVarianceExploration(
                    one, problem, explore_rounds=900, estimate_rounds=100, rng=0
                ),
                800,
                50,
            )
            for one in (tabular(), listed())
        ]
        ours, theirs = (learner.recommend() for learner in learners)
        assert learners[0].log == learners[1].log
        assert shown(ours.policy) == shown(theirs.policy, listed())
        for name in ("value", "lower", "upper"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9)
        assert ours.suboptimality_bound >= theirs.suboptimality_bound - 1e-12

    def test_before_any_reward(self, problem):
        learner = ps.LowVarianceExploration(tabular(), problem, rng=0)
        first = learner.recommend()
        assert (first.lower, first.upper, first.rounds) == (0.0, 1.0, 0)
        assert first.to_dict()["value"] is None
        decisions = learner.ask([0, 1])
        learner.tell(decisions, [0, 0])
        assert learner.recommend().value == 0

    def test_unknown_sparsity(self):
        problem = ps.Problem(n_actions=K, sparsity=None, epsilon=0.3, delta=0.1)
        ours, theirs = (
            play(ps.LowVarianceExploration(one, problem, explore_rounds=500, rng=0), 500, 100)
            for one in (tabular(), listed())
        )
        assert ours.estimate_rounds == theirs.estimate_rounds


class TestUniform:
    def test_is_that_of_the_list(self, problem):
        learners = [
            play(ps.Uniform(one, problem, rounds=600, rng=0), 600, 100)
            for one in (tabular(), listed())
        ]
        ours, theirs = (learner.recommend() for learner in learners)
        assert learners[0].needed_rounds == learners[1].needed_rounds
        assert shown(ours.policy) == shown(theirs.policy, listed())
        assert ours.lower == pytest.approx(theirs.lower)
        assert ours.upper == pytest.approx(theirs.upper)
        assert ours.suboptimality_bound >= theirs.suboptimality_bound - 1e-12


class TestByOptimization:
    @pytest.mark.parametrize("rewards", ["binary", "real"])
    @pytest.mark.parametrize("batch", [1, 20])
    def test_plays_as_on_the_list(self, problem, rewards, batch):
        ours, theirs = (
            play(
                ps.ExplorationByOptimization(
                    one, problem, rounds=300, rewards=rewards, output="average", rng=0
                ),
                300,
                batch,
            )
            for one in (tabular(), listed())
        )
        assert ours.log.actions.tolist() == theirs.log.actions.tolist()
        np.testing.assert_allclose(ours.log.propensities, theirs.log.propensities, rtol=1e-9)
        assert ours.mean_objective == pytest.approx(theirs.mean_objective)
        assert ours.average_bound() == pytest.approx(theirs.average_bound())
        average = ours.recommend()
        assert isinstance(average.policy, MarginalPolicy)
        np.testing.assert_allclose(
            average.policy.probabilities(np.arange(X)),
            theirs.average_policy().probabilities(np.arange(X)),
            rtol=1e-9,
        )
        assert average.value == pytest.approx(theirs.recommend().value)
        assert average.guarantee == theirs.recommend().guarantee
        if batch == 1:  # what the theorem is about
            assert average.suboptimality_bound == pytest.approx(ours.average_bound())
        drawn = average.policy.sample(np.zeros(5000, dtype=int), rng=0)
        np.testing.assert_allclose(
            np.bincount(drawn[:, 0], minlength=K) / 5000,
            average.policy.probabilities([0])[0],
            atol=0.03,
        )

    @pytest.mark.parametrize("output", ["erm", "weights"])
    def test_recommends_what_the_list_does(self, problem, output):
        ours, theirs = (
            play(
                ps.ExplorationByOptimization(one, problem, rounds=400, output=output, rng=0),
                400,
                10,
            ).recommend()
            for one in (tabular(), listed())
        )
        assert shown(ours.policy) == shown(theirs.policy, listed())
        for name in ("value", "lower", "upper"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9)

    def test_what_cannot_be(self, problem):
        with pytest.raises(ps.InvalidArgumentError, match="last_half"):
            ps.ExplorationByOptimization(tabular(), problem, rounds=10, output="last_half")
        learner = ps.ExplorationByOptimization(tabular(), problem, rounds=10)
        with pytest.raises(ps.InvalidArgumentError, match="cannot be listed"):
            _ = learner.weights

    def test_an_average_policy_has_its_own_weights_but_not_its_own_class(self):
        x = np.random.default_rng(0).random((50, 2))
        trees = ps.StumpPolicies(x, n_actions=2)
        problem = ps.Problem(n_actions=2, epsilon=0.3, delta=0.1)
        learner = ps.ExplorationByOptimization(trees, problem, rounds=9, rng=0)
        learner.tell(learner.ask(x[:1]), [1.0])
        average = learner.average_policy()
        before = average.probabilities(x)
        learner.tell(learner.ask(x[1:2]), [1.0])
        np.testing.assert_array_equal(average.probabilities(x), before)
        assert average._weights._policies is trees

    def test_before_any_round(self, problem):
        learner = ps.ExplorationByOptimization(tabular(), problem, rounds=10, output="average")
        np.testing.assert_allclose(learner.recommend().policy.probabilities([0]), 1 / K)


def test_trees_learn():
    """A stump hides behind noise features; both phases find it."""
    rng = np.random.default_rng(0)
    x = rng.random((4000, 3))
    policies = ps.StumpPolicies(x[:500], n_actions=4, n_bins=4)
    problem = ps.Problem(n_actions=4, epsilon=0.1, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=1500, estimate_rounds=1500, rng=0
    )
    for start in range(0, 3000, 100):
        decisions = learner.ask(x[start : start + 100])
        right = np.where(decisions.contexts[:, 2] < 0.5, 1, 3)
        learner.tell(decisions, (decisions.actions[:, 0] == right).astype(float))
    answer = learner.recommend()
    feature, edge, left, right, _ = answer.policy.nodes[0]
    assert (feature, answer.policy.nodes[left][4], answer.policy.nodes[right][4]) == (2, 1, 3)
    assert edge == pytest.approx(0.5, abs=0.05)
    assert answer.value > 0.9
    floor = learner.exploration.floor  # of the design, which is below that of uniform rounds
    selection = ps.select(learner.log, policies, problem, floor=floor)
    assert selection.certificate.certified
    assert selection.policy.nodes == answer.policy.nodes
    # The design follows the good stump more than chance would.
    assert learner.design.propensities([[0.5, 0.5, 0.9]])[0, 3] > 0.3


class TabularContract(ExplorerContract):
    """The contract of every learner, on all functions of five contexts."""

    slates = False

    def policies(self, m=1):
        return ps.TabularPolicies(n_contexts=5, n_actions=6)

    def test_recommendation(self, m):
        learner = self.learner()
        for k in range(5):
            decisions = learner.ask(self.contexts(200, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        recommendation = learner.recommend()
        assert recommendation.rounds == 1000
        assert recommendation.policy.actions(np.arange(5)).shape == (5, 1)
        assert 0 <= recommendation.lower <= recommendation.upper <= 1
        assert 0 <= recommendation.suboptimality_bound <= 1

    def test_estimates_are_unbiased(self, m):
        learner = self.learner()
        for k in range(4):
            decisions = learner.ask(self.contexts(100, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        log, policy = learner.log, learner.recommend().policy
        hits = policy.actions(log.contexts)[:, 0] == log.actions[:, 0]
        gains = (log.rewards / log.propensities)[:, 0] * hits
        np.testing.assert_allclose(learner.intervals().values, [gains.mean()], rtol=1e-12)

    def test_repr_is_short(self):
        assert "TabularPolicies, 6 actions" in repr(self.learner())

    def test_policies_must_fit_the_problem(self):
        with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
            self.make(ps.TabularPolicies(n_contexts=5, n_actions=4), self.problem(), 0)


class TestLowVarianceContract(TabularContract):
    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(
            policies, problem, explore_rounds=500, estimate_rounds=1200, rng=seed
        )


class TestUniformContract(TabularContract):
    def make(self, policies, problem, seed):
        return ps.Uniform(policies, problem, rounds=5000, rng=seed)


class TestByOptimizationContract(TabularContract):
    def make(self, policies, problem, seed):
        return ps.ExplorationByOptimization(
            policies, problem, rounds=5000, rewards="real", rng=seed
        )


class TestRun:
    def test_rare_context_has_all_functions_as_its_class(self):
        world = ps.worlds.RareContext(n_actions=4, epsilon=0.2)
        policies = ps.TabularPolicies(n_contexts=2, n_actions=4)
        learner = ps.LowVarianceExploration(
            policies,
            world.problem(epsilon=0.2, delta=0.1),
            explore_rounds=300,
            estimate_rounds=300,
            rng=0,
        )
        result = ps.run(learner, world, 600)
        assert world.best_value(policies) == pytest.approx(world.optimum)
        assert result.suboptimality == pytest.approx(0)
        assert result.true_values is None
        assert result.history[0].suboptimality is not None
        assert result.to_dict()["leaders"][0]["policy"] == 0
        assert "TabularPolicy" in repr(result)

    def test_average_policies_have_values(self):
        world = ps.worlds.RareContext(n_actions=4, epsilon=0.2)
        learner = ps.ExplorationByOptimization(
            ps.TabularPolicies(n_contexts=2, n_actions=4),
            world.problem(epsilon=0.2, delta=0.1),
            rounds=300,
            output="average",
            rng=0,
        )
        result = ps.run(learner, world, 300)
        share = learner.average_policy().probabilities([0])[0].max()
        assert result.suboptimality == pytest.approx(0.4 * (1 - share))

    def test_values_of_lists_and_of_single_policies_agree(self):
        world = ps.worlds.SparseSynthetic(
            n_actions=3, n_contexts=4, n_policies=5, profile="close", noise=0.3
        )
        values = world.values(listed())
        assert world.best_value(listed()) == values.max()
        assert world.best_value(tabular()) == pytest.approx(values.max())
        best = tabular().best([0, 1], [1, 2], [1, 1])
        number = next(p for p in range(81) if shown(p, listed()) == shown(best))
        assert world.value(best) == pytest.approx(values[number])
        with pytest.raises(ps.UnknownValueError, match="best_value"):
            world.values(tabular())

    def test_a_report_can_be_written(self, tmp_path, problem):
        world = ps.worlds.RareContext(n_actions=3, epsilon=0.1)
        policies = ps.TabularPolicies(n_contexts=2, n_actions=3)
        learner = ps.Uniform(policies, world.problem(epsilon=0.2, delta=0.1), rounds=200, rng=0)
        result = ps.run(learner, world, 200)
        result.report(tmp_path / "run.html")
        assert "a class without end" in (tmp_path / "run.html").read_text()
        ps.select(learner.log, policies, learner.problem).report(tmp_path / "select.html")
        assert "TabularPolicy" in (tmp_path / "select.html").read_text()


def test_many_contexts_and_actions():
    """10,000 contexts and 1,000 actions: 10^30000 policies."""
    world = ps.worlds.SparseSynthetic(
        n_actions=1000, n_contexts=10_000, n_policies=2, profile="close"
    )
    policies = ps.TabularPolicies(n_contexts=10_000, n_actions=1000)
    problem = world.problem(epsilon=0.1, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=20_000, estimate_rounds=20_000, rng=0
    )
    result = ps.run(learner, world, 40_000, batch_size=10_000, checkpoints=0)
    assert result.finished
    assert result.suboptimality < 1
    assert world.best_value(policies) == pytest.approx(1)
