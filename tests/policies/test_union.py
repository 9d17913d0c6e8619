"""Lists of policies one behind the other."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies.union import PolicyUnion, union_of
from tests.contracts.policies_contract import PoliciesContract
from tests.evidence.capped import Column

K, N = 5, 8
TABLE = np.random.default_rng(0).random((N, 4, K)).argsort(axis=-1)[..., :2]


def functions(columns, **given):
    asked = [Column(column) for column in columns.swapaxes(0, 1)]
    return ps.FunctionPolicies(asked, n_actions=K, slate_size=2, **given)


class TestUnion(PoliciesContract):
    kind = PolicyUnion

    @pytest.fixture
    def contexts(self):
        return np.arange(N)

    @pytest.fixture
    def policies(self):
        first = ps.PolicyTable(TABLE[:, :1], n_actions=K)
        return union_of(union_of(first, functions(TABLE[:, 1:3])), functions(TABLE[:, 3:]))

    def test_answers_are_those_of_the_parts(self, policies, contexts):
        assert len(policies.parts) == 3
        np.testing.assert_array_equal(policies.actions(contexts), TABLE)
        np.testing.assert_array_equal(policies.actions(contexts, [3, 1, 0]), TABLE[:, [3, 1, 0]])

    def test_each_part_is_asked_about_its_own(self, policies, contexts):
        policies.actions(contexts[:3], [2])
        policies.actions(contexts, [2, 3])
        usage = policies.usage()
        assert [(one.policy, one.contexts) for one in usage.candidates] == [(2, N + 3), (3, N)]
        assert [one.name for one in usage.candidates] == ["policy 2", "policy 3"]
        assert policies.called

    def test_contexts_must_suit_all(self, policies):
        with pytest.raises(ps.InvalidArgumentError, match="contexts must be row numbers"):
            policies.check_contexts([N])


def test_tables_become_one_table():
    first = ps.PolicyTable(TABLE[:, :3], n_actions=K, names=["a", "b", "c"])
    both = union_of(first, ps.PolicyTable(TABLE[:, 3:], n_actions=K, names=["d"]))
    assert isinstance(both, ps.PolicyTable)
    assert both.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(both.table, TABLE)


def test_names_fingerprints_and_failures_are_those_of_the_union():
    def fails(contexts):
        raise KeyError("no answer")

    first, second = functions(TABLE[:, :2], names=["a", "b"]), functions(TABLE[:, 2:3], names=["c"])
    both = union_of(first, second)
    assert both.names == ("a", "b", "c")
    assert both.number_of("c") == 2
    assert both.fingerprint() == f"{first.fingerprint()} + {second.fingerprint()}"
    broken = union_of(first, ps.FunctionPolicies([fails], n_actions=K, slate_size=2, names=["d"]))
    with pytest.raises(ps.PolicyFailureError, match="policy 'd' raised KeyError") as caught:
        broken.actions(np.arange(3))
    assert caught.value.policy == 2


def test_equal_policies_are_known_within_a_part():
    twice = ps.PolicyTable(TABLE[:, [0, 1, 0]], n_actions=K)
    both = union_of(functions(TABLE[:, :2]), twice)
    others = np.array([0, 1, 2, 3, 4])
    assert both.same_as(4, others).tolist() == [False, False, True, False, True]
    assert not both.same_as(0, others).any()
