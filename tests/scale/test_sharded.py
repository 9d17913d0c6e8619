"""A class in shards: the same answers, errors and counts, whatever becomes of the actors."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies.base import Policies
from policysieve.scale import ShardedPolicies, dealer, shards
from policysieve.scale.shards import Shards
from tests.contracts.policies_contract import PoliciesContract
from tests.scale.helpers import on_both_nodes, when_there


class Rule:
    """A candidate; at the top of a module, so that it pickles."""

    def __init__(self, p, m=1):
        self.p, self.m = p, m

    def __call__(self, x):
        first = (np.asarray(x).astype(int) * (self.p + 2) + self.p) % 7
        return np.stack([(first + j) % 7 for j in range(self.m)], axis=1)


def functions(n=5, m=1, **options):
    return ps.FunctionPolicies([Rule(p, m) for p in range(n)], n_actions=7, slate_size=m, **options)


def table(n=9, m=1):
    said = np.argsort(np.random.default_rng(0).random((20, n, 7)), axis=-1)[:, :, :m]
    return ps.PolicyTable(said, n_actions=7, fallback=list(range(7)))


def models(slate_size=1):
    from sklearn.tree import DecisionTreeClassifier

    X = np.random.default_rng(0).random((80, 3))
    fitted = {
        f"depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, np.arange(80) % 5)
        for d in (1, 2, 3, 4, 5)
    }
    return ps.EstimatorPolicies(fitted, n_actions=5, slate_size=slate_size)


class Shifted(Policies):
    """A class of a user's own, which cannot be taken apart."""

    def __init__(self):
        super().__init__(n_policies=6, n_actions=7, slate_size=1)

    def _evaluate(self, contexts, which):
        numbers = np.arange(6) if which is None else which
        return ((contexts[:, None] + numbers) % 7).astype(np.uint8)[:, :, None]


pytestmark = pytest.mark.usefixtures("few_actors")

NUMBERS = np.array([3, 0, 7, 3, 1, 19])
FEATURES = np.random.default_rng(1).random((6, 3))


class TestShardedFunctions(PoliciesContract):
    kind = ShardedPolicies
    takes_available = True

    @pytest.fixture(scope="class")
    @classmethod
    def policies(cls, connected, few_actors):
        return ShardedPolicies(functions(5, 3, fallback=list(range(7))), engine=connected)

    @pytest.fixture
    def contexts(self):
        return NUMBERS


class TestShardedTable(PoliciesContract):
    kind = ShardedPolicies

    @pytest.fixture(scope="class")
    @classmethod
    def policies(cls, connected, few_actors):
        return ShardedPolicies(table(), engine=connected)

    @pytest.fixture
    def contexts(self):
        return NUMBERS


KINDS = {
    "functions": (lambda: functions(fallback=[2, 3, 4, 5, 6, 0, 1]), NUMBERS),
    "linear": (
        lambda: ps.LinearPolicies(np.random.default_rng(2).normal(size=(7, 5, 3)), slate_size=2),
        FEATURES,
    ),
    "models that rank": (lambda: models(2), FEATURES),
    "not taken apart": (Shifted, NUMBERS),
}


@pytest.mark.parametrize("name", KINDS)
def test_answers_names_counts_and_fingerprints_are_those_of_the_class(engine, name):
    make, contexts = KINDS[name]
    plain, sharded = make(), ShardedPolicies(make(), engine=engine)
    assert sharded.shards == 2
    some = [plain.n_policies - 1, 1, 1, 0]
    for which in (None, some):
        expected = plain.actions(contexts, which)
        found = sharded.actions(contexts, which)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    if plain.fallback is not None or name.startswith(("linear", "models")):
        few = np.zeros((len(contexts), plain.n_actions), bool)
        few[:, :2] = few[::2, 3] = True
        found = sharded.actions(contexts, some, available=few)
        np.testing.assert_array_equal(found, plain.actions(contexts, some, available=few))
    assert sharded.fingerprint() == plain.fingerprint()
    assert (sharded.names, sharded.action_names) == (plain.names, plain.action_names)
    assert (sharded.called, sharded.n_contexts) == (plain.called, plain.n_contexts)
    for mine, theirs in zip(sharded.usage().candidates, plain.usage().candidates, strict=True):
        assert (mine.policy, mine.name) == (theirs.policy, theirs.name)
        assert (mine.calls, mine.contexts) == (theirs.calls, theirs.contexts)


