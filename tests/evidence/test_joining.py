"""Candidates that join: what the slow twin finds, whatever they are made of, and every error."""

import pickle
from math import log

import numpy as np
import pytest

import policysieve as ps
from tests.evidence.capped import Column, World
from tests.evidence.test_evidence import assert_agrees, assert_intervals_agree, bits

WORLDS = [
    {"seed": 0, "n": 150, "n_policies": 8, "epsilon": 0.3},
    {"seed": 2, "m": 2, "n": 120, "n_policies": 7, "sparsity": 1.5},
]
JOINS = [(30, 2, False), (65, 1, True)]  # after so many rounds, so many policies, unseen


class Late(World):
    """A world in which only the first policies are there from the beginning."""

    forgot = None  # the number of rounds after which the past was forgotten

    def part(self, first, size, kind="table"):
        """Some of the policies, as a table or as functions."""
        q, columns = self.problem, self.table[:, first : first + size]
        if kind == "table":
            return ps.PolicyTable(columns, n_actions=q.n_actions)
        functions = [Column(column) for column in columns.swapaxes(0, 1)]
        return ps.FunctionPolicies(functions, n_actions=q.n_actions, slate_size=q.slate_size)

    def played(self, joins, *, kinds="table", upto=None, step=None, **arguments):
        """Evidence after all rounds, with who joined on the way; rounds come in steps."""
        kinds = [kinds] * (len(joins) + 1) if isinstance(kinds, str) else kinds
        first = self.table.shape[1] - sum(size for _, size, _ in joins)
        evidence = self.evidence(self.part(0, first, kinds[0]), additions=len(joins), **arguments)
        start = 0
        for (when, size, unseen), kind in zip(joins, kinds[1:], strict=True):
            self.feed_in(evidence, start, when, step)
            earlier = self.log.contexts[:when] if unseen else None
            evidence.add_policies(self.part(first, size, kind), contexts=earlier)
            start, first = when, first + size
        self.feed_in(evidence, start, upto or len(self.log), step)
        return evidence

    def feed_in(self, evidence, start, end, step):
        for low in range(start, end, step or max(end - start, 1)):
            self.feed(evidence, low, min(end, low + (step or end)))
            if evidence._incumbent is not None and self.forgot is None:
                self.forgot = evidence.rounds

    def late_fold(self, joins, upto=None, **arguments):
        """The slow twin after the same."""
        first = self.table.shape[1] - sum(size for _, size, _ in joins)
        fold, start = self.fold(additions=len(joins), **arguments), 0
        fold.__init__(
            first,
            self.problem.slate_size,
            self.problem.n_actions,
            self.problem.sparsity,
            self.problem.epsilon,
            self.problem.delta,
            same=fold.same,
            additions=len(joins),
            forget_at=fold.forget_at,
        )
        for when, size, unseen in joins:
            self.feed_fold(fold, start, when)
            fold.join(size, unseen)
            start = when
        self.feed_fold(fold, start, upto or len(self.log))
        return fold


@pytest.mark.parametrize("arguments", WORLDS)
@pytest.mark.parametrize("upto", [66, None])
def test_agrees_with_the_twin(arguments, upto):
    """When some have just joined, and at the end."""
    world = Late(**arguments)
    evidence, fold = world.played(JOINS, upto=upto), world.late_fold(JOINS, upto)
    assert_agrees(evidence, fold)
    if upto is None:
        assert_intervals_agree(evidence, fold)
    model = evidence.standing.model
    assert dict(zip(model.voters.tolist(), model.votes, strict=True)) == pytest.approx(fold.votes)
    assert len(evidence.policies) == world.table.shape[1]


@pytest.mark.parametrize(("arguments", "limit"), [(WORLDS[0], 3_300), (WORLDS[1], 4_400)])
def test_agrees_with_the_twin_once_the_past_is_forgotten(arguments, limit):
    """Of the leader at hand, and of later ones; who joins is bet against from then on."""
    joins = [(30, 2, False), (60, 1, False)]
    world = Late(**arguments)
    evidence = world.played(joins, step=1, memory_limit=limit)
    forget_at = world.forgot
    assert 30 < forget_at < 60
    fold = world.late_fold(joins, forget_at=forget_at)
    assert_agrees(evidence, fold)
    assert evidence._incumbent.number == fold.incumbent.number
    found, expected = evidence._incumbent.log_wealth, fold.incumbent.log_wealth
    np.testing.assert_allclose(found, [expected[p] for p in evidence.survivors], atol=1e-6)


