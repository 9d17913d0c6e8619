"""What every learner must do."""

import copy
import dataclasses
import datetime
import pickle

import numpy as np
import pytest

import policysieve as ps
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_binomial


def _first(x):
    return x % 6


class BrokenError(Exception):
    """Raised by a policy on demand."""


class ExplorerContract:
    """Inherit, and define `make(policies, problem, seed)`; `slates = False` where not supported."""

    slates = True

    def make(self, policies, problem, seed):
        raise NotImplementedError

    # --- helpers -------------------------------------------------------------------------------

    def problem(self, m=1):
        sparsity = 1.0 if m == 1 else 2.0
        return ps.Problem(n_actions=6, slate_size=m, sparsity=sparsity, epsilon=0.2, delta=0.1)

    def policies(self, m=1, n_policies=7, n_contexts=5):
        rng = np.random.default_rng(3)
        keys = rng.random((n_contexts, n_policies, 6))
        return ps.PolicyTable(keys.argsort(axis=-1)[..., :m], n_actions=6)

    def learner(self, m=1, seed=0):
        return self.make(self.policies(m), self.problem(m), seed)

    def pytest_generate_tests(self, metafunc):
        if "m" in metafunc.fixturenames:
            metafunc.parametrize("m", [1, 3] if self.slates else [1])

    def rewards(self, decisions, seed=0):
        """A fixed function of context and action: item j is rewarded iff (x + j) % 6 < 2."""
        good = (np.asarray(decisions.contexts)[:, None] + decisions.actions) % 6 < 2
        return good.astype(float) if decisions.actions.shape[1] > 1 else good * 0.5

    def contexts(self, n, seed=0):
        return np.random.default_rng(seed).integers(0, 5, n)

    def snapshot(self, learner):
        """Everything a user can see, and what it would do next."""
        twin = copy.deepcopy(learner)
        ahead = twin.ask(self.contexts(20, seed=9))
        return (
            learner.recommend().to_dict(),
            learner.rounds,
            learner.pending,
            learner.finished,
            learner.log.rewards.tolist(),
            np.nan_to_num(learner.intervals().values, nan=-1).tolist(),
            ahead.actions.tolist(),
            ahead.propensities.tolist(),
        )

    # --- arguments -----------------------------------------------------------------------------

    def test_a_problem_that_is_none(self):
        with pytest.raises(ps.InvalidArgumentError, match="problem must be a Problem"):
            self.make(self.policies(), 0.1, 0)

    # --- ask -----------------------------------------------------------------------------------

    def test_ask(self, m):
        learner = self.learner(m)
        contexts = self.contexts(50)
        decisions = learner.ask(contexts)
        assert decisions.actions.shape == decisions.propensities.shape == (50, m)
        assert (decisions.propensities > 0).all()
        assert (decisions.propensities <= 1).all()
        np.testing.assert_array_equal(decisions.contexts, contexts)
        assert all(len(set(slate)) == m for slate in decisions.actions.tolist())
        assert learner.pending == 50
        with pytest.raises(dataclasses.FrozenInstanceError):
            decisions.actions = None
        with pytest.raises(ValueError, match="read-only"):
            decisions.propensities[0, 0] = 0.5

    def test_ask_keeps_its_own_copy_of_contexts(self):
        learner = self.learner()
        contexts = self.contexts(4)
        decisions = learner.ask(contexts)
        contexts += 1
        assert (decisions.contexts != contexts).all()

    def test_one_context_or_none(self):
        learner = self.learner()
        assert len(learner.ask(2)) == 1
        assert len(learner.ask(np.empty(0, int))) == 0

    def test_propensities_are_frequencies(self, m):
        """At a fixed state and context, each item is shown as often as its propensity says."""
        learner = self.learner(m)
        warm = learner.ask(self.contexts(300))
        learner.tell(warm, self.rewards(warm))
        for context in range(2):
            decisions = learner.ask(np.full(6000, context))
            seen = {}
            for item in range(6):
                hits = decisions.actions == item
                if hits.any():
                    shares = np.unique(decisions.propensities[hits])
                    assert np.ptp(shares) < 1e-12
                    seen[item] = shares[0]
                    assert_binomial(int(hits.sum()), 6000, min(1.0, shares[0]))
            assert sum(seen.values()) <= m + 1e-9
            assert sum(seen.values()) >= m * 0.98

    def test_same_seed_same_bits(self, m):
        one, two, other = self.learner(m), self.learner(m), self.learner(m, seed=1)
        contexts = self.contexts(40)
        assert (one.ask(contexts).actions == two.ask(contexts).actions).all()
        assert (one.ask(contexts).actions != other.ask(contexts).actions).any()

    @pytest.mark.parametrize("bad", [[7], [-1], [0.5], [[0]], ["a"], [np.nan]])
    def test_bad_contexts_change_nothing(self, bad):
        learner = self.learner()
        before = self.snapshot(learner)
        with pytest.raises(ps.InvalidArgumentError, match="contexts"):
            learner.ask(bad)
        assert self.snapshot(learner) == before

    # --- tell ----------------------------------------------------------------------------------

    def test_log_is_what_was_told(self, m):
        learner = self.learner(m)
        decisions = learner.ask(self.contexts(30))
        rewards = self.rewards(decisions)
        learner.tell(decisions, rewards)
        log = learner.log
        np.testing.assert_array_equal(log.contexts, decisions.contexts)
        np.testing.assert_array_equal(log.actions, decisions.actions)
        np.testing.assert_array_equal(log.propensities, decisions.propensities)
        np.testing.assert_array_equal(log.rewards, rewards)
        assert (learner.rounds, learner.pending) == (30, 0)

    def test_order_of_answers_does_not_matter(self, m):
        prompt, late = self.learner(m), self.learner(m)
        for learner in (prompt, late):
            batches = [learner.ask(self.contexts(25, seed=k)) for k in range(4)]
            order = [0, 1, 2, 3] if learner is prompt else [2, 3, 0, 1]
            for k in order:
                learner.tell(batches[k], self.rewards(batches[k]))
        assert prompt.log == late.log
        assert self.snapshot(prompt) == self.snapshot(late)

    def test_rounds_wait_for_earlier_ones(self):
        learner = self.learner()
        first, second = learner.ask(self.contexts(10)), learner.ask(self.contexts(5))
        learner.tell(second, self.rewards(second))
        assert (learner.rounds, learner.pending) == (0, 10)
        learner.tell(first[:4], self.rewards(first[:4]))
        assert (learner.rounds, learner.pending) == (4, 6)
        learner.tell(first[4:], self.rewards(first[4:]))
        assert (learner.rounds, learner.pending) == (15, 0)

    def test_parts_of_a_batch(self, m):
        whole, parts = self.learner(m), self.learner(m)
        decisions = whole.ask(self.contexts(20))
        whole.tell(decisions, self.rewards(decisions))
        decisions = parts.ask(self.contexts(20))
        odd = np.arange(20) % 2 == 1
        for mask in (odd, ~odd):
            parts.tell(decisions[mask], self.rewards(decisions[mask]))
        assert self.snapshot(whole) == self.snapshot(parts)

    def test_discarded_rounds_never_happened(self):
        learner = self.learner()
        decisions = learner.ask(self.contexts(10))
        learner.discard(decisions[[0, 3]])
        learner.tell(decisions[[1, 2, 4, 5, 6, 7, 8, 9]], np.zeros(8))
        assert (learner.rounds, learner.pending) == (8, 0)
        with pytest.raises(ps.DecisionsError, match="told or given up before"):
            learner.discard(decisions[:1])

    @pytest.mark.parametrize(
        ("rewards", "message"),
        [
            (np.zeros(9), "shape"),
            (np.zeros((10, 2)), "shape"),
            (np.full(10, np.nan), r"\[0, 1\]"),
            (np.full(10, -0.1), r"\[0, 1\]"),
            (np.full(10, 1.1), r"\[0, 1\]"),
            (["a"] * 10, "numbers"),
            (None, "rewards"),
        ],
    )
    def test_bad_rewards_change_nothing(self, rewards, message):
        learner = self.learner()
        warm = learner.ask(self.contexts(30))
        learner.tell(warm, self.rewards(warm))
        decisions = learner.ask(self.contexts(10))
        before = self.snapshot(learner)
        with pytest.raises(ps.InvalidArgumentError, match=message):
            learner.tell(decisions, rewards)
        assert self.snapshot(learner) == before
        learner.tell(decisions, np.zeros(10))

    def test_more_reward_than_the_sparsity_is_refused(self):
        if not self.slates:
            pytest.skip("a single reward cannot exceed the sparsity")
        learner = self.learner(m=3)
        decisions = learner.ask(self.contexts(10))
        before = self.snapshot(learner)
        with pytest.raises(ps.InvalidArgumentError, match="sparsity 2"):
            learner.tell(decisions, np.ones((10, 3)))
        assert self.snapshot(learner) == before

    def test_foreign_and_repeated_batches_are_refused(self):
        learner, stranger = self.learner(), self.learner()
        mine, theirs = learner.ask(self.contexts(5)), stranger.ask(self.contexts(5))
        with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
            learner.tell(theirs, np.zeros(5))
        with pytest.raises(ps.DecisionsError, match="returned by ask"):
            learner.tell("decisions", np.zeros(5))
        learner.tell(mine, np.zeros(5))
        before = self.snapshot(learner)
        with pytest.raises(ps.DecisionsError, match="told or given up before"):
            learner.tell(mine, np.zeros(5))
        part = learner.ask(self.contexts(5))
        learner.tell(part[1:3], np.zeros(2))
        with pytest.raises(ps.DecisionsError, match="told or given up before"):
            learner.tell(part, np.zeros(5))
        with pytest.raises(ps.DecisionsError, match="twice"):
            learner.tell(part[[0, 0]], np.zeros(2))
        learner.discard(part[[0, 3, 4]])
        assert learner.rounds == before[1] + 2

    def test_a_failing_policy_changes_nothing(self):
        """Candidates are called in ask alone, so that is where one can fail."""
        broken = []

        def fragile(x):
            if broken:
                raise BrokenError("down for the day")
            return x % 6

        policies = ps.FunctionPolicies([lambda x: (x + 1) % 6, fragile, lambda x: x * 0], 6)
        learner, twin = (self.make(policies, self.problem(), 0) for _ in range(2))
        for one in (learner, twin):
            decisions = one.ask(self.contexts(40))
            one.tell(decisions, np.ones(40))
        broken.append(True)
        with pytest.raises(
            ps.PolicyFailureError, match="policy 1 raised BrokenError: down"
        ) as caught:
            learner.ask(self.contexts(30))
        assert caught.value.policy == 1
        assert (learner.rounds, learner.pending) == (40, 0)
        broken.clear()
        one, other = (each.ask(self.contexts(30)) for each in (learner, twin))
        np.testing.assert_array_equal(one.actions, other.actions)
        broken.append(True)
        learner.tell(one, np.zeros(30))
        assert (learner.rounds, learner.pending) == (70, 0)

    def test_each_candidate_is_called_once_for_each_round(self):
        calls = np.zeros(4, int)

        def rule(k):
            def act(x):
                calls[k] += len(x)
                return (x + k) % 6

            return act

        policies = ps.FunctionPolicies([rule(k) for k in range(4)], n_actions=6)
        learner, asked, due = self.make(policies, self.problem(), 0), 0, np.zeros(4, int)
        for k in range(30):
            due[getattr(learner, "survivors", slice(None))] += 1 + k % 5  # not of the eliminated
            decisions = learner.ask(self.contexts(1 + k % 5, seed=k))
            asked += len(decisions)
            learner.tell(decisions, (decisions.actions[:, 0] == decisions.contexts % 6) * 1.0)
            learner.recommend()
        assert learner.rounds == asked
        assert due[0] == asked
        assert calls.tolist() == due.tolist()

    def test_advised_batches_are_within_what_is_planned(self):
        learner, most = self.learner(), []
        for _ in range(100):
            most.append(learner.batch_size)
            if not most[-1]:
                break
            learner.ask(self.contexts(most[-1]))
        assert 20 <= most[0] <= 100
        assert (np.array(most) >= 0).all()
        if not most[-1]:
            assert learner.ask_limit == 0

    def test_nothing_left_to_ask_says_what_is_missing(self):
        learner = self.learner()
        if learner.ask_limit is None:
            pytest.skip("any batch is worth asking for")
        while learner.ask_limit:
            learner.ask(self.contexts(learner.ask_limit))
        with pytest.raises(ps.InvalidArgumentError, match="decisions wait to be told"):
            learner.ask(np.empty(0, int))

    def test_policies_are_tried_before_anything_is_shown(self):
        policies = ps.FunctionPolicies([lambda x: x * 0, lambda x: x + 99], n_actions=6)
        learner = self.make(policies, self.problem(), 0)
        with pytest.raises(ps.PolicyFailureError, match="policy 1 returned action"):
            learner.ask(self.contexts(3))
        assert learner.pending == 0

    def test_repr_is_short(self):
        learner = self.learner()
        decisions = learner.ask(self.contexts(30))
        assert repr(decisions) == "Decisions(30 rounds, slate_size=1)"
        assert "7 policies, 6 actions" in repr(learner)

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