def test_rows_of_a_data_frame_and_functions_that_are_told_what_is_available(engine):
    import pandas as pd

    def first(frame, available):
        return available.argmax(axis=1)

    rules = [first, lambda frame: (frame["age"] > 40).astype(int).to_numpy()]
    plain = ps.FunctionPolicies(rules, n_actions=3, fallback=[2, 1, 0])
    frame = pd.DataFrame({"age": [30.0, 50.0, 60.0], "country": ["de", None, "fr"]})
    few = [[1, 2], [2], [0, 1]]
    found = ShardedPolicies(plain, engine=engine).actions(frame, available=few)
    np.testing.assert_array_equal(found, plain.actions(frame, available=few))


@pytest.fixture
def asked(monkeypatch):
    """The shards that were asked, call by call."""
    calls, ask = [], Shards.ask

    def spy(self, parts, contexts, questions):
        calls.append(sorted(questions))
        return ask(self, parts, contexts, questions)

    monkeypatch.setattr(Shards, "ask", spy)
    return calls


def test_each_shard_is_asked_once_and_those_without_survivors_not_at_all(engine, asked):
    sharded = ShardedPolicies(table(), engine=engine)
    x = sharded.check_contexts(NUMBERS)
    sharded.answers_at(x, None)
    sharded.answers_at(x, np.array([6, 8]))
    said = sharded.answers_at(x, np.array([4]))
    assert asked == [[0, 1], [1], [0]]
    np.testing.assert_array_equal(said.table[:, 4], table().actions(NUMBERS)[:, 4])
    sharded.actions(NUMBERS[:0])
    assert len(asked) == 3


def test_many_answers_that_are_looked_up_come_in_blocks(engine, asked, monkeypatch):
    monkeypatch.setattr(dealer, "_BYTES", 20)
    sharded = ShardedPolicies(table(), engine=engine)
    np.testing.assert_array_equal(sharded.actions(NUMBERS), table().actions(NUMBERS))
    assert len(asked) == 3


def test_a_cache_asks_all_shards_at_once(engine, asked, tmp_path):
    plain = functions(fallback=list(range(7)))
    kept = ps.cached(ShardedPolicies(plain, engine=engine), tmp_path)
    np.testing.assert_array_equal(kept.actions(NUMBERS), plain.actions(NUMBERS))
    assert asked == [[0, 1]]
    again = ps.cached(plain, tmp_path)
    again.actions(NUMBERS)
    assert again.usage().total.hits == 5 * len(NUMBERS)  # the same candidates
    few = np.ones((len(NUMBERS), 7), bool)
    few[:, 3] = False
    np.testing.assert_array_equal(
        kept.actions(NUMBERS, available=few), plain.actions(NUMBERS, available=few)
    )


class Failing:
    def __init__(self, error=None):
        self.error = error

    def __call__(self, x):
        if self.error is not None:
            raise self.error
        return np.zeros(len(x), int)


def test_the_error_is_that_of_the_first_policy_that_fails(engine):
    rules = [Failing(error) for error in (None, None, ValueError("two"), KeyError("three"))]
    plain = ps.FunctionPolicies(rules, n_actions=2)
    sharded = ShardedPolicies(plain, engine=engine)
    for which in (None, [3, 2], [0, 3]):
        with pytest.raises(ps.PolicyFailureError) as expected:
            plain.actions(NUMBERS, which)
        with pytest.raises(ps.PolicyFailureError) as found:
            sharded.actions(NUMBERS, which)
        assert str(found.value) == str(expected.value)
        assert found.value.policy == expected.value.policy
    assert sharded.actions(NUMBERS, [0, 1]).shape == (6, 2, 1)


def test_a_cluster_that_was_left(engine, monkeypatch):
    sharded = ShardedPolicies(functions(), engine=engine)
    monkeypatch.setattr(engine.ray, "is_initialized", lambda: False)
    with pytest.raises(ps.ClusterError, match="was left or stopped"):
        sharded.actions(NUMBERS)


def test_a_candidate_that_leaves_does_not_end_its_shard(engine):
    sharded = ShardedPolicies(
        ps.FunctionPolicies([Failing(), Failing(SystemExit(3))], n_actions=2), engine=engine
    )
    with pytest.raises(SystemExit):
        sharded.actions(NUMBERS)


