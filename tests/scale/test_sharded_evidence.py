"""Evidence in the actors of a class in shards is that of one process, whatever is lost."""

import time

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.divided import DividedEvidence
from policysieve.scale import ShardedPolicies, dealer
from tests.evidence.test_divided import PROBLEM, TABLE, WORLD, played, same
from tests.scale.helpers import on_both_nodes, when_there

pytestmark = pytest.mark.usefixtures("few_actors")


def in_shards(policies, engine, **options):
    return ShardedPolicies(policies, engine=engine, evidence="shards", **options)


@pytest.fixture(scope="module")
def whole():
    return played(TABLE)


def test_a_sieve_whose_evidence_is_in_shards(engine, whole):
    learner = played(in_shards(TABLE, engine))
    same(learner, whole)
    assert learner.evidence.nbytes < whole.evidence.nbytes


@pytest.mark.parametrize("method", ["answer", "summed", "look", "holds"])
def test_an_actor_that_is_killed_in_the_middle(method, engine, monkeypatch):
    """Of an ask, of the sums of one, of a tell that looks, and of a certificate."""
    expected = played(TABLE, 60, 20)
    sharded = in_shards(TABLE, engine)
    shards, killed = sharded.holders._shards, []

    def lose(called):
        engine.ray.kill(shards._actors[1])
        killed.append(called)

    def call(parts, owner, firsts, called, given):
        found = type(shards).call(shards, parts, owner, firsts, called, given)
        if called == method and len(killed) < 2:
            lose(called)  # while it works, or before it is asked
        return found

    def chained(*given):
        found = type(shards).chained(shards, *given)
        if method == "summed" and len(killed) < 2:
            lose("summed")
        return found

    monkeypatch.setattr(shards, "call", call)
    monkeypatch.setattr(shards, "chained", chained)
    same(played(sharded, 60, 20), expected)
    assert len(killed) == 2


class Column:
    """A candidate that looks its answers up; with a mark it waits there to be lost."""

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


def functions(**options):
    return ps.FunctionPolicies([Column(c, **options) for c in WORLD.pool.T], n_actions=12)


def test_a_node_that_is_removed_while_its_candidates_answer(
    engine, nodes, whole, tmp_path, monkeypatch
):
    monkeypatch.setattr(dealer, "Shards", on_both_nodes)
    mark, head = tmp_path / "mark", engine.ray.get_runtime_context().get_node_id()
    sharded = in_shards(functions(mark=str(mark), head=head), engine)
    with when_there(mark, nodes.remove):
        same(played(sharded), whole)


def test_candidates_are_called_once_and_counted(engine):
    found = {}
    for name, policies in (("plain", functions()), ("shards", in_shards(functions(), engine))):
        played(policies, 200, 50)
        found[name] = {one.policy: one.contexts for one in policies.usage().candidates}
    assert found["shards"] == found["plain"]


def test_a_candidate_that_fails_is_named(engine):
    def fails(x):
        raise ValueError("no such thing")

    rules = [Column(c) for c in WORLD.pool.T[:4]] + [fails]
    learner = ps.Sieve(in_shards(ps.FunctionPolicies(rules, n_actions=12), engine), PROBLEM, rng=0)
    with pytest.raises(ps.errors.PolicyFailureError, match=r"policy 4 .*no such thing"):
        learner.ask(np.arange(5))
    assert learner.pending == 0


def test_a_study_whose_evidence_is_in_shards(engine, tmp_path):
    contexts = np.random.default_rng(0).integers(60, size=(5, 40))
    found = []
    for name, policies in (("a", functions()), ("b", in_shards(functions(), engine))):
        study = ps.Study.create(f"sqlite:///{tmp_path / name}.db", "s", policies, PROBLEM, seed=0)
        for x in contexts:
            decisions = study.ask(x)
            study.tell(decisions.ids, (decisions.actions[:, 0] == WORLD.pool[x, 5]) * 1.0)
        found.append(study.recommend().to_dict())
    assert found[0] == found[1]


def test_what_cannot_be_taken_apart(engine):
    class Whole(ps.PolicyTable):
        def part(self, numbers):
            return None

    with pytest.raises(ps.errors.InvalidArgumentError, match=r"taken apart.*Whole"):
        in_shards(Whole(WORLD.pool, n_actions=12), engine)
    learner = ps.Sieve(ShardedPolicies(TABLE, engine=engine), PROBLEM, rng=0)
    assert not isinstance(learner.evidence, DividedEvidence)
