"""Learners and studies with a class in shards do what they do with the class itself, bit by bit."""

import pickle
import time

import numpy as np
import pytest

import policysieve as ps
from policysieve.scale import ShardedPolicies, dealer
from policysieve.worlds import SparseSynthetic
from tests.scale.helpers import on_both_nodes, when_there

pytestmark = pytest.mark.usefixtures("few_actors")


class Column:
    """A candidate that looks its answers up.

    With a mark, it leaves that when it is asked again away from the head, and waits to be lost.
    """

    def __init__(self, column, mark=None, head=None):
        self.column, self.mark, self.head, self.calls = column, mark, head, 0

    def __call__(self, x):
        self.calls += 1
        if self.mark is not None and self.calls > 1:
            import ray

            if ray.get_runtime_context().get_node_id() != self.head:
                open(self.mark, "w").close()
                time.sleep(50)
        return self.column[np.asarray(x)]


WORLD = SparseSynthetic(n_actions=12, n_contexts=60, n_policies=20, profile="one_good", rng=3)
PROBLEM = ps.Problem(n_actions=12, epsilon=0.15, delta=0.1)


def functions(**options):
    return ps.FunctionPolicies([Column(c, **options) for c in WORLD.pool.T], n_actions=12)


def played(policies, **options):
    learner = ps.Sieve(policies, PROBLEM, rng=0)
    result = ps.run(learner, WORLD, 3000, batch_size=100, progress=False, **options)
    return learner, result


def same(mine, theirs):
    (learner, result), (other, expected) = mine, theirs
    assert result.recommendation.to_dict() == expected.recommendation.to_dict()
    for name in ("contexts", "actions", "propensities", "rewards"):
        np.testing.assert_array_equal(getattr(learner.log, name), getattr(other.log, name))
    np.testing.assert_array_equal(learner.survivors, other.survivors)
    np.testing.assert_array_equal(learner.evidence.standing.totals, other.evidence.standing.totals)
    assert len(other.survivors) < 20  # some were eliminated on the way


@pytest.fixture(scope="module")
def plain():
    return played(functions())


def test_a_sieve_with_functions_in_shards(engine, plain):
    sharded = ShardedPolicies(functions(), engine=engine)
    learner, result = played(sharded)
    same((learner, result), plain)
    counts = {one.policy: one.contexts for one in result.usage.candidates}
    assert counts == {one.policy: one.contexts for one in plain[1].usage.candidates}
    assert len(set(counts.values())) > 1  # the eliminated were not asked any more
    copy = pickle.loads(pickle.dumps(learner))
    x = np.arange(60)
    np.testing.assert_array_equal(copy.ask(x).actions, learner.ask(x).actions)


def test_a_sieve_with_a_table_in_shards(engine, plain):
    table = ps.PolicyTable(WORLD.pool, n_actions=12)
    same(played(ShardedPolicies(table, engine=engine)), plain)


def test_a_node_that_is_removed_in_the_middle_of_a_run(engine, nodes, plain, tmp_path, monkeypatch):
    monkeypatch.setattr(dealer, "Shards", on_both_nodes)
    mark, head = tmp_path / "mark", engine.ray.get_runtime_context().get_node_id()
    sharded = ShardedPolicies(functions(mark=str(mark), head=head), engine=engine)
    with when_there(mark, nodes.remove):
        same(played(sharded), plain)


def test_a_study_on_sqlite(engine, tmp_path):
    rng = np.random.default_rng(0)
    contexts = rng.integers(60, size=(6, 40))
    found = {}
    for name, policies in (
        ("plain", functions()),
        ("sharded", ShardedPolicies(functions(), engine=engine)),
    ):
        address = f"sqlite:///{tmp_path / name}.db"
        study = ps.Study.create(address, "shop", policies, PROBLEM, seed=0)
        for x in contexts[:4]:
            decisions = study.ask(x)
            study.tell(decisions.ids, (decisions.actions[:, 0] == WORLD.pool[x, 5]) * 1.0)
        found[name] = study.recommend().to_dict()
    assert found["sharded"] == found["plain"]
    assert found["plain"]["policy"] == 5
    # What was begun with one goes on with the other.
    swapped = {
        "plain": ShardedPolicies(functions(), engine=engine),
        "sharded": functions(),
    }
    for name, policies in swapped.items():
        study = ps.Study.open(f"sqlite:///{tmp_path / name}.db", "shop", policies)
        decisions = [study.ask(x) for x in contexts[4:]]
        found[name] = [(d.actions.tolist(), d.propensities.tolist()) for d in decisions]
    assert found["sharded"] == found["plain"]
