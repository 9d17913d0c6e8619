"""Users who come back to a learner: their first rounds count, all are decided and logged."""

import copy
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError
from tests.oracles import returning as oracle

POLICIES = ps.PolicyTable(np.array([[0, 1], [1, 0], [1, 1]]).T[[0, 1, 0]], n_actions=2)
PROBLEM = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
MAKERS = [
    lambda **more: ps.Sieve(POLICIES, PROBLEM, **more),
    lambda **more: ps.Uniform(POLICIES, PROBLEM, rounds=30, **more),
    lambda **more: ps.Exp4(POLICIES, PROBLEM, rounds=30, **more),
    lambda **more: ps.LowVarianceExploration(
        POLICIES, PROBLEM, explore_rounds=10, estimate_rounds=15, **more
    ),
    lambda **more: ps.ExplorationByOptimization(POLICIES, PROBLEM, rounds=30, **more),
    lambda **more: ps.EpsilonGreedy(POLICIES, PROBLEM, rounds=30, **more),
]


def uniform(**more):
    return MAKERS[1](**more)


@pytest.mark.parametrize("make", MAKERS)
def test_later_rounds_of_known_units_change_nothing_but_the_log(make):
    rng, learner, alone = np.random.default_rng(0), make(rng=1), make(rng=2)
    every = []
    for _ in range(8):
        contexts, units = rng.integers(0, 3, 10), rng.integers(0, 25, 10).tolist()
        decisions = learner.ask(contexts, units=units)
        every += units
        told = learner.exploration
        learner.tell(decisions, decisions.actions[:, 0] == contexts % 2)
        rows = [i for i in oracle.first_rounds(every) if i >= len(every) - 10]
        rows = np.array(rows, int) - (len(every) - 10)
        if len(rows):
            log = ps.Log(
                contexts=contexts[rows],
                actions=decisions.actions[rows],
                propensities=decisions.propensities[rows],
                rewards=(decisions.actions[rows, 0] == contexts[rows] % 2).astype(float),
            )
            alone.learn(log, told)
    assert learner.rounds == alone.rounds == len(set(every))
    assert len(learner.log) == 80
    assert learner.log.units.tolist() == list(map(str, every))
    assert learner.recommend() == alone.recommend()
    np.testing.assert_array_equal(learner.intervals().lower, alone.intervals().lower)


def test_planned_rounds_are_first_rounds():
    learner = uniform(rng=0)
    learner.tell(learner.ask(np.zeros(60, int), units=np.arange(60) // 3), np.ones(60))
    assert (learner.rounds, learner.finished, learner.ask_limit) == (20, False, 10)


def test_a_first_round_that_is_given_up_is_the_first_still():
    learner = uniform(rng=0)
    decisions = learner.ask([0, 1, 2], units=["a", "a", "b"])
    learner.discard(decisions[:1])
    learner.tell(decisions[1:], [1, 1])
    assert learner.rounds == 1  # that of b
    assert learner.log.units.tolist() == ["a", "b"]


def test_late_answers_make_no_difference():
    late, soon = uniform(rng=0), uniform(rng=0)
    first = [learner.ask([0, 1], units=["a", "b"]) for learner in (late, soon)]
    soon.tell(first[1], [1, 0])
    second = [learner.ask([2, 0], units=["b", "c"]) for learner in (late, soon)]
    for learner, decisions in zip((late, soon), second, strict=True):
        learner.tell(decisions, [1, 1])
    late.tell(first[0], [1, 0])
    assert late.rounds == soon.rounds == 3
    assert late.log == soon.log


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_know_who_was_there(copied):
    learner = uniform(rng=0)
    learner.tell(learner.ask([0, 1], units=["a", "b"]), [1, 1])
    twin = copied(learner)
    for one in (twin, learner):
        one.tell(one.ask([0, 1], units=["b", "c"]), [1, 1])
        assert one.rounds == 3


def test_many_rounds_are_forgotten_and_units_are_not():
    learner = uniform(rng=0)
    for start in range(0, 1000, 100):
        units = np.arange(start, start + 100) % 150
        learner.tell(learner.ask(np.zeros(100, int), units=units), np.zeros(100))
    assert learner.rounds == 150


class TestMixing:
    MATCH = "units must be named in all rounds or in none"

    @pytest.mark.parametrize("named", [True, False])
    @pytest.mark.parametrize("told", [True, False])
    def test_rounds_with_and_without_units(self, named, told):
        learner = uniform(rng=0)
        decisions = learner.ask([0], units=["a"] if named else None)
        if told:
            learner.tell(decisions, [1])
        with pytest.raises(InvalidArgumentError, match=self.MATCH):
            learner.ask([0], units=None if named else ["a"])
        assert learner.pending == (not told)
        learner.ask([0], units=["a"] if named else None)

    def test_nothing_is_drawn_for_what_is_refused(self):
        first, second = uniform(rng=0), uniform(rng=0)
        for learner in (first, second):
            learner.ask([0], units=["a"])
        with pytest.raises(InvalidArgumentError):
            first.ask([0])
        drawn = [one.ask(np.zeros(20, int), units=["b"] * 20).actions for one in (first, second)]
        np.testing.assert_array_equal(*drawn)

    @pytest.mark.parametrize("units", [["a", "b"], ["a", ""], [1.5], "a", [None]])
    def test_units_that_are_none(self, units):
        learner = uniform(rng=0)
        with pytest.raises(InvalidArgumentError, match="units must be"):
            learner.ask([0], units=units)
        assert learner.pending == 0

    @pytest.mark.parametrize("asked", [True, False])
    def test_rounds_decided_elsewhere_have_none(self, asked):
        learner = uniform(rng=0)
        if asked:
            learner.ask([0], units=["a"])
        log = ps.Log(
            contexts=[0],
            actions=[0],
            propensities=[0.5],
            rewards=[1],
            units=None if asked else ["a"],
        )
        with pytest.raises(InvalidArgumentError, match="decided elsewhere"):
            learner.learn(log, learner.exploration)


def test_an_alarm_is_not_raised_by_one_user_who_comes_back():
    rng = np.random.default_rng(0)
    named, plain = (MAKERS[1](rng=0) for _ in range(2))
    users = np.append(np.arange(500), np.full(1500, 499))
    for learner, units in ((named, users), (plain, None)):
        decisions = learner.ask(np.zeros(2000, int), units=units)
        likes = rng.integers(0, 2, 500)[users]
        learner.tell(decisions, decisions.actions[:, 0] == likes)
    assert plain.alarm is not None
    assert named.alarm is None


def test_an_alarm_has_the_number_of_its_round():
    learner = uniform(rng=0)
    users = np.arange(4000) // 2
    decisions = learner.ask(np.zeros(4000, int), units=users)
    learner.tell(decisions, users >= 1000)
    assert abs(learner.alarm.split - 2000) < 50
    assert 2000 < learner.alarm.alarm < 2400


def test_designs_are_made_of_first_rounds():
    rng = np.random.default_rng(0)
    units = rng.integers(0, 100, 400)
    rows = oracle.first_rounds(units.tolist())
    columns = {
        "contexts": rng.integers(0, 3, 400),
        "actions": rng.integers(0, 2, 400),
        "propensities": np.full(400, 0.5),
        "rewards": rng.integers(0, 2, 400),
    }
    every = ps.design(ps.Log(**columns, units=units), POLICIES, PROBLEM)
    alone = ps.Log(**{name: values[rows] for name, values in columns.items()})
    np.testing.assert_array_equal(every.shares, ps.design(alone, POLICIES, PROBLEM).shares)