@pytest.mark.parametrize("pair", [(0, 4), (4, 0), (4, 6), (6, 4), (6, 1)])
def test_differences_agree_with_the_twin(pair):
    """From the rounds that count for both; pairs of cohorts share delta."""
    world = Late(6, m=2, n=110, n_policies=7, sparsity=1.5, right=0)
    evidence, fold = world.played(JOINS), world.late_fold(JOINS)
    assert np.isin(pair, evidence.survivors).all()
    sizes = [4, 4, 4, 4, 2, 2, 1]
    a, b = pair
    pairs = sizes[a] * sizes[b] if sizes[a] != sizes[b] else sizes[a] * (sizes[a] - 1) / 2
    term = log(2 / 0.2) + log(6 * pairs) - log(0.9)
    found = evidence.compare(a, b)
    assert found.lower == pytest.approx(
        max(fold.least_difference(a, b, term), -1.5), abs=2 * 1.5 / 38**2
    )


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("memory_limit", [1_500, 1 << 30])
def test_parts_of_rounds_and_kinds_of_classes_do_not_matter(m, memory_limit):
    world = Late(4, m=m, n=300, n_policies=9, n_contexts=30, sparsity=None)
    joins = [(31, 2, False), (130, 3, memory_limit > 10_000)]
    kinds = ["table", "function", ["table", "function", "table"], ["function", "table", "function"]]
    alone = [
        world.played(joins, kinds=k, step=s, memory_limit=memory_limit)
        for k in kinds
        for s in (1, 90, None)
    ]
    assert (alone[0]._incumbent is None) == (memory_limit > 10_000)
    first = bits(alone[0])
    assert all(bits(one) == first for one in alone[1:])


def test_what_was_before_does_not_count_for_those_who_join():
    """Unless they are unseen: other rewards of earlier rounds change nothing about them."""
    world, other = Late(5, n=200), Late(5, n=200)
    turned = np.array(other.log.rewards)
    turned[:80] = 1 - turned[:80]
    other.log = ps.Log(
        contexts=other.log.contexts,
        actions=other.log.actions,
        propensities=other.log.propensities,
        rewards=turned,
    )
    for unseen in (False, True):
        sums = []
        for one in (world, other):
            standing = one.played([(80, 2, unseen)], keep=(0,))._now()[0]
            sums.append(np.array([standing.of_one(p)[1][2:6] for p in (4, 5)]))
        same = np.array_equal(*sums)
        assert same != unseen


def test_a_join_without_rounds_is_a_larger_class():
    """With delta for one more, and in two cohorts."""
    world = Late(1)
    evidence = world.played([(0, 2, False)], upto=60)
    assert evidence.standing.cohorts.since(np.array([0, 5])).tolist() == [0, 0]
    assert evidence.intervals().values.shape == (6,)
    assert evidence.certificate().log_threshold in [
        pytest.approx(log(4 * size / (0.45 * 0.2))) for size in (4, 2)
    ]


def test_of_the_rounds_since_it_joined_nothing_is_known_at_first():
    world = Late(1)
    evidence = world.played([(50, 2, False)], upto=50)
    limits = evidence.intervals()
    assert np.isnan(limits.values[4:]).all()
    assert (limits.lower[4:] == 0).all()
    assert (limits.upper[4:] == 1).all()
    assert not evidence.certificate().certified
    assert evidence.certificate().suboptimality_bound == 1
    difference = evidence.compare(0, 5)
    assert np.isnan(difference.value)
    assert (difference.lower, difference.upper) == (-1, 1)


def test_who_is_kept_and_who_runs_today_stay():
    world = Late(0, n=260, n_policies=8, epsilon=0.3)
    problem = ps.Problem(n_actions=5, epsilon=0.3, delta=0.2, against=1)
    evidence = ps.Evidence(world.part(0, 5), problem, keep=[2], additions=1)
    world.feed(evidence, 0, 60)
    evidence.add_policies(world.part(5, 3))
    world.feed(evidence, 60, 260)
    assert np.isin([1, 2], evidence.survivors).all()
    proof = evidence.certificate()
    leaders = 2 * (3 if proof.leader >= 5 else 5)
    if proof.leader != 1:
        from policysieve.evidence.comparing import capped_difference

        given = evidence._now()[0], evidence._past, evidence.survivors, proof.leader, 1
        assert proof.gain == capped_difference(*given, log(2 * leaders / 0.2))


