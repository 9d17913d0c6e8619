"""A classifier as a class: fits with weights, designs of several, and nothing certified."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import policysieve as ps
from policysieve.evidence import rewarded_events
from policysieve.exploration.designs.frank_wolfe import FrankWolfe

pytest.importorskip("sklearn")
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from tests.contracts.implicit_contract import ImplicitContract

PROBLEM = ps.Problem(n_actions=3, epsilon=0.2, delta=0.1)
WORDS = np.array(["red apple", "green pear", "blue plum"], dtype=object)


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def label(x):
    return np.where(x[:, 0] < 0, 0, np.where(x[:, 1] < 0, 1, 2))


def trees(**options):
    return ps.OraclePolicies(DecisionTreeClassifier(max_depth=2), n_actions=3, **options)


class TestOraclePolicies(ImplicitContract):
    policies = trees()
    contexts = rows(12)


class TestBest:
    def test_is_a_weighted_fit(self):
        x = rows(300)
        y = label(x)
        weights = np.where(y == 1, 5.0, 1.0)
        best = trees().best(x, y, weights)
        model = DecisionTreeClassifier(max_depth=2).fit(
            x, y, sample_weight=weights / weights.mean()
        )
        np.testing.assert_array_equal(best.actions(x)[:, 0], model.predict(x))
        assert repr(best) == "FittedPolicy(DecisionTreeClassifier)"
        copy = pickle.loads(pickle.dumps(best))
        np.testing.assert_array_equal(copy.actions(x), best.actions(x))
        with pytest.raises(AttributeError):
            best.model = None

    def test_events_without_weight_do_not_count(self):
        x = rows(100)
        y = label(x)
        doubled = trees().best(
            np.concatenate([x, x]), np.concatenate([y, (y + 1) % 3]), np.repeat([1.0, 0.0], 100)
        )
        np.testing.assert_array_equal(doubled.actions(x), trees().best(x, y, y * 0 + 1).actions(x))

    def test_one_action_is_a_constant(self):
        policy = trees().best(rows(4), [2, 2, 1, 2], [1.0, 1.0, 0.0, 1.0])
        assert policy.actions(rows(3)).tolist() == [[2], [2], [2]]
        assert trees().best(rows(2), [1, 2], [0.0, 0.0]).actions(rows(1)).tolist() == [[0]]

    def test_text_with_a_pipeline(self):
        text = ps.OraclePolicies(
            make_pipeline(CountVectorizer(), LogisticRegression()), n_actions=3
        )
        picked = np.arange(60) % 3
        best = text.best(WORDS[picked], picked, np.ones(60))
        assert best.actions(WORDS)[:, 0].tolist() == [0, 1, 2]

    def test_sparse_rows_by_number(self):
        x = rows(300)
        y = label(x)
        numbers = np.arange(300)
        dense = ps.OraclePolicies(LogisticRegression(), n_actions=3, features=x)
        thin = ps.OraclePolicies(LogisticRegression(), n_actions=3, features=sparse.coo_matrix(x))
        assert thin.n_contexts == 300
        np.testing.assert_array_equal(
            dense.best(numbers, y, y + 1.0).actions(numbers),
            thin.best(numbers, y, y + 1.0).actions(numbers),
        )

    def test_bad_input(self):
        with pytest.raises(ps.InvalidArgumentError, match="features=X"):
            trees().check_contexts(sparse.csr_matrix(rows(3)))
        with pytest.raises(ps.InvalidArgumentError, match="go with features="):
            trees().check_contexts([0, 1])
        with pytest.raises(ps.InvalidArgumentError, match="row numbers in"):
            trees(features=rows(3)).check_contexts([3])
        with pytest.raises(ps.InvalidArgumentError, match="fit and predict"):
            ps.OraclePolicies("tree", n_actions=3)
        with pytest.raises(ps.InvalidArgumentError, match="features must be a matrix"):
            trees(features=[1, 2])
        with pytest.raises(ps.InvalidArgumentError, match="log_size"):
            trees(log_size=-1.0)
        for estimator in (KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())):
            with pytest.raises(ps.InvalidArgumentError, match="must take sample_weight"):
                ps.OraclePolicies(estimator, n_actions=3)
        with pytest.raises(ps.InvalidArgumentError, match="an object with fit and predict"):
            ps.OraclePolicies(LogisticRegression, n_actions=3)


def told(learner, n, seed=1):
    for start in range(0, n, 100):
        decisions = learner.ask(rows(100, seed=seed + start))
        right = label(decisions.contexts)
        learner.tell(decisions, decisions.actions[:, 0] == right)
    return learner


class TestLearners:
    def test_low_variance(self):
        learner = ps.LowVarianceExploration(
            trees(), PROBLEM, explore_rounds=600, estimate_rounds=600, rng=0
        )
        told(learner, 1200)
        assert learner.finished
        new = rows(2000, seed=99)
        answer = learner.recommend()
        assert (answer.policy.actions(new)[:, 0] == label(new)).mean() > 0.9
        assert not answer.certified
        assert (answer.lower, answer.upper, answer.suboptimality_bound) == (0, 1, 1)
        assert "give log_size" in answer.guarantee
        # All of the design's trees are good here, so it shows what they would.
        followed = learner.design.propensities(new)[np.arange(2000), label(new)]
        mixing = learner.mixing
        assert followed.mean() > mixing / 3 + 0.9 * (1 - mixing)
        pickle.loads(pickle.dumps(learner)).recommend()

    def test_with_a_size_intervals_hold(self):
        learner = told(ps.Uniform(trees(log_size=30.0), PROBLEM, rounds=2000, rng=0), 2000)
        answer = learner.recommend()
        assert 0 < answer.lower < answer.value
        assert answer.suboptimality_bound == pytest.approx(1 - answer.lower)
        assert "ln|Pi| is at most 30" in answer.guarantee

    def test_a_fit_that_fails_changes_nothing(self):
        class Moody(LogisticRegression):
            broken = True

            def fit(self, x, y, sample_weight=None):
                if Moody.broken:
                    raise OSError("out of licences")
                return super().fit(x, y, sample_weight)

        learner = ps.LowVarianceExploration(
            ps.OraclePolicies(Moody(), n_actions=3),
            PROBLEM,
            explore_rounds=200,
            estimate_rounds=100,
            rng=0,
        )
        told(learner, 100)
        decisions = learner.ask(rows(100, seed=5))
        with pytest.raises(OSError, match="licences"):
            learner.tell(decisions, np.ones(100))
        assert (learner.rounds, learner.pending, len(learner.log)) == (100, 100, 100)
        Moody.broken = False
        learner.tell(decisions, np.zeros(100))
        assert learner.design is not None
        assert (learner.rounds, learner.pending) == (200, 0)
        log, policy = learner.log, learner.recommend().policy
        hits = policy.actions(log.contexts) == log.actions
        naive = (log.rewards / log.propensities * hits).mean()
        assert learner.recommend().value == pytest.approx(naive)

    def test_sizes_must_be_given(self):
        with pytest.raises(ps.InvalidArgumentError, match="explore_rounds and estimate_rounds"):
            ps.LowVarianceExploration(trees(), PROBLEM, explore_rounds=10)
        with pytest.raises(ps.InvalidArgumentError, match="rounds must be given"):
            ps.Uniform(trees(), PROBLEM)
        assert ps.LowVarianceExploration(trees(log_size=5.0), PROBLEM).explore_rounds > 0

    def test_cannot_be_hedged_over(self):
        with pytest.raises(ps.InvalidArgumentError, match="cannot be hedged over"):
            ps.ExplorationByOptimization(trees(), PROBLEM, rounds=10)

    def test_selection_proves_nothing_and_says_so(self):
        learner = told(ps.Uniform(trees(), PROBLEM, rounds=600, rng=0), 600)
        selection = ps.select(learner.log, trees(), PROBLEM)
        assert "Nothing is proved" in selection.guarantee
        assert not selection.certificate.certified
        assert selection.certificate.suboptimality_bound == 1
        assert selection.value > 0.6

    def test_text_from_log_to_policy(self, tmp_path):
        rng = np.random.default_rng(0)
        picked, shown = rng.integers(3, size=(2, 400))
        log = ps.Log(
            contexts=WORDS[picked],
            actions=shown,
            propensities=np.full(400, 1 / 3),
            rewards=(picked == shown) * 1.0,
        )
        log.save(tmp_path / "log.parquet")
        policies = ps.OraclePolicies(
            make_pipeline(CountVectorizer(), LogisticRegression()), n_actions=3
        )
        design = ps.design(log, policies, PROBLEM, mixing=0.2, rng=0)
        assert design.propensities(WORDS).argmax(axis=1).tolist() == [0, 1, 2]
        selection = ps.select(tmp_path / "log.parquet", policies, PROBLEM)
        assert selection.policy.actions(WORDS)[:, 0].tolist() == [0, 1, 2]

    def test_the_world_does_not_know_the_best_fit(self):
        world = ps.worlds.SparseSynthetic(n_actions=3, n_contexts=50, n_policies=2, profile="close")
        policies = ps.OraclePolicies(LogisticRegression(), n_actions=3, features=rows(50))
        problem = world.problem(epsilon=0.2, delta=0.1)
        result = ps.run(ps.Uniform(policies, problem, rounds=200, rng=0), world, 200)
        assert result.suboptimality is None
        assert 0 <= world.value(result.recommendation.policy) <= 1


class TestFrankWolfe:
    def test_lowers_the_largest_variance(self):
        """On all functions of four contexts, where `best` is exact and the optimum known.

        Four contexts, each with one rewarded action: following the best function makes Q = 1, so
        the largest sum of g/W tends to that of W = 1 - gamma + gamma/K.
        """
        policies = ps.TabularPolicies(n_contexts=4, n_actions=3)
        log = ps.Log(
            contexts=np.repeat(np.arange(4), 10),
            actions=np.repeat([0, 1, 2, 0], 10),
            propensities=np.full(40, 1 / 3),
            rewards=np.ones(40),
        )
        events = rewarded_events(log, policies)
        fw = FrankWolfe(policies, mixing=0.3, steps=10)
        fw.add(events)
        found = fw.exploration(policies, PROBLEM, 1.0)
        assert len(found.support) == found.policies.n_policies == 10
        assert fw.gains[0] == pytest.approx(40 / (0.7 + 0.1))

    def test_shares_two_that_disagree(self):
        """One context, two actions with rewards two to one: shares go as the rewards."""
        policies = ps.TabularPolicies(n_contexts=1, n_actions=2)
        log = ps.Log(
            contexts=np.zeros(30, dtype=int),
            actions=np.repeat([0, 1], [20, 10]),
            propensities=np.full(30, 0.5),
            rewards=np.ones(30),
        )
        fw = FrankWolfe(policies, mixing=1e-6, steps=300)
        fw.add(rewarded_events(log, policies))
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
        found = fw.exploration(policies, problem, 1.0)
        assert found.propensities([0])[0, 0] == pytest.approx(2 / 3, abs=0.02)
        assert fw.gains[0] == pytest.approx(30, rel=0.05)  # the sum over policies' own weights
