"""What every learner must know, show and keep."""

import copy
import dataclasses
import datetime
import pickle

import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorers import BrokenError, Explorers
from tests.oracles.naive import importance_weighted


def _first(x):
    return x % 6


class KnowingContract(Explorers):
    """Recommendations, questions, explorations, open decisions, and copies."""

    # --- recommend -----------------------------------------------------------------------------

    def test_recommendation_before_any_round(self):
        recommendation = self.learner().recommend()
        assert recommendation.rounds == 0
        assert not recommendation.certified
        assert (recommendation.lower, recommendation.upper) == (0.0, 1.0)
        assert recommendation.to_dict()["value"] is None
        assert recommendation.guarantee

    def test_recommendation(self, m):
        learner = self.learner(m)
        for k in range(5):
            decisions = learner.ask(self.contexts(200, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        recommendation = learner.recommend()
        assert recommendation.rounds == 1000
        assert 0 <= recommendation.policy < 7
        cap = self.problem(m).reward_cap
        assert 0 <= recommendation.lower <= recommendation.upper <= cap
        assert 0 <= recommendation.suboptimality_bound <= cap
        with pytest.raises(dataclasses.FrozenInstanceError):
            recommendation.policy = 1

    def test_estimates_are_unbiased(self, m):
        """The estimate agrees with the naive one, computed from the log and nothing else.

        Exactly, or of a learner with doubly robust estimates within the errors of the naive ones.
        """
        learner = self.learner(m)
        for k in range(4):
            decisions = learner.ask(self.contexts(100, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        log = self.estimation_log(learner)
        slates = self.policies(m).actions(log.contexts).tolist()
        naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
        estimates, mean = learner.intervals().values, naive.mean(axis=0)
        if getattr(learner, "evidence", None) is not None:
            stays, error = learner.evidence.survivors, naive.std(axis=0) / np.sqrt(len(log))
            assert (np.abs(estimates - mean) <= 5 * error)[stays].all()
        else:
            np.testing.assert_allclose(estimates, mean, rtol=1e-12)

    def estimation_log(self, learner):
        """The rounds behind the learner's estimates."""
        return learner.log

    # --- questions -----------------------------------------------------------------------------

    def look(self, learner):
        """Every question there is."""
        learner.recommend()
        learner.intervals()
        repr(learner)
        evidence = getattr(learner, "evidence", None)
        if evidence is not None:
            _ = evidence.certificate().suboptimality_bound
        waiting = learner.open_decisions()
        return len(learner.log), learner.finished, learner.ask_limit, learner.rounds, len(waiting)

    def test_looking_changes_nothing(self, m):
        """One that is looked at after every call and one that never is give the same bits."""
        looked, alone = self.learner(m), self.learner(m)
        for k in range(24):
            batches = []
            for learner in (looked, alone):
                batches.append(learner.ask(self.contexts(1 + 3 * (k % 7), seed=k)))
                if learner is looked:
                    self.look(learner)
            one, other = batches
            np.testing.assert_array_equal(one.actions, other.actions)
            np.testing.assert_array_equal(one.propensities, other.propensities)
            for learner, batch in ((looked, one), (alone, other)):
                learner.tell(batch, self.rewards(batch))
                if learner is looked:
                    self.look(learner)
        assert self.snapshot(looked) == self.snapshot(alone)

    def test_a_forecast_of_any_learner(self):
        """A number of rounds, or why there is none; and only a look."""
        learner = self.learner()
        for _ in range(2):
            before = self.snapshot(learner)
            found = learner.forecast(per_day=10)
            assert isinstance(found, ps.Forecast)
            assert found.rounds == learner.rounds
            assert (found.total is None) == found.sentence().startswith("No forecast: ")
            assert found.total is None or found.lower <= found.total <= found.upper
            assert self.snapshot(learner) == before
            decisions = learner.ask(self.contexts(150))
            learner.tell(decisions, self.rewards(decisions))

    def test_looking_eliminates_nothing(self):
        """The same where policies are given up one after another, a few rounds at a time."""
        contexts, right = np.arange(24), np.arange(24) % 6
        table = np.repeat(right[:, None], 8, axis=1)
        for k in range(8):  # the last one is right at three contexts
            table[: 3 * k, k] = (right[: 3 * k] + 1 + k % 4) % 6
        problem = ps.Problem(n_actions=6, sparsity=1.0, epsilon=0.02, delta=0.1)
        policies, rng = ps.PolicyTable(table, n_actions=6), np.random.default_rng(0)
        looked, alone = (self.make(policies, problem, 0) for _ in range(2))
        for _ in range(80):
            x = rng.choice(contexts, int(rng.integers(1, 10)))
            one, other = looked.ask(x), alone.ask(x)
            np.testing.assert_array_equal(one.actions, other.actions)
            np.testing.assert_array_equal(one.propensities, other.propensities)
            for learner, batch in ((looked, one), (alone, other)):
                learner.tell(batch, (batch.actions == x[:, None] % 6) * 1.0)
            before = list(getattr(alone, "survivors", []))
            self.look(looked)
            assert list(getattr(looked, "survivors", [])) == before
        if hasattr(alone, "survivors"):
            assert len(alone.survivors) < 8
        assert self.snapshot(looked) == self.snapshot(alone)

    # --- exploration ---------------------------------------------------------------------------

    def test_the_exploration_is_what_is_played(self, m, tmp_path):
        """With the learner's random numbers it decides the same, also from a file."""
        learner = self.learner(m)
        for k in range(12):
            exploration, x = learner.exploration, self.contexts(20, seed=k)
            every = exploration.propensities(x)
            assert every.shape == (20, 6)
            np.testing.assert_allclose(every.sum(axis=1), m)
            assert (every >= 0).all()
            rng = copy.deepcopy(learner._rng)
            decisions = learner.ask(x)
            exploration.save(tmp_path / "exploration.npz")
            loaded = ps.Exploration.load(tmp_path / "exploration.npz", learner.policies)
            assert type(loaded) is type(exploration)
            uniforms = rng.random((20, exploration.draws_per_round))
            for one in (exploration, loaded, pickle.loads(pickle.dumps(exploration))):
                actions, propensities = one.choose(x, uniforms)
                np.testing.assert_array_equal(actions, decisions.actions)
                np.testing.assert_array_equal(propensities, decisions.propensities)
            np.testing.assert_allclose(
                np.take_along_axis(every, decisions.actions.astype(int), axis=1),
                decisions.propensities,
                rtol=1e-12,
            )
            learner.tell(decisions, self.rewards(decisions))

    def test_explorations_never_change(self, m):
        learner = self.learner(m)
        first = learner.exploration
        before = first.propensities(np.arange(5))
        for k in range(10):
            decisions = learner.ask(self.contexts(30, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        np.testing.assert_array_equal(first.propensities(np.arange(5)), before)
        with pytest.raises(dataclasses.FrozenInstanceError):
            first.problem = None
        travelled = pickle.loads(pickle.dumps(learner)).exploration
        for exploration in (learner.exploration, travelled):
            for value in vars(exploration).values():
                if isinstance(value, np.ndarray):
                    assert not value.flags.writeable

    def test_learning_from_rounds_decided_elsewhere(self, m):
        """Its explorations and `learn` are all that another process needs."""
        learner, fold = self.learner(m), self.learner(m)
        for k in range(15):
            exploration = fold.exploration
            decisions = learner.ask(self.contexts(25, seed=k))
            rewards = self.rewards(decisions)
            learner.tell(decisions, rewards)
            rounds = ps.Log(
                contexts=decisions.contexts,
                actions=decisions.actions,
                propensities=decisions.propensities,
                rewards=rewards,
                distributions=exploration.propensities(decisions.contexts) if k % 2 else None,
            )
            fold.learn(rounds, exploration)
        assert learner.log == fold.log
        assert learner.recommend().to_dict() == fold.recommend().to_dict()
        contexts = np.arange(5)
        np.testing.assert_array_equal(
            learner.exploration.propensities(contexts), fold.exploration.propensities(contexts)
        )
        other = self.make(self.policies(m), dataclasses.replace(self.problem(m), delta=0.2), 0)
        for bad in ("uniform", other.exploration):
            with pytest.raises(ps.InvalidArgumentError, match="exploration must be one that"):
                fold.learn(rounds, bad)
        before = self.snapshot(fold)
        fold.learn(rounds[:0], fold.exploration)
        assert self.snapshot(fold) == before

    def test_rounds_that_were_not_decided_so_are_not_learnt(self, m):
        """Propensities are those of the exploration, answers those of the candidates there."""
        learner, twin = self.learner(m), self.learner(m)
        exploration, policies = learner.exploration, learner.policies
        decisions = twin.ask(self.contexts(12))
        before = self.snapshot(learner)
        fields = {"contexts": decisions.contexts, "actions": decisions.actions}
        fields |= {"propensities": decisions.propensities, "rewards": np.zeros((12, m))}
        rounds = ps.Log(**fields)
        wrong = decisions.propensities.copy()
        wrong[7, -1] = min(1.0, 1.01 * wrong[7, -1])
        fields["propensities"] = wrong
        with pytest.raises(ps.InvalidArgumentError, match=r"propensities .* in row 7, where"):
            learner.learn(ps.Log(**fields), exploration)
        for answers in (policies.answers(decisions.contexts[:11]), policies.answers([0]), "yes"):
            with pytest.raises(ps.InvalidArgumentError, match="each of the 12 rounds"):
                learner.learn(rounds, exploration, answers)
        assert self.snapshot(learner) == before
        learner.learn(rounds, exploration, policies.answers(decisions.contexts))
        assert learner.rounds == 12

    def test_learning_that_fails_leaves_no_trace(self, monkeypatch):
        """Not even of the kind of contexts."""
        rules = [lambda x: np.zeros(len(x), int), lambda x: np.ones(len(x), int)]
        learner = self.make(ps.FunctionPolicies(rules, n_actions=6), self.problem(), 0)
        twin = self.make(ps.FunctionPolicies(rules, n_actions=6), self.problem(), 0)
        decisions = twin.ask(np.ones((3, 2)))
        rounds = ps.Log(
            contexts=decisions.contexts,
            actions=decisions.actions,
            propensities=decisions.propensities,
            rewards=np.zeros(3),
        )

        def fail(*_arguments):
            raise BrokenError

        with monkeypatch.context() as patch:
            patch.setattr(type(learner), "_learn", fail)
            with pytest.raises(BrokenError):
                learner.learn(rounds, learner.exploration)
        assert len(learner.ask([1.0, 2.0, 3.0])) == 3
        with pytest.raises(ps.InvalidArgumentError, match="like those of earlier rounds"):
            learner.learn(rounds, learner.exploration)
        with pytest.raises(ps.InvalidArgumentError, match="like those of earlier rounds"):
            learner.ask(np.ones((1, 1)))
        for bad in ([1.0], [[1.0]], [["a", "b"]]):
            with pytest.raises(ps.InvalidArgumentError, match="like those of earlier rounds"):
                twin.ask(bad)

    # --- open decisions ------------------------------------------------------------------------

    def test_open_decisions_can_be_listed_and_settled(self):
        learner = self.learner()
        first, second = learner.ask(self.contexts(4)), learner.ask(self.contexts(3, seed=1))
        learner.tell(second, np.zeros(3))
        learner.tell(first[[1]], [0.0])
        waiting = learner.open_decisions()
        assert waiting.numbers.tolist() == [0, 2, 3]
        assert ((waiting.ages >= 0) & (waiting.ages < 600)).all()
        np.testing.assert_array_equal(waiting.actions, first.actions[[0, 2, 3]])
        assert not len(learner.open_decisions(older_than=3600))
        assert not len(learner.expire(older_than=datetime.timedelta(hours=1)))
        learner.discard(waiting[:1])
        late = learner.expire(older_than=0)
        assert late.numbers.tolist() == [2, 3]
        assert (learner.rounds, learner.pending) == (6, 0)
        assert (learner.log.rewards == 0).all()
        with pytest.raises(ps.DecisionsError, match="told or given up before"):
            learner.tell(late, np.zeros(2))
        waiting = learner.ask(self.contexts(2))
        for bad in ("2 hours", None, -1, float("nan")):
            with pytest.raises(ps.InvalidArgumentError, match="older_than"):
                learner.expire(older_than=bad)
        assert learner.pending == len(waiting)

    # --- life ----------------------------------------------------------------------------------

    def test_pickle(self, m):
        learner = self.learner(m)
        decisions = learner.ask(self.contexts(30))
        copied, asked = pickle.loads(pickle.dumps((learner, decisions)))
        for one, batch in ((learner, decisions), (copied, asked)):
            one.tell(batch, self.rewards(batch))
        assert self.snapshot(learner) == self.snapshot(copied)

    def test_a_restored_copy_refuses_what_it_did_not_issue(self):
        learner = self.learner()
        before = learner.ask(self.contexts(10))
        saved = pickle.dumps(learner)
        after = learner.ask(self.contexts(10, seed=1))
        restored = pickle.loads(saved)
        theirs = restored.ask(self.contexts(10, seed=2))
        for bad in (after, after[:1], after[[9]]):
            with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
                restored.tell(bad, np.zeros(len(bad)))
        with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
            learner.tell(theirs, np.zeros(10))
        for one, batch in ((learner, after), (restored, theirs)):
            one.tell(batch, np.zeros(10))
            one.tell(before, np.zeros(10))
            assert (one.rounds, one.pending) == (20, 0)
        waiting = restored.ask(self.contexts(3))
        again = pickle.loads(pickle.dumps(copy.copy(restored)))
        listed = restored.open_decisions()
        final = pickle.loads(pickle.dumps(again))
        for batch in (listed[:1], waiting[1:2], again.open_decisions()[2:]):
            final.tell(batch, np.zeros(1))
        assert (final.rounds, final.pending) == (23, 0)

    def test_lambdas_are_named_when_a_learner_is_pickled(self):
        policies = ps.FunctionPolicies([_first, lambda x: x % 6], n_actions=6)
        learner = self.make(policies, self.problem(), 0)
        with pytest.raises(ps.UnpicklableError, match=r"function 1 cannot be pickled .*lambdas"):
            pickle.dumps(learner)
        copied = copy.deepcopy(learner)
        assert copied.policies is policies
        plain = self.make(ps.FunctionPolicies([_first, _first], n_actions=6), self.problem(), 0)
        assert pickle.loads(pickle.dumps(plain)).rounds == 0

    def test_rebuilt_from_its_log_and_seed(self, m):
        learner, rebuilt = self.learner(m), self.learner(m)
        for k in range(3):
            decisions = learner.ask(self.contexts(20, seed=k))
            learner.tell(decisions, self.rewards(decisions))
        for start in range(0, 60, 20):
            part = learner.log[start : start + 20]
            rebuilt.tell(rebuilt.ask(part.contexts), part.rewards)
        assert rebuilt.log == learner.log
        assert self.snapshot(rebuilt) == self.snapshot(learner)

    def test_policies_must_fit_the_problem(self):
        with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
            self.make(ps.PolicyTable([[0, 1]], n_actions=4), self.problem(), 0)
        with pytest.raises(ps.InvalidArgumentError, match="agree on slate_size"):
            self.make(self.policies(m=3), self.problem(m=1), 0)
        with pytest.raises(ps.InvalidArgumentError, match="rng"):
            self.make(self.policies(), self.problem(), "seed")
        with pytest.raises(ps.InvalidArgumentError, match="EstimatorPolicies"):
            self.make(["a model"], self.problem(), 0)