def test_pickles_and_failures_leave_all_or_nothing():
    world = Late(0, n=200)
    evidence = world.played([(60, 2, False)], upto=100)
    assert bits(pickle.loads(pickle.dumps(evidence))) == bits(evidence)

    def breaks(contexts):
        raise ValueError("broken")

    fresh = world.evidence(world.part(0, 4, "function"), additions=1)
    world.feed(fresh, 0, 60)
    before = bits(fresh)
    broken = ps.FunctionPolicies([breaks], n_actions=5)
    with pytest.raises(ps.PolicyFailureError, match="policy 0 raised ValueError"):
        fresh.add_policies(broken, contexts=world.log.contexts[:60])
    assert bits(fresh) == before
    fresh.add_policies(broken)
    with pytest.raises(ps.PolicyFailureError, match="policy 4 raised ValueError"):
        world.feed(fresh, 60, 70)


NAMED = {"names": ["a", "b"]}


@pytest.mark.parametrize(
    ("mine", "joins", "match"),
    [
        ({}, 3, "policies must be a policy class, got int"),
        ({}, ps.TabularPolicies(n_contexts=5, n_actions=3), "must be a list, got TabularPolicies"),
        ({}, ps.PolicyTable([[0]] * 5, n_actions=4), "n_actions of the others, 3, got 4"),
        ({}, ps.PolicyTable([[[0, 1]]] * 5, n_actions=3), "slate_size of the others, 1, got 2"),
        ({}, ps.PolicyTable([[0]] * 4, n_actions=3), "same 5 contexts, got a table of 4"),
        ({}, ps.PolicyTable([[0]] * 5, n_actions=3, names=["c"]), "these have names, the others"),
        (NAMED, ps.PolicyTable([[0]] * 5, n_actions=3), "the others have names, these have none"),
        (NAMED, ps.PolicyTable([[0]] * 5, n_actions=3, names=["b"]), "got 'b', which is the name"),
        (
            {"actions": ["x", "y", "z"]},
            ps.PolicyTable([[0]] * 5, actions=["x", "z", "y"]),
            "same names of actions",
        ),
    ],
)
def test_who_does_not_fit_is_refused(mine, joins, match):
    table = ps.PolicyTable([[0, 1]] * 5, **({"n_actions": 3} | mine))
    problem = ps.Problem(n_actions=3, epsilon=0.2, delta=0.2)
    evidence = ps.Evidence(table, problem, additions=1)
    with pytest.raises(ps.InvalidArgumentError, match=match):
        evidence.add_policies(joins)
    assert evidence.policies is table


def test_how_often_candidates_join_is_said_beforehand():
    world = Late(0)
    with pytest.raises(ps.InvalidArgumentError, match="additions must be a whole number >= 0"):
        world.evidence(additions=-1)
    evidence = world.evidence(world.part(0, 2))
    with pytest.raises(ps.InvalidArgumentError, match=r"none may; begin anew .* additions=1"):
        evidence.add_policies(world.part(2, 1))
    evidence = world.played([(20, 1, False)], upto=30)
    with pytest.raises(ps.InvalidArgumentError, match=r"that was once; .* additions=2"):
        evidence.add_policies(world.part(2, 1))


def test_rounds_that_should_count_must_be_given_and_kept():
    world = Late(0)
    evidence = world.evidence(world.part(0, 2), additions=1)
    world.feed(evidence, 0, 30)
    with pytest.raises(ps.InvalidArgumentError, match="all 30 rounds so far, got 29"):
        evidence.add_policies(world.part(2, 1), contexts=world.log.contexts[:29])
    evidence = world.evidence(world.part(0, 2), additions=1, memory_limit=0)
    world.feed(evidence, 0, 30)
    with pytest.raises(ps.InvalidArgumentError, match="once they were forgotten"):
        evidence.add_policies(world.part(2, 1), contexts=world.log.contexts[:30])
