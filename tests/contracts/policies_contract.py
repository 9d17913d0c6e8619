"""What every policy class must do."""

import pickle

import numpy as np
import pytest

import policysieve as ps


class PoliciesContract:
    """Inherit, name the class as `kind`, and define the fixtures `policies` and `contexts`.

    There are at least four contexts.
    """

    kind: type
    takes_available = True

    def test_its_kind(self, policies):
        assert type(policies) is self.kind

    def test_shape_dtype_and_range(self, policies, contexts):
        actions = policies.actions(contexts)
        assert actions.shape == (len(contexts), policies.n_policies, policies.slate_size)
        assert actions.dtype == np.min_scalar_type(policies.n_actions - 1)
        assert actions.max() < policies.n_actions

    def test_slates_are_sets(self, policies, contexts):
        ordered = np.sort(policies.actions(contexts), axis=-1)
        assert (ordered[..., 1:] != ordered[..., :-1]).all()

    def test_which_picks_columns(self, policies, contexts):
        chosen = [policies.n_policies - 1, 0, 0]
        every = policies.actions(contexts)
        np.testing.assert_array_equal(policies.actions(contexts, chosen), every[:, chosen])
        assert policies.actions(contexts, []).shape == (len(contexts), 0, policies.slate_size)

    def test_contexts_are_answered_one_by_one(self, policies, contexts):
        every = policies.actions(contexts)
        for i in range(len(contexts)):
            np.testing.assert_array_equal(policies.actions(contexts[i : i + 1])[0], every[i])

    def test_answers_are_the_actions(self, policies, contexts):
        answers = policies.answers(contexts)
        expected = policies.actions(contexts)
        assert policies.answers(answers) is answers
        assert len(answers) == len(contexts)
        np.testing.assert_array_equal(answers.table[answers.rows], expected)
        half = answers.take(slice(0, 2)).plus(answers.take(slice(2, None)))
        np.testing.assert_array_equal(half.table[half.rows], expected)
        travelled = pickle.loads(pickle.dumps(half))
        np.testing.assert_array_equal(travelled.table[travelled.rows], expected)

    def test_everything_available_changes_nothing(self, policies, contexts):
        everything = np.ones((len(contexts), policies.n_actions), bool)
        if not self.takes_available:
            with pytest.raises(ps.InvalidArgumentError, match="available must be left out"):
                policies.actions(contexts, available=everything)
            return
        every = policies.actions(contexts)
        found = policies.actions(contexts, available=everything)
        np.testing.assert_array_equal(found, every)
        assert found.dtype == every.dtype
        answers = policies.answers(contexts, everything)
        np.testing.assert_array_equal(answers.table[answers.rows], every)
        with pytest.raises(ps.InvalidArgumentError, match="available must leave at least"):
            policies.actions(contexts, available=~everything)

    def test_no_contexts(self, policies, contexts):
        empty = policies.actions(contexts[:0])
        assert empty.shape == (0, policies.n_policies, policies.slate_size)

    @pytest.mark.parametrize("which", [[-1], [10**6], [0.5], [[0]], "a"])
    def test_bad_which(self, policies, contexts, which):
        with pytest.raises(ps.InvalidArgumentError, match="which"):
            policies.actions(contexts, which)

    def test_length_and_repr(self, policies):
        assert len(policies) == policies.n_policies
        assert f"n_policies={policies.n_policies}" in repr(policies)

    def test_pickle(self, policies, contexts):
        copy = pickle.loads(pickle.dumps(policies))
        np.testing.assert_array_equal(copy.actions(contexts), policies.actions(contexts))
