"""Answers on disk: asked for once, whoever asks, and never changed."""

import asyncio

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import CachedPolicies, looping
from tests.contracts.policies_contract import PoliciesContract
from tests.policies.noting import Candidate, asked, functions


class TestCachedPolicies(PoliciesContract):
    kind = CachedPolicies

    @pytest.fixture(params=[1, 3])
    def policies(self, request, tmp_path):
        return ps.cached(functions(4, request.param), tmp_path / "new" / "folder")

    @pytest.fixture
    def contexts(self):
        return np.array([3, 0, 7, 3, 1])


class TestCachedModels(PoliciesContract):
    kind = CachedPolicies

    @pytest.fixture
    def policies(self, tmp_path):
        from sklearn.tree import DecisionTreeClassifier

        X = np.random.default_rng(0).random((50, 3))
        models = [
            DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, np.arange(50) % 4)
            for d in (1, 3, None)
        ]
        return ps.cached(ps.EstimatorPolicies(models, n_actions=4), tmp_path)

    @pytest.fixture
    def contexts(self):
        return np.random.default_rng(1).random((6, 3))


def test_only_what_is_not_known_is_asked(tmp_path):
    first = functions()
    kept = ps.cached(first, tmp_path)
    x = np.array([5, 6, 5, 7])
    expected = functions().actions(x)
    np.testing.assert_array_equal(kept.actions(x), expected)
    assert asked(first) == [[5, 6, 7]] * 3  # each context once
    second = functions()
    again = ps.cached(second, tmp_path)
    np.testing.assert_array_equal(again.actions(x), expected)
    assert asked(second) == [[]] * 3
    assert again.actions([8, 6, 9], which=[1])[:, 0, 0].tolist() == [2, 0, 3]
    assert asked(second) == [[], [8, 9], []]
    total = again.usage().total
    assert total.hits == 4 * 3 + 1
    assert kept.usage().total.hits == 0
    assert kept.usage().total.contexts == 9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.array([1, 2]), np.array([1, 2], dtype=np.int32)),
        (np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])),
        (np.array([["a", "b"]], dtype=object), np.array([["ab", ""]], dtype=object)),
        (["1"], [1]),
    ],
)
def test_other_contexts_are_not_mistaken(tmp_path, one, other):
    policies = functions(1)
    kept = ps.cached(policies, tmp_path)
    kept.actions(one)
    before = len(policies.functions[0].asked)
    kept.actions(other)
    assert len(policies.functions[0].asked) == before + len(other)
    kept.actions(one)
    kept.actions(other)
    assert len(policies.functions[0].asked) == before + len(other)


def rows_of_a_table(k=0):
    import pandas as pd

    return pd.DataFrame(
        {
            "age": [30.0 + k, None, 50.0],
            "country": ["de", "fr", None],
            "day": pd.to_datetime(["2024-01-01", None, "2024-03-01"]),
            "known": [True, False, True],
        }
    )


def test_rows_of_a_data_frame(tmp_path):
    asked = []

    def by_age(row):
        asked.append(row)
        return int((row["age"] or 0) > 40)

    policies = ps.FunctionPolicies([by_age], n_actions=2, vectorized=False)
    kept = ps.cached(policies, tmp_path)
    assert kept.actions(rows_of_a_table())[:, 0, 0].tolist() == [0, 0, 1]
    assert kept.actions(rows_of_a_table())[:, 0, 0].tolist() == [0, 0, 1]
    assert kept.actions(rows_of_a_table()[["known", "day", "country", "age"]]).shape == (3, 1, 1)
    assert len(asked) == 3
    assert kept.actions(rows_of_a_table(20))[:, 0, 0].tolist() == [1, 0, 1]
    assert [row["age"] for row in asked[3:]] == [50.0]


def test_rows_of_a_data_frame_for_calls(tmp_path):
    async def by_age(row):
        return int((row["age"] or 0) > 40)

    policies = ps.FunctionPolicies([by_age], n_actions=2, calls=ps.Calls())
    assert policies.actions(rows_of_a_table())[:, 0, 0].tolist() == [0, 0, 1]
    kept = ps.cached(policies, tmp_path)
    for _ in range(2):
        assert kept.actions(rows_of_a_table())[:, 0, 0].tolist() == [0, 0, 1]
    assert policies.usage().total.contexts == 6


def test_versions_candidates_and_actions_are_kept_apart(tmp_path):
    def fixed(action):
        return lambda x: np.full(len(x), action)

    def said(actions, **how):
        n_actions = how.pop("n_actions", 3)
        policies = ps.FunctionPolicies([fixed(a) for a in actions], n_actions=n_actions)
        return ps.cached(policies, tmp_path, **how).actions([1])[0, :, 0].tolist()

    assert said([0, 1]) == [0, 1]
    assert said([2, 2]) == [0, 1]
    assert said([2, 2], version="new prompt") == [2, 2]
    assert said([2, 2, 2], n_actions=4) == [2, 2, 2]
    assert said([2, 2, 2]) == [0, 1, 2]


