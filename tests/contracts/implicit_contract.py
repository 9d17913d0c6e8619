"""What every class that cannot be listed must do."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policysieve as ps
from tests.oracles.enumerated import Weights, largest_sum

STORY = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.0, 3.0)
    ),
    min_size=1,
    max_size=12,
)


class ImplicitContract:
    """Inherit, and define `policies` and `contexts`."""

    def test_policies_are_frozen_printable_and_travel(self):
        x, a = np.arange(len(self.contexts)), np.arange(len(self.contexts)) % 2
        best = self.policies.best(self.contexts[x], a, np.ones(len(x)))
        copy = pickle.loads(pickle.dumps(best))
        np.testing.assert_array_equal(copy.actions(self.contexts), best.actions(self.contexts))
        assert best.actions(self.contexts).shape == (len(self.contexts), 1)
        assert type(best).__name__ in repr(best)
        with pytest.raises((AttributeError, ValueError)):
            best.extra = 1
        assert "at 0x" not in repr(best)
        assert "at 0x" not in repr(self.policies)

    def test_no_events(self):
        assert self.policies.best(self.contexts[:0], [], []).actions(self.contexts).max() == 0

    @pytest.mark.parametrize(
        ("actions", "weights", "match"),
        [
            ([0], [1.0, 1.0], "one for each context"),
            ([0, 99], [1.0, 1.0], "whole numbers in"),
            ([0, 0.5], [1.0, 1.0], "whole numbers in"),
            ([0, 1], [1.0, -1.0], "not negative"),
            ([0, 1], [1.0, np.nan], "not negative"),
        ],
    )
    def test_bad_events(self, actions, weights, match):
        with pytest.raises(ps.InvalidArgumentError, match=match):
            self.policies.best(self.contexts[:2], actions, weights)

    def test_learners_of_lists_say_so(self):
        problem = ps.Problem(n_actions=self.policies.n_actions, epsilon=0.2, delta=0.1)
        for learner in (ps.Sieve, ps.Exp4):
            with pytest.raises(ps.InvalidArgumentError, match="cannot be listed"):
                learner(self.policies, problem)

    def test_everything_must_be_available(self):
        everything = np.ones((1, self.policies.n_actions), bool)
        with pytest.raises(ps.InvalidArgumentError, match=r"left out with .* cannot be listed"):
            self.policies.answers(self.contexts[:1], everything)

    def test_must_fit_the_problem(self):
        problem = ps.Problem(n_actions=self.policies.n_actions + 1, epsilon=0.2, delta=0.1)
        with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
            ps.LowVarianceExploration(self.policies, problem)


class ExactContract(ImplicitContract):
    """For a class that is exact, on one small enough to be listed as (priors, table), `listed`."""

    def events(self, story):
        n, k = len(self.contexts), self.policies.n_actions
        rounds, x, a, steps = zip(*story, strict=True)
        return rounds, np.array(x) % n, np.array(a) % k, np.array(steps)

    def test_weights_are_those_of_the_list(self):
        @given(STORY)
        def check(story):
            priors, table = self.listed
            ours, theirs = (
                self.policies.start_weights(),
                Weights(priors, table, self.policies.n_actions),
            )
            checked = self.policies.check_contexts(self.contexts)
            for rounds, x, a, step in zip(*self.events(story), strict=True):
                for weights in (ours, theirs):
                    weights.wait(rounds)
                here = slice(x, x + 1)
                assert ours.total(checked[here], a) == pytest.approx(theirs.sums[x, a], abs=1e-9)
                ours.add(checked[here], np.array([a]), np.array([step]))
                theirs.add(x, a, step)
                np.testing.assert_allclose(ours.marginals(checked), theirs.marginals(), atol=1e-9)
            ours.wait(3)
            theirs.wait(3)
            np.testing.assert_allclose(ours.totals(checked), theirs.sums, rtol=1e-9, atol=1e-9)

        check()

    def test_several_events_at_once_are_the_same_as_one_by_one(self):
        x, a, steps = np.array([0, 1, 0, 2]), np.array([1, 0, 0, 1]), np.array([0.5, 1.0, 2.0, 0.1])
        checked = self.policies.check_contexts(self.contexts)
        one, all_ = self.policies.start_weights(), self.policies.start_weights()
        for weights in (one, all_):
            weights.wait(7)
        for i in range(4):
            one.add(checked[x[i : i + 1]], a[i : i + 1], steps[i : i + 1])
        all_.add(checked[x], a, steps)
        for weights in (one, all_):
            weights.wait(2)
        np.testing.assert_allclose(one.totals(checked), all_.totals(checked), rtol=1e-12)

    def test_weights_survive_very_long_stories(self):
        weights = self.policies.start_weights()
        checked = self.policies.check_contexts(self.contexts)
        for _ in range(40):
            weights.wait(10)
            weights.add(checked[:1], np.array([1]), np.array([50.0]))
        marginals = weights.marginals(checked)
        assert np.isfinite(marginals).all()
        np.testing.assert_allclose(marginals.sum(axis=1), 1)
        assert marginals[0, 1] == pytest.approx(1)

    def test_best_is_the_best_of_the_list(self):
        @given(STORY)
        def check(story):
            _, x, a, weights = self.events(story)
            best = self.policies.best(self.contexts[x], a, weights)
            collected = weights[best.actions(self.contexts[x])[:, 0] == a].sum()
            assert collected == pytest.approx(largest_sum(self.listed[1], x, a, weights), rel=1e-12)
            everywhere = best.actions(self.contexts)[:, 0]
            assert (self.listed[1] == everywhere[:, None]).all(axis=0).any()

        check()

    def test_log_size_covers_the_prior(self):
        assert self.policies.log_size >= np.log(1 / self.listed[0]).max() - 1e-9
