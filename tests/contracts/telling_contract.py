"""What every learner must do with contexts and with rewards."""

import dataclasses

import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorers import BrokenError, Explorers
from tests.statistics import assert_binomial


class TellingContract(Explorers):
    """Asking and telling: what is shown, what counts, and what is refused."""

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
