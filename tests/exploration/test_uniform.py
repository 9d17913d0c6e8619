import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorers import Explorers
from tests.oracles.naive import importance_weighted, maurer_pontil, uniform_subset_propensity
from tests.statistics import assert_at_most


class TestUniform(Explorers):  # test_registry.py has its contract
    def make(self, policies, problem, seed):
        return ps.Uniform(policies, problem, rng=seed)

    def test_propensity_is_that_of_uniform_subsets(self, m):
        decisions = self.learner(m).ask(self.contexts(10))
        np.testing.assert_allclose(decisions.propensities, uniform_subset_propensity(6, m))

    def test_batching_does_not_change_a_bit(self, m):
        whole, parts = self.learner(m), self.learner(m)
        contexts = self.contexts(30)
        actions = [parts.ask(contexts[i : i + 7]).actions for i in range(0, 30, 7)]
        np.testing.assert_array_equal(whole.ask(contexts).actions, np.concatenate(actions))

    def test_intervals_agree_with_the_naive_ones(self, m):
        learner = self.learner(m)
        decisions = learner.ask(self.contexts(400))
        learner.tell(decisions, self.rewards(decisions))
        log, problem = learner.log, self.problem(m)
        slates = self.policies(m).actions(log.contexts).tolist()
        samples = importance_weighted(slates, log.actions, log.propensities, log.rewards)
        largest = 6 / m * problem.reward_cap
        assert samples.max() <= largest
        intervals = learner.intervals()
        for policy in range(7):
            radius = maurer_pontil(samples[:, policy], largest, 7, problem.delta)
            mean = samples[:, policy].mean()
            assert intervals.lower[policy] == pytest.approx(max(0, mean - radius))
            assert intervals.upper[policy] == pytest.approx(min(problem.reward_cap, mean + radius))

    def test_finishes_after_the_planned_rounds(self):
        learner = ps.Uniform(self.policies(), self.problem(), rounds=50, rng=0)
        assert learner.ask_limit == 50
        decisions = learner.ask(self.contexts(50))
        assert not learner.finished
        assert "Nothing is guaranteed at 0 rounds" in learner.recommend().guarantee
        learner.tell(decisions, np.zeros(50))
        assert learner.finished
        assert learner.ask_limit == 0
        assert "does not apply" in learner.recommend().guarantee
        with pytest.raises(ps.InvalidArgumentError, match="rounds must be a whole number >= 1"):
            ps.Uniform(self.policies(), self.problem(), rounds=0)

    def test_planned_rounds_keep_their_promise(self):
        """Failures of epsilon and of the intervals at the planned size, against delta."""
        world = ps.worlds.SparseSynthetic(
            n_actions=4, n_contexts=30, n_policies=20, profile="close", rng=5
        )
        policies = ps.PolicyTable(world.pool, n_actions=4)
        problem = world.problem(epsilon=0.25, delta=0.1)
        truth = world.values(policies)
        wrong = outside = 0
        for seed in range(60):
            result = ps.run(
                ps.Uniform(policies, problem, rng=seed),
                world,
                10**6,
                batch_size=4096,
                rng=1000 + seed,
            )
            assert result.finished
            assert "were sized to guarantee it" in result.recommendation.guarantee
            wrong += result.suboptimality > problem.epsilon
            intervals = result.intervals
            outside += bool(((truth < intervals.lower) | (truth > intervals.upper)).any())
        assert_at_most(wrong, 60, problem.delta)
        assert_at_most(outside, 60, problem.delta)

    def test_all_actions_shown_is_full_information(self):
        policies = ps.PolicyTable([[[0, 1], [1, 0]]], n_actions=2)
        problem = ps.Problem(n_actions=2, slate_size=2, epsilon=0.1, delta=0.1)
        learner = ps.Uniform(policies, problem, rounds=10, rng=0)
        decisions = learner.ask(np.zeros(10, int))
        assert (decisions.propensities == 1).all()
        learner.tell(decisions, decisions.actions == 0)
        np.testing.assert_allclose(learner.intervals().values, [1, 1])