def test_a_candidate_that_cannot_be_sent_is_named(engine):
    lock = threading.Lock()
    rules = {
        "fine": Failing(),
        "also": Failing(),
        "locked": lambda x: lock and x,
        "last": Failing(),
    }
    with pytest.raises(ps.UnpicklableError, match=r"locked cannot be sent.*lock"):
        ShardedPolicies(ps.FunctionPolicies(rules, n_actions=2), engine=engine)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (lambda e, f: ([len], {}), "must be functions, models or others that can be listed"),
        (lambda e, f: (ps.cached(functions(), f), {}), r"got CachedPolicies; cache what is in"),
        (lambda e, f: (functions(), {"shards": 0}), "shards must be"),
        (lambda e, f: (functions(), {"engine": "auto"}), "engine must be a RayEngine"),
    ],
)
def test_bad_arguments(engine, tmp_path, arguments, rule):
    policies, options = arguments(engine, tmp_path)
    with pytest.raises(ps.InvalidArgumentError, match=rule):
        ShardedPolicies(policies, **options)


class Slow:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, x):
        time.sleep(self.seconds)
        return np.asarray(x) % 2


def test_candidates_are_dealt_anew_where_one_shard_has_all_that_is_slow(engine):
    rules = [Slow(0.05 if p % 2 else 0.0) for p in range(8)]
    sharded = ShardedPolicies(ps.FunctionPolicies(rules, n_actions=2), engine=engine)
    before = sharded._dealer._dealt[0]
    assert set(before.owners[1::2]) == {1}
    expected = sharded.actions(NUMBERS)
    sharded.actions(NUMBERS)
    after = sharded._dealer._dealt[0]
    assert sorted(after.owners[1::2]) == [0, 0, 1, 1]
    np.testing.assert_array_equal(sharded.actions(NUMBERS), expected)
    assert sharded.usage().total.calls == 24


class DiesOnce:
    """Ends its process the first time that it is asked, and answers the next time."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, x):
        if not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(x) % 2


class Dies:
    def __call__(self, x):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_shard_that_dies_is_replaced_and_its_call_counted_once(engine, tmp_path):
    rules = [Failing(), Failing(), DiesOnce(str(tmp_path / "mark")), Failing()]
    sharded = ShardedPolicies(ps.FunctionPolicies(rules, n_actions=2), engine=engine)
    for _ in range(2):
        assert sharded.actions(NUMBERS)[:, 2, 0].tolist() == (NUMBERS % 2).tolist()
    assert {one.calls for one in sharded.usage().candidates} == {2}
    for actor in sharded._dealer._shards._actors:
        engine.ray.kill(actor)
    assert sharded.actions(NUMBERS)[:, 2, 0].tolist() == (NUMBERS % 2).tolist()
    assert {one.calls for one in sharded.usage().candidates} == {3}


def test_a_shard_that_always_dies_is_given_up(engine, monkeypatch):
    monkeypatch.setattr(shards, "_ATTEMPTS", 2)
    sharded = ShardedPolicies(ps.FunctionPolicies([Failing(), Dies()], n_actions=2), engine=engine)
    with pytest.raises(ps.ClusterError, match=r"shard 1 was lost 2 times .*memory"):
        sharded.actions(NUMBERS)
    assert sharded.actions(NUMBERS, [0]).shape == (6, 1, 1)


class Waits:
    """Leaves a mark on a node of its own, and waits there until it is taken away."""

    def __init__(self, p, folder, head):
        self.p, self.folder, self.head = p, folder, head

    def __call__(self, x):
        import ray

        if ray.get_runtime_context().get_node_id() != self.head:
            open(os.path.join(self.folder, "asked"), "w").close()
            time.sleep(60)
        return (np.asarray(x) + self.p) % 7


def test_a_node_that_is_removed_in_the_middle_of_ask(engine, nodes, tmp_path, monkeypatch):
    monkeypatch.setattr(dealer, "Shards", on_both_nodes)
    head = engine.ray.get_runtime_context().get_node_id()
    rules = [Waits(p, str(tmp_path), head) for p in range(6)]
    sharded = ShardedPolicies(ps.FunctionPolicies(rules, n_actions=7), engine=engine)
    with when_there(tmp_path / "asked", nodes.remove):
        found = sharded.actions(NUMBERS)
    assert found[:, :, 0].tolist() == ((NUMBERS[:, None] + np.arange(6)) % 7).tolist()
    assert {one.calls for one in sharded.usage().candidates} == {1}


def ask_in_a_task(item, policies):
    return policies.actions(item)


def test_a_task_of_the_cluster_asks_by_itself(engine, asked):
    sharded = ShardedPolicies(functions(), engine=engine)
    shared = engine.share(sharded, "policies")
    (found,) = engine.map(ask_in_a_task, [NUMBERS], shared)
    np.testing.assert_array_equal(found, functions().actions(NUMBERS))
    assert not asked
