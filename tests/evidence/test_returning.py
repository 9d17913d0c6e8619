"""Users who come back: what they would prove by coming often, and that they do not."""

from functools import partial

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Evidence, FloorEvidence
from policysieve.evidence.unproved import UnprovedEvidence
from tests.oracles import returning as oracle
from tests.statistics import assert_at_most

GAP, EPSILON, DELTA = 0.12, 0.1, 0.2
POLICIES = ps.PolicyTable(np.array([[0, 1]]), n_actions=2)  # always the first, always the second
PROBLEM = ps.Problem(n_actions=2, epsilon=EPSILON, delta=DELTA)


def visits(rng, n_users):
    """Users in the order of their visits, of whom some come fifty times in a row."""
    return np.repeat(np.arange(n_users), np.where(rng.random(n_users) < 0.3, 50, 1))


def tastes(rng, n_users):
    """Each user's own best action; the second is better by more than epsilon on average."""
    return (rng.random(n_users) < 0.5 + GAP / 2).astype(int)


def log_of(seed, n_users, *, named):
    rng = np.random.default_rng(seed)
    likes, users = tastes(rng, n_users), visits(rng, n_users)
    actions = rng.integers(0, 2, len(users))
    return ps.Log(
        contexts=np.zeros(len(users), int),
        actions=actions,
        propensities=np.full(len(users), 0.5),
        rewards=(actions == likes[users]).astype(float),
        distributions=np.full((len(users), 2), 0.5),
        units=users if named else None,
    )


def capped():
    evidence = Evidence(POLICIES, PROBLEM)
    return evidence, evidence.add


def floored(method):
    evidence = FloorEvidence(POLICIES, PROBLEM, method=method)
    return evidence, partial(evidence.add, floor=0.5)


def is_wrong(made, log, parts):
    """Whether the worse policy is ever certified, at some looks."""
    evidence, add = made
    size = -(-len(log) // parts)
    for start in range(0, len(log), size):
        add(log[start : start + size])
        certificate = evidence.certificate()
        if certificate.certified:
            return certificate.leader == 0
    return False


def test_who_takes_every_visit_for_a_new_user_is_wrong_too_often():
    wrong = sum(is_wrong(capped(), log_of(seed, 16, named=False), 2) for seed in range(120))
    with pytest.raises(AssertionError):
        assert_at_most(wrong, 120, DELTA)


@pytest.mark.parametrize(
    "make", [capped, partial(floored, "betting"), partial(floored, "empirical_bernstein")]
)
def test_first_rounds_prove_what_is_true(make):
    wrong = sum(is_wrong(make(), log_of(seed, 300, named=True), 3) for seed in range(40))
    assert_at_most(wrong, 40, DELTA)


def test_a_learner_proves_what_is_true():
    wrong = certified = 0
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        likes, users = tastes(rng, 400), visits(rng, 400)
        learner = ps.Sieve(POLICIES, PROBLEM, rng=seed)
        for start in range(0, len(users), 300):
            now = users[start : start + 300]
            decisions = learner.ask(np.zeros(len(now), int), units=now)
            learner.tell(decisions, decisions.actions[:, 0] == likes[now])
            if learner.finished:
                break
        best = learner.recommend()
        certified += best.certified
        wrong += best.certified and best.policy == 0
    assert certified > 10  # else nothing was tested
    assert_at_most(wrong, 40, DELTA)


@pytest.mark.parametrize(
    "make",
    [
        capped,
        partial(floored, "betting"),
        lambda: (lambda one: (one, one.add))(UnprovedEvidence(POLICIES, PROBLEM)),
    ],
)
def test_evidence_is_that_of_the_first_rounds_alone(make):
    log = log_of(3, 20, named=True)
    rows = oracle.first_rounds(log.units.tolist())
    alone = ps.Log(
        contexts=log.contexts[rows],
        actions=log.actions[rows],
        propensities=log.propensities[rows],
        rewards=log.rewards[rows],
        distributions=log.distributions[rows],
    )
    (mine, add), (theirs, add_alone) = make(), make()
    for start in range(0, len(log), 37):
        add(log[start : start + 37])
    add_alone(alone)
    assert mine.rounds == theirs.rounds == 20
    assert mine.certificate().to_dict() == theirs.certificate().to_dict()
    np.testing.assert_array_equal(mine.intervals().lower, theirs.intervals().lower)


@pytest.mark.parametrize("make", [capped, partial(floored, "betting")])
def test_rounds_with_and_without_units_do_not_mix(make):
    evidence, add = make()
    add(log_of(0, 5, named=True))
    before = evidence.certificate().to_dict()
    with pytest.raises(InvalidArgumentError, match="units must be named in all rounds or in none"):
        add(log_of(1, 5, named=False))
    assert evidence.certificate().to_dict() == before


class TestSelecting:
    def test_it_says_what_counts(self, tmp_path):
        log = log_of(3, 20, named=True)
        selection = ps.select(log, POLICIES, PROBLEM)
        assert selection.certificate.rounds == 20
        assert selection.returning == len(log) - 20
        assert selection.to_dict()["returning"] == selection.returning
        assert f"20 rounds count, and {selection.returning:,} of units that had come before do" in (
            selection.guarantee
        )
        log.save(tmp_path / "a.parquet")
        assert ps.select(tmp_path / "a.parquet", POLICIES, PROBLEM).to_dict() == selection.to_dict()

    def test_without_units_nothing_is_said(self):
        selection = ps.select(log_of(3, 20, named=False), POLICIES, PROBLEM)
        assert selection.returning is None
        assert "returning" not in selection.to_dict()
        assert "unit" not in selection.guarantee

    def test_a_fixed_number_of_rounds_is_that_of_units(self):
        log = log_of(3, 20, named=True)
        selection = ps.select(log, POLICIES, PROBLEM, method="fixed", floor=0.5)
        assert selection.certificate.rounds == 20

    def test_pairs_are_compared_by_first_rounds(self):
        log = log_of(3, 20, named=True)
        assert ps.select(log, POLICIES, PROBLEM).compare(0, 1).rounds == 20