def test_names_are_kept_by_name(tmp_path):
    """Candidates may come in another order, and others may join; actions may not."""

    def said(names, actions, answer):
        functions = {name: lambda x, name=name: np.full(len(x), answer(name)) for name in names}
        kept = ps.cached(ps.FunctionPolicies(functions, actions=actions), tmp_path)
        assert (kept.names, kept.action_names) == (tuple(names), tuple(actions))
        return kept.actions([1])[0, :, 0].tolist()

    assert said(["short", "long"], ["no", "yes"], lambda name: int(name == "long")) == [0, 1]
    assert said(["long", "new", "short"], ["no", "yes"], lambda name: 0) == [1, 0, 0]
    assert said(["long", "short"], ["yes", "no"], lambda name: 0) == [0, 0]


def test_a_learner_gets_the_same_bits_and_asks_survivors_alone(tmp_path):
    """The same from functions, from an empty folder, and from a full one, which costs nothing."""
    table = np.random.default_rng(2).integers(0, 7, (6, 200))
    table[0] = np.arange(200) % 7

    def learner(wrap):
        called = np.zeros(6, int)

        def candidate(p):
            def act(x):
                called[p] += len(x)
                return table[p, x]

            return act

        policies = wrap(ps.FunctionPolicies([candidate(p) for p in range(6)], n_actions=7))
        problem = ps.Problem(n_actions=7, epsilon=0.1, delta=0.1)
        one, rng = ps.Sieve(policies, problem, rng=4), np.random.default_rng(5)
        while one.rounds < 400:
            x = rng.integers(0, 200, 40)
            decisions = one.ask(x)
            one.tell(decisions, (decisions.actions[:, 0] == x % 7) * 1.0)
        return one, called

    plain, _ = learner(lambda policies: policies)
    first, called = learner(lambda policies: ps.cached(policies, tmp_path))
    second, nobody = learner(lambda policies: ps.cached(policies, tmp_path))
    assert len(plain.survivors) < 6
    assert plain.log == first.log == second.log
    assert plain.recommend() == first.recommend() == second.recommend()
    assert nobody.tolist() == [0] * 6
    assert called.max() == called[0] <= 200
    assert called.min() < called[0]


def test_a_fallback_is_kept_like_any_answer(tmp_path, monkeypatch):
    """Were it asked for again, the odds of falling back would shrink from batch to batch."""
    monkeypatch.setattr(looping, "_PAUSE", 0.0)
    down = [True]

    async def shaky(x):
        if down and x == 2:
            raise ConnectionError("down")
        return 1

    calls = ps.Calls(retries=1, fallback=0)
    policies = ps.FunctionPolicies([shaky], n_actions=2, calls=calls)
    kept = ps.cached(policies, tmp_path)
    assert kept.actions([1, 2, 3])[:, 0, 0].tolist() == [1, 0, 1]
    down.clear()
    assert kept.actions([1, 2, 3])[:, 0, 0].tolist() == [1, 0, 1]
    one = kept.usage().candidates[0]
    assert (one.contexts, one.calls, one.fallbacks, one.hits) == (3, 4, 1, 3)
    again = ps.cached(policies, tmp_path, version="again")
    assert again.actions([1, 2, 3])[:, 0, 0].tolist() == [1, 1, 1]


def test_classes_of_other_numbers_or_kinds_are_told_apart(tmp_path):
    rng = np.random.default_rng(0)
    one, other = (ps.LinearPolicies(rng.normal(size=(4, 5, 3))) for _ in range(2))
    x = rng.normal(size=(20, 3))
    for policies in (one, other, one):
        np.testing.assert_array_equal(ps.cached(policies, tmp_path).actions(x), policies.actions(x))
    rule = ps.FunctionPolicies([lambda x: np.full(len(x), 4)], n_actions=5)
    assert (ps.cached(rule, tmp_path).actions(x) == 4).all()


