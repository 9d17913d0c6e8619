"""Votes of candidates as policies."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies.union import PolicyUnion
from tests.contracts.policies_contract import PoliciesContract
from tests.evidence.capped import Column
from tests.oracles.votes import winners

K, N, P = 6, 8, 5
RNG = np.random.default_rng(0)
WEIGHTS = np.array([[1, 1, 1, 1, 1], [4, 0, 2, 1, 0], [0, 0, 0, 0, 3]])


def slates_of(m):
    return np.random.default_rng(m).random((N, P, K)).argsort(axis=-1)[..., :m]


def functions(table, **given):
    asked = [Column(column) for column in table.swapaxes(0, 1)]
    return ps.FunctionPolicies(asked, n_actions=K, slate_size=table.shape[2], **given)


class TestVotePolicies(PoliciesContract):
    kind = ps.VotePolicies

    @pytest.fixture(params=[1, 3])
    def policies(self, request):
        return ps.VotePolicies(ps.PolicyTable(slates_of(request.param), n_actions=K), WEIGHTS)

    @pytest.fixture
    def contexts(self):
        return np.arange(N)

    def test_shows_what_has_the_most_votes(self, policies, contexts):
        table = slates_of(policies.slate_size)
        for i, row in enumerate(policies.actions(contexts)):
            assert [slate.tolist() for slate in row] == [winners(table[i], w) for w in WEIGHTS]

    def test_voters_vote_for_what_is_available(self, policies, contexts):
        """They show their fallback, and this has their votes."""
        m = policies.slate_size
        base = ps.PolicyTable(slates_of(m), n_actions=K, fallback=range(K))
        mask = np.random.default_rng(2).random((N, K)) < 0.5
        mask[:, :m] = True
        found = ps.VotePolicies(base, WEIGHTS).actions(contexts, available=mask)
        theirs = base.actions(contexts, available=mask)
        assert np.take_along_axis(mask, found.reshape(N, -1).astype(int), axis=1).all()
        for i in range(N):
            assert [slate.tolist() for slate in found[i]] == [
                winners(theirs[i], w) for w in WEIGHTS
            ]
        with pytest.raises(ps.PolicyFailureError, match="declare what takes its place"):
            policies.actions(contexts, available=mask)


class TestVotesOfFunctionsAndTheCandidates(PoliciesContract):
    """As learners meet them: the candidates, and behind them votes, also of votes."""

    kind = PolicyUnion

    @pytest.fixture
    def policies(self):
        base = functions(slates_of(2))
        votes = ps.VotePolicies(base, WEIGHTS)
        return base + votes + ps.VotePolicies(votes)

    @pytest.fixture
    def contexts(self):
        return np.arange(N)

    def test_votes_are_behind_the_candidates(self, policies, contexts):
        _, votes, last = policies.parts
        found = policies.actions(contexts)
        np.testing.assert_array_equal(found[:, :P], slates_of(2))
        np.testing.assert_array_equal(found[:, P:-1], votes.actions(contexts))
        np.testing.assert_array_equal(found[:, -1:], last.actions(contexts))

    def test_voters_are_asked_once(self, policies, contexts):
        policies.actions(contexts)
        assert [one.contexts for one in policies.usage().candidates] == [N] * P
        policies.actions(contexts, [P + 1])
        counts = {one.policy: one.contexts for one in policies.usage().candidates}
        assert counts == {0: 2 * N, 1: N, 2: 2 * N, 3: 2 * N, 4: N}  # who counts in it

    def test_votes_in_front_of_their_voters_ask_for_themselves(self, contexts):
        base = functions(slates_of(2))
        both = ps.VotePolicies(base) + base
        np.testing.assert_array_equal(both.actions(contexts)[:, 1:], slates_of(2))
        np.testing.assert_array_equal(
            both.actions(contexts)[:, :1], ps.VotePolicies(base).actions(contexts)
        )

    def test_a_voter_that_fails_is_named(self, contexts):
        def fails(contexts):
            raise KeyError("no answer")

        base = ps.FunctionPolicies([Column(slates_of(1)[:, 0]), fails], n_actions=K)
        with pytest.raises(ps.PolicyFailureError, match="raised KeyError") as caught:
            (base + ps.VotePolicies(base)).actions(contexts, [2])
        assert caught.value.policy == 1


def test_by_default_all_count_alike():
    votes = ps.VotePolicies(ps.PolicyTable(slates_of(1), n_actions=K))
    assert votes.weights.tolist() == [[1 / P] * P]
    assert votes.names is None
    assert votes.fitted_on == 0


def test_weights_are_shares_also_of_huge_ones():
    votes = ps.VotePolicies(ps.PolicyTable(slates_of(1), n_actions=K), [1e308, 1e308, 0, 0, 1e308])
    np.testing.assert_allclose(votes.weights, [[1 / 3, 1 / 3, 0, 0, 1 / 3]], rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        votes.weights[0, 0] = 1.0


def test_names():
    """Votes of candidates with names have names, so that they can stand beside them."""
    base = ps.PolicyTable(slates_of(1), n_actions=K, names=list("abcde"), actions=list("uvwxyz"))
    assert ps.VotePolicies(base).names == ("vote of 5",)
    assert ps.VotePolicies(base, [1, 0, 1, 0, 0]).names == ("vote of 2",)
    assert ps.VotePolicies(base, WEIGHTS).names == ("vote 0", "vote 1", "vote 2")
    named = ps.VotePolicies(base, WEIGHTS, names=["x", "y", "z"])
    assert (base + named).names == (*"abcde", "x", "y", "z")
    assert named.action_names == tuple("uvwxyz")
    with pytest.raises(ps.InvalidArgumentError, match="names must name each of the 3"):
        ps.VotePolicies(base, WEIGHTS, names=["x"])


def test_fingerprints_tell_weights_and_candidates_apart():
    one, two = (ps.PolicyTable(slates_of(1)[:n], n_actions=K) for n in (N, N - 1))
    prints = {
        ps.VotePolicies(base, weights).fingerprint()
        for base in (one, two)
        for weights in (WEIGHTS, WEIGHTS[::-1])
    }
    assert len(prints) == 4
    assert ps.VotePolicies(one).fingerprint() == ps.VotePolicies(one).fingerprint()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"shape \(n_votes, 5\) or \(5,\)"),
        (np.ones((0, 5)), r"got shape \(0, 5\)"),
        (np.ones((1, 1, 5)), "one for each candidate"),
        ([1, 1, 1, 1, -1], "not negative, and positive for some candidate, got .* in vote 0"),
        ([[1] * 5, [0] * 5], "positive for some candidate, got .* in vote 1"),
        ([1, 1, 1, 1, np.nan], "finite"),
        ([1, 1, 1, 1, np.inf], "finite"),
        (["a"] * 5, "weights must be numbers"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.VotePolicies(ps.PolicyTable(slates_of(1), n_actions=K), weights)


def test_bad_candidates():
    one = ps.PolicyTable(slates_of(1)[:, :1], n_actions=K)
    for policies in (one, ps.TabularPolicies(n_contexts=3, n_actions=2), None):
        with pytest.raises(ps.InvalidArgumentError, match="at least two candidates"):
            ps.VotePolicies(policies)
    with pytest.raises(ps.InvalidArgumentError, match="fitted_on"):
        ps.VotePolicies(ps.PolicyTable(slates_of(1), n_actions=K), fitted_on=-1)


def test_lists_that_do_not_fit_are_not_added():
    base = ps.PolicyTable(slates_of(1), n_actions=K)
    with pytest.raises(ps.InvalidArgumentError, match="policies that join must have the n_actions"):
        base + ps.PolicyTable([[0]], n_actions=2)
    with pytest.raises(ps.InvalidArgumentError, match="policies"):
        base + 3
