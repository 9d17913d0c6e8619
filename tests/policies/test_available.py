"""What policies show where not everything is available."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest

import policysieve as ps
from policysieve.availability import Available
from policysieve.policies import Cover
from policysieve.policies.pair import PolicyPair
from tests.oracles import available as oracle

K = 6
ORDER = [4, 2, 0, 5, 1, 3]


def masks(n, m=1, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.random((n, K)) < 0.5
    for row in found:
        row[rng.choice(K, m, replace=False)] = True
    return found


def sets(mask):
    return [set(np.flatnonzero(row).tolist()) for row in mask]


@pytest.mark.parametrize("m", [1, 3])
class TestTables:
    def table(self, m, **how):
        table = np.random.default_rng(m).random((8, 5, K)).argsort(axis=-1)[..., :m]
        return ps.PolicyTable(table, n_actions=K, **how)

    def test_the_fallback_takes_the_places_of_what_is_not_available(self, m):
        policies, mask = self.table(m, fallback=ORDER), masks(8, m)
        raw, found = policies.actions(np.arange(8)), policies.actions(np.arange(8), available=mask)
        assert found.dtype == raw.dtype
        for i, allowed in enumerate(sets(mask)):
            expected = [oracle.mended(slate, allowed, ORDER) for slate in raw[i].tolist()]
            assert found[i].tolist() == expected
        some = policies.actions(np.arange(8), [3, 0], available=mask)
        np.testing.assert_array_equal(some, found[:, [3, 0]])

    def test_answers_are_worked_out_for_the_contexts(self, m):
        policies, mask = self.table(m, fallback=ORDER), masks(8, m)
        answers = policies.answers(np.arange(8), mask)
        expected = policies.actions(np.arange(8), available=mask)
        np.testing.assert_array_equal(answers.table[answers.rows], expected)
        assert answers.available == Available.of(mask, 8, K)
        travelled = pickle.loads(pickle.dumps(answers))
        assert travelled.available == answers.available
        assert policies.answers(np.arange(8)).available is None

    def test_answers_with_and_without_limits_go_together(self, m):
        policies, mask = self.table(m, fallback=ORDER), masks(8, m)
        free, limited = policies.answers(np.arange(8)), policies.answers(np.arange(8), mask)
        everything = np.ones((8, K), bool)
        for one, two, first, second in (
            (free, limited, everything, mask),
            (limited, free, mask, everything),
        ):
            both = one.plus(two)
            assert both.available == Available.of(np.concatenate([first, second]), 16, K)
            expected = np.concatenate([one.table[one.rows], two.table[two.rows]])
            np.testing.assert_array_equal(both.table[both.rows], expected)
            again = both.take(slice(8, None)).plus(two.take(slice(0, 0)))
            np.testing.assert_array_equal(again.table[again.rows], expected[8:])
        assert free.plus(limited.take([])) is free


def test_a_table_without_a_fallback_says_who_is_stuck_where():
    policies = ps.PolicyTable([[0, 1], [2, 3]], n_actions=K, names=["old", "new"])
    assert policies.actions([0, 1], available=[[0, 1], [2, 3, 4]])[:, :, 0].tolist() == [
        [0, 1],
        [2, 3],
    ]
    with pytest.raises(ps.PolicyFailureError) as caught:
        policies.actions([0, 1], available=[[0, 1], [2, 4]])
    assert caught.value.policy == 1
    text = "shows [3] at context 1, which is not available there; declare what takes its place"
    assert text in str(caught.value)
    assert "new" in str(caught.value)
    named = ps.PolicyTable([[0]], n_actions=2, actions=["hats", "shoes"])
    with pytest.raises(ps.PolicyFailureError, match=r"fallback=\['hats', 'shoes'\] with all"):
        named.actions([0], available=[["shoes"]])


def test_a_fallback_that_ends_is_told():
    policies = ps.PolicyTable([[0]], n_actions=K, fallback=[1, 2])
    with pytest.raises(ps.PolicyFailureError, match="fallback has not enough that is available"):
        policies.actions([0], available=[[3]])


@pytest.mark.parametrize("bad", [[0, 0], [6], [-1], [], ["hats"], [[0]], 3, "hats", [0.5]])
def test_a_fallback_is_an_order_of_actions(bad):
    with pytest.raises(ps.InvalidArgumentError, match="fallback"):
        ps.PolicyTable([[0]], n_actions=K, fallback=bad)


def test_policies_with_another_fallback_are_others():
    one, two, three = (
        ps.PolicyTable([[0, 1]], n_actions=K, fallback=order)
        for order in (None, ORDER, ORDER[::-1])
    )
    assert len({policies.fingerprint() for policies in (one, two, three)}) == 3


@pytest.mark.parametrize(
    "bad", [np.zeros((2, K), bool), [[0]], [[0], [9]], [["hats"], [0]], np.ones((2, 3), bool), 7]
)
def test_too_little_or_nothing_known_is_refused(bad):
    policies = ps.PolicyTable([[0], [1]], n_actions=K, fallback=ORDER)
    with pytest.raises(ps.InvalidArgumentError, match="available"):
        policies.actions([0, 1], available=bad)


@pytest.mark.parametrize("m", [1, 3])
def test_linear_policies_show_the_best_available(m):
    rng = np.random.default_rng(m)
    policies = ps.LinearPolicies(rng.standard_normal((5, K, 3)), slate_size=m)
    x, mask = rng.standard_normal((20, 3)), masks(20, m)
    found = policies.actions(x, available=mask)
    scores = np.einsum("pkd,nd->npk", policies.weights, x)
    for i, allowed in enumerate(sets(mask)):
        expected = [oracle.ranked(row, allowed, m) for row in scores[i]]
        assert found[i].tolist() == expected
    np.testing.assert_array_equal(
        policies.actions(x, available=np.ones((20, K), bool)), policies.actions(x)
    )


class Scored:
    """A model that knows some of the classes, and whose predict need not be its largest score."""

    classes_ = np.array([0, 2, 3, 5])

    def __init__(self, shift, word=None):
        self.shift, self.word = shift, word
        if word is not None:
            self.predict = lambda x: np.full(len(x), word)

    def predict_proba(self, x):
        scores = np.sin(x[:, :1] * np.arange(1, 5) + self.shift) + 2
        return scores / scores.sum(axis=1, keepdims=True)


class TestModels:
    x = np.random.default_rng(0).standard_normal((20, 2))

    def ranking(self, model, row):
        scores = np.full(K, -np.inf)
        scores[model.classes_] = model.predict_proba(self.x[row : row + 1])[0]
        return scores

    @pytest.mark.parametrize("m", [1, 3])
    def test_scores_rank_what_is_available(self, m):
        models, mask = [Scored(0.0), Scored(1.0)], masks(20, m)
        found = ps.EstimatorPolicies(models, K, slate_size=m).actions(self.x, available=mask)
        for i, allowed in enumerate(sets(mask)):
            for p, model in enumerate(models):
                assert found[i, p].tolist() == oracle.ranked(self.ranking(model, i), allowed, m)

    def test_predict_has_the_first_word(self):
        model, mask = Scored(0.0, word=3), masks(20)
        policies = ps.EstimatorPolicies([model], K)
        found = policies.actions(self.x, available=mask)[:, 0, 0]
        for i, allowed in enumerate(sets(mask)):
            expected = 3 if 3 in allowed else oracle.ranked(self.ranking(model, i), allowed, 1)[0]
            assert found[i] == expected
        assert (policies.actions(self.x) == 3).all()
        usage = policies.usage().candidates[0]
        assert usage.contexts == 40 + int((~mask[:, 3]).sum())

    def test_models_without_scores_need_a_fallback(self):
        model = SimpleNamespace(predict=lambda x: np.zeros(len(x), int))
        with pytest.raises(ps.PolicyFailureError, match=r"policy 0 .*shows \[0\] at context 1"):
            ps.EstimatorPolicies([model], K).actions(self.x[:2], available=[[0], [1]])
        policies = ps.EstimatorPolicies([model], K, fallback=[5, 1])
        assert policies.actions(self.x[:2], available=[[0], [1]])[:, 0, 0].tolist() == [0, 1]

    def test_scores_that_fail_are_the_models(self):
        model = Scored(0.0, word=3)
        model.predict_proba = lambda x: 1 / 0
        with pytest.raises(ps.PolicyFailureError, match="policy 0 raised ZeroDivisionError"):
            ps.EstimatorPolicies([model], K).actions(self.x[:1], available=[[1]])


def first_available(x, available=None):
    return np.zeros(len(x), int) if available is None else available.argmax(axis=1)


class TestFunctions:
    def test_a_function_may_ask_what_is_available(self):
        policies = ps.FunctionPolicies([first_available, lambda x: x % K], K, fallback=ORDER)
        mask = masks(12)
        found = policies.actions(np.arange(12), available=mask)[:, :, 0]
        assert (policies.actions(np.arange(12))[:, 0, 0] == 0).all()
        np.testing.assert_array_equal(found[:, 0], mask.argmax(axis=1))
        expected = [oracle.mended([i % K], one, ORDER)[0] for i, one in enumerate(sets(mask))]
        assert found[:, 1].tolist() == expected

    def test_one_by_one_it_gets_a_list_of_names(self):
        seen = []

        def rule(x, *, available):
            seen.append(available)
            return available[-1]

        policies = ps.FunctionPolicies(
            [rule, lambda x: "hats"], actions=["hats", "shoes", "socks"], vectorized=False
        )
        mask = np.array([[True, True, False], [True, False, False]])
        assert policies.actions([7, 8], available=mask)[:, :, 0].tolist() == [[1, 0], [0, 0]]
        assert seen == [["hats", "shoes"], ["hats"]]

    def test_slow_ones_as_well(self):
        async def rule(x, available=None):
            return 0 if available is None else available[-1]

        def plain(x):
            return x

        policies = ps.FunctionPolicies(
            [rule, plain], K, calls=ps.Calls(retries=0), vectorized=False, fallback=ORDER
        )
        found = policies.actions([1, 2], available=[[0, 3], [2, 5]])[:, :, 0]
        assert found.tolist() == [[3, 0], [5, 2]]
        assert policies.actions([1, 2])[:, 0, 0].tolist() == [0, 0]

    def test_what_it_answers_must_be_available(self):
        policies = ps.FunctionPolicies([lambda x, available: x * 0], K)
        with pytest.raises(ps.PolicyFailureError, match=r"shows \[0\] at context 1"):
            policies.actions(np.arange(2), available=[[0], [1]])


class TestCached:
    def test_answers_that_heed_it_are_kept_for_each_set(self, tmp_path):
        calls = []

        def heeding(x, available=None):
            calls.extend(x)
            return first_available(x, available)

        def plain(x):
            calls.extend(-x - 1)
            return x % K

        made = ps.FunctionPolicies({"a": heeding, "b": plain}, K, fallback=ORDER)
        policies, mask = ps.cached(made, tmp_path), masks(6)
        for limit in (mask, mask, None, mask[::-1], None):
            found = policies.actions(np.arange(6), available=limit)
            np.testing.assert_array_equal(found, made.actions(np.arange(6), available=limit))
        calls.clear()
        for limit in (mask, None, mask[::-1]):
            policies.actions(np.arange(6), available=limit)
        assert not calls
        policies.actions(np.arange(1), available=np.eye(K, dtype=bool)[:1])
        assert calls == [0]

    def test_models_rank_again_what_was_kept(self, tmp_path):
        x, mask = TestModels.x, masks(20)
        made = ps.EstimatorPolicies([Scored(0.0), Scored(0.5, word=2)], K, names=["a", "b"])
        policies = ps.cached(made, tmp_path)
        for _ in range(2):
            found = policies.actions(x, available=mask)
            np.testing.assert_array_equal(found, made.actions(x, available=mask))


def test_a_pair_answers_as_in_the_list():
    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal((9, 3)), masks(9)
    linear = ps.LinearPolicies(rng.standard_normal((5, K, 3)))
    found = PolicyPair(linear, (3, 1)).actions(x, available=mask)
    np.testing.assert_array_equal(found, linear.actions(x, [3, 1], available=mask))


def test_covers_refuse_it():
    problem = ps.Problem(n_actions=K, epsilon=0.3, delta=0.1)
    hypotheses = ps.LinearPolicies(np.ones((2, K, 1)))
    how = {"problem": problem, "epsilon0": 0.1, "delta0": 0.05, "statement": ""}
    cover = Cover(hypotheses, np.array([1]), **how)
    with pytest.raises(ps.InvalidArgumentError, match="left out with a cover"):
        cover.actions([[1.0]], available=[[0]])


def test_a_randomised_policy_draws_what_is_available():
    policies = ps.PolicyTable([[0, 1, 2]], n_actions=K, fallback=ORDER)
    drawn = ps.RandomizedPolicy(policies, np.array([0.5, 0.3, 0.2]))
    allowed = [[0, 4]]
    np.testing.assert_allclose(drawn.probabilities([0], available=allowed)[0, [0, 4]], 0.5)
    shown = drawn.sample([0] * 50, rng=0, available=allowed * 50)
    assert set(shown.ravel().tolist()) == {0, 4}


def test_the_error_says_what_is_stuck_by_name():
    policies = ps.PolicyTable([["hats"]], actions=["hats", "shoes"])
    with pytest.raises(ps.PolicyFailureError, match=re.escape("shows ['hats'] at context 0")):
        policies.actions([0], available=[["shoes"]])