def of_others():
    """Pairs of classes that are made of other candidates, and say otherwise the same."""
    rng = np.random.default_rng(0)
    linear = [ps.LinearPolicies(rng.normal(size=(4, 5, 3))) for _ in range(4)]
    yield linear[0] + linear[1], linear[2] + linear[3]
    yield ps.VotePolicies(linear[0]), ps.VotePolicies(linear[1])
    yield linear[0] + ps.VotePolicies(linear[0]), linear[0] + ps.VotePolicies(linear[1])
    rules = [
        {f"{i}": lambda x, i=i: np.full(len(x), i // 2) for i in two} for two in [(0, 1), (2, 3)]
    ]
    yield tuple(ps.VotePolicies(ps.FunctionPolicies(rule, n_actions=5)) for rule in rules)


@pytest.mark.parametrize("pair", [*of_others()], ids=["unions", "votes", "joined votes", "names"])
def test_classes_that_are_made_of_others_are_told_apart(tmp_path, pair):
    x = np.random.default_rng(1).normal(size=(20, 3))
    for policies in (*pair, pair[0]):
        np.testing.assert_array_equal(ps.cached(policies, tmp_path).actions(x), policies.actions(x))


def test_gaps_are_filled_at_once_whoever_has_them(tmp_path):
    """Each candidate misses another context: all three are waited for at the same time."""
    waiting = []

    async def patient(x):
        waiting.append(x)
        while len(waiting) < 3:
            await asyncio.sleep(0.001)
        return 0

    calls = ps.Calls(at_once=3, retries=0, timeout=60.0)
    kept = ps.cached(ps.FunctionPolicies([patient] * 3, n_actions=2, calls=calls), tmp_path)
    waiting.extend("now")
    for policy, known in enumerate([[0, 1], [1, 2], [2, 0]]):
        kept.actions(known, which=[policy])
    waiting.clear()
    kept.actions([0, 1, 2])
    assert len(waiting) == 3


def test_a_failure_names_the_row_of_the_caller(tmp_path):
    async def shaky(x):
        if x == 7:
            raise ConnectionError("down")
        return 0

    policies = ps.FunctionPolicies([shaky], n_actions=2, calls=ps.Calls(retries=0))
    kept = ps.cached(policies, tmp_path)
    kept.actions([5, 6])
    with pytest.raises(ps.PolicyFailureError, match=r"at context 4, .*7"):
        kept.actions([5, 6, 5, 6, 7])


def test_what_was_paid_for_is_kept_when_the_rest_fails(tmp_path):
    """The candidate before the one that fails, and the contexts before the one that does."""
    first = Candidate(0)

    def broken(x):
        raise ConnectionError("down")

    kept = ps.cached(ps.FunctionPolicies([first, broken], n_actions=7), tmp_path)
    with pytest.raises(ps.PolicyFailureError, match="policy 1"):
        kept.actions([1, 2])
    with pytest.raises(ps.PolicyFailureError, match="policy 1"):
        kept.actions([1, 2])
    assert first.asked == [1, 2]

    asked = []

    async def one_by_one(x):
        asked.append(int(x))
        if x == 3 and asked.count(3) == 1:
            raise ConnectionError("down")
        return 1

    calls = ps.Calls(at_once=1, retries=0)
    kept = ps.cached(ps.FunctionPolicies([one_by_one], n_actions=2, calls=calls), tmp_path / "b")
    with pytest.raises(ps.PolicyFailureError, match="context 2"):
        kept.actions([1, 2, 3, 4])
    kept.actions([1, 2, 3, 4])
    assert asked[:3] == [1, 2, 3]
    assert asked.count(1) == asked.count(2) == 1


def test_a_single_context_is_asked_of_all_candidates_at_once(tmp_path):
    waiting = []

    async def patient(x):
        waiting.append(x)
        while len(waiting) < 3:
            await asyncio.sleep(0.001)
        return 0

    policies = ps.FunctionPolicies([patient] * 3, n_actions=2, calls=ps.Calls(at_once=3))
    assert ps.cached(policies, tmp_path).actions([1]).shape == (1, 3, 1)


def test_an_exploration_is_of_the_policies_themselves(tmp_path):
    policies = functions()
    kept = ps.cached(policies, tmp_path)
    problem = ps.Problem(n_actions=7, epsilon=0.1, delta=0.1)
    ps.Sieve(policies, problem).exploration.save(tmp_path / "e.npz")
    assert ps.Exploration.load(tmp_path / "e.npz", kept).policies is kept


def test_what_is_not_worth_keeping(tmp_path):
    table = ps.PolicyTable([[0, 1]], n_actions=2)
    with pytest.raises(ps.InvalidArgumentError, match="only looks them up"):
        ps.cached(table, tmp_path)
    with pytest.raises(ps.InvalidArgumentError, match="can be listed"):
        ps.cached(ps.StumpPolicies(np.zeros((4, 2)) + np.arange(4)[:, None], n_actions=2), tmp_path)
    with pytest.raises(ps.InvalidArgumentError, match="not cached before"):
        ps.cached(ps.cached(functions(), tmp_path), tmp_path)
    with pytest.raises(ps.InvalidArgumentError, match="version"):
        ps.cached(functions(), tmp_path, version=2)
    with pytest.raises(ps.InvalidArgumentError, match="folder"):
        ps.cached(functions(), 3)
