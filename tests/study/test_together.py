"""Several who ask or tell at once share a transaction, and nothing else."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.study import Told
from policysieve.study.deciding import Ask
from tests.study.cases import PROBLEM, contexts, linear, rewards_of, same_bits

CONSTANT = [lambda x: [0] * len(x), lambda x: [1] * len(x)]


@pytest.fixture
def study(tmp_path):
    return ps.Study.create(f"sqlite:///{tmp_path / 'a.db'}", "a", linear(), PROBLEM, seed=0)


def test_asked_together_is_asked_one_after_the_other(tmp_path, study):
    other = ps.Study.create(f"sqlite:///{tmp_path / 'b.db'}", "a", linear(), PROBLEM, seed=0)
    sizes = [1, 3, 1, 2]
    alone = [other.ask(contexts(n, seed=n)) for n in sizes]
    together = study.ask_together([Ask(contexts=contexts(n, seed=n)) for n in sizes])
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.actions, two.actions)
        np.testing.assert_array_equal(one.numbers, two.numbers)
    for decisions in alone:
        other.tell(decisions, rewards_of(decisions))
    study.tell_together([(decisions.ids, rewards_of(decisions)) for decisions in together])
    assert same_bits(study, other)
    assert study.verify().holds


def test_a_late_answer_holds_up_only_its_own_batch_and_later_ones(study):
    first, second = study.ask_together([Ask(contexts=contexts(1)), Ask(contexts=contexts(2))])
    study.tell(first, rewards_of(first))
    assert study.status().learnt == 1
    study.tell(second, rewards_of(second))
    assert study.status().learnt == 3


def test_who_asks_badly_is_refused_alone(study):
    study.ask(contexts(1), ids=["taken"])
    asks = [
        Ask(contexts=contexts(1, seed=1)),
        Ask(contexts=np.ones((1, 7))),
        Ask(contexts=contexts(1, seed=2), ids=["taken"]),
        Ask(contexts=contexts(1, seed=3), ids=["new"]),
        Ask(contexts=contexts(1, seed=4), ids=["new"]),
        Ask(contexts=contexts(2, seed=5), available=[[0, 1], [2]]),
        Ask(contexts=contexts(1, seed=5), available=[[9]]),
    ]
    found = study.ask_together(asks)
    kinds = [type(one) for one in found]
    bad, good = ps.InvalidArgumentError, ps.Decisions
    assert kinds == [good, bad, ps.DecisionsError, good, ps.DecisionsError, good, bad]
    assert study.status().rounds == 5
    numbers = [one.numbers.tolist() for one in found if isinstance(one, good)]
    assert numbers == [[1], [2], [3, 4]]


def test_the_first_of_all_says_what_contexts_are(tmp_path):
    policies = ps.FunctionPolicies(CONSTANT, n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    study = ps.Study.create(f"sqlite:///{tmp_path / 'a.db'}", "a", policies, problem, seed=0)
    texts, rows = study.ask_together([Ask(contexts=["a"]), Ask(contexts=np.ones((1, 2)))])
    assert isinstance(texts, ps.Decisions)
    assert isinstance(rows, ps.InvalidArgumentError)


def test_a_candidate_that_fails_fails_only_who_asked_for_it(tmp_path):
    def picky(x):
        if "bad" in x:
            raise RuntimeError("no")
        return [0] * len(x)

    policies = ps.FunctionPolicies([picky, lambda x: [1] * len(x)], n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    study = ps.Study.create(f"sqlite:///{tmp_path / 'a.db'}", "a", policies, problem, seed=0)
    study.ask(["good"])
    found = study.ask_together([Ask(contexts=[text]) for text in ("good", "bad", "good")])
    assert [type(one) for one in found] == [ps.Decisions, ps.PolicyFailureError, ps.Decisions]
    with pytest.raises(ps.PolicyFailureError, match="no"):
        study.ask(["bad"])


@pytest.mark.parametrize("keep", [True, False])
def test_ids_that_come_again_with_the_same_contexts_get_the_same_decisions(tmp_path, keep):
    study = ps.Study.create(
        f"sqlite:///{tmp_path / 'a.db'}", "a", linear(), PROBLEM, seed=0, keep_contexts=keep
    )
    x, ids = contexts(3), ["a", "b", "c"]
    first = study.ask(x, ids=ids)
    again, turned, other, some, plain = study.ask_together(
        [
            Ask(contexts=x, ids=ids, again=True),
            Ask(contexts=x[::-1], ids=ids[::-1], again=True),
            Ask(contexts=x + 1, ids=ids, again=True),
            Ask(contexts=x[:2], ids=["a", "d"], again=True),
            Ask(contexts=x, ids=ids),
        ]
    )
    for found, order in ((again, slice(None)), (turned, slice(None, None, -1))):
        np.testing.assert_array_equal(found.actions, first.actions[order])
        np.testing.assert_array_equal(found.propensities, first.propensities[order])
        assert found.ids.tolist() == ids[order]
    assert [type(one) for one in (other, some, plain)] == [ps.DecisionsError] * 3
    assert study.status().rounds == 3
    opened = ps.Study.open(f"sqlite:///{tmp_path / 'a.db'}", "a", linear())
    (found,) = opened.ask_together([Ask(contexts=x, ids=ids, again=True)])
    np.testing.assert_array_equal(found.actions, first.actions)


def test_rows_of_a_table_come_again(tmp_path):
    policies = ps.FunctionPolicies(CONSTANT, n_actions=2, fallback=[0, 1])
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    study = ps.Study.create(f"sqlite:///{tmp_path / 'a.db'}", "a", policies, problem, seed=0)
    rows = [{"age": 3, "land": "de"}]
    first = study.ask(rows, ids=["a"], available=[[0]])
    study.ask([{"age": 2.5, "land": "fr"}])
    again, other, free = study.ask_together(
        [
            Ask(contexts=rows, ids=["a"], available=[[0]], again=True),
            Ask(contexts=[{"age": 4, "land": "de"}], ids=["a"], available=[[0]], again=True),
            Ask(contexts=rows, ids=["a"], again=True),
        ]
    )
    np.testing.assert_array_equal(again.actions, first.actions)
    assert isinstance(other, ps.DecisionsError)
    assert isinstance(free, ps.DecisionsError)


def test_contexts_that_were_erased_cannot_come_again(study):
    study.ask(contexts(1), ids=["a"])
    study.forget("a")
    (found,) = study.ask_together([Ask(contexts=contexts(1), ids=["a"], again=True)])
    assert isinstance(found, ps.DecisionsError)


def test_whatever_a_check_raises_is_of_one_alone(study, monkeypatch):
    study.ask(contexts(1))
    check = study.policies.check_contexts

    def picky(x):
        if len(x) == 2:
            raise ZeroDivisionError
        return check(x)

    monkeypatch.setattr(study.policies, "check_contexts", picky)
    found = study.ask_together([Ask(contexts=contexts(n)) for n in (1, 2, 3)])
    assert [type(one) for one in found] == [ps.Decisions, ZeroDivisionError, ps.Decisions]


def test_who_tells_badly_is_refused_alone(study):
    ids = study.ask(contexts(4)).ids.tolist()
    study.tell(ids[0], 1.0)
    found = study.tell_together(
        [
            (ids[0], 1.0),
            (ids[1], 0.0),
            (ids[0], 0.0),
            ("unknown", 1.0),
            (ids[2], 7.0),
            (ids[1], 0.0),
            (ids[2], 1.0),
            ([], []),
        ]
    )
    assert [one.counted if isinstance(one, Told) else type(one) for one in found] == [
        0, 1, ps.DecisionsError, ps.UnknownIdsError, ps.InvalidArgumentError, 0, 1, 0,
    ]  # fmt: skip
    assert (found[0].again, found[5].again) == (1, 1)
    status = study.status()
    assert (status.told, status.refused, status.open) == (3, 1, 1)


def test_an_archived_study_takes_nothing_together(study):
    decisions = study.ask(contexts(1))
    study.archive()
    with pytest.raises(ps.InvalidArgumentError, match="archived"):
        study.ask_together([Ask(contexts=contexts(1))])
    with pytest.raises(ps.InvalidArgumentError, match="archived"):
        study.tell_together([(decisions.ids, [1.0])])
