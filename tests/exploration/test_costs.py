"""What exploring has cost, and how things stand, for every learner."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from policysieve.report.cost_report import cost_table
from tests.exploration.cases import play, random_case, true_values
from tests.statistics import assert_at_most

PROBLEM = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=3)


def case(seed=1):
    policies, rewards = random_case(seed)
    return policies, (rewards == rewards.max(axis=1, keepdims=True)).astype(float)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_says_what_it_has_cost(name):
    policies, rewards = case()
    learner = LEARNERS[name](policies, PROBLEM, rng=0)
    before = learner.cost()
    assert (before.rounds, before.earned, before.today.upper, before.best.upper) == (0, 0, 0, 0)
    assert all(math.isnan(each) for each in before.today.per_round)
    play(learner, rewards, 300, 60, seed=0)
    cost, truth = learner.cost(), true_values(policies, rewards)
    assert cost.rounds == cost.explored == 300
    assert cost.earned == learner.log.rewards.sum()
    assert cost.today.policy_name == "policy 3"
    for lost, value in ((cost.today, truth[3]), (cost.best, truth.max())):
        assert lost.lower <= lost.estimate <= lost.upper
        assert lost.lower <= 300 * value - cost.earned <= lost.upper
        assert lost.per_round[0] == lost.estimate / 300
    assert cost.today.upper - cost.today.lower < 300
    assert "exploring has cost between" in cost.guarantee
    assert json.loads(json.dumps(cost.to_dict()))["today"]["policy_name"] == "policy 3"
    status = learner.status()
    assert (status.learner, status.rounds, status.traffic) == (name, 300, 1.0)
    assert status.cost == cost
    assert json.loads(json.dumps(status.to_dict()))["recommendation"]["rounds"] == 300


def test_limits_that_hold_only_at_the_end_are_not_used_before():
    policies, rewards = case()
    learner = ps.Uniform(policies, PROBLEM, rounds=400, rng=0)
    play(learner, rewards, 200, 50, seed=0)
    cost = learner.cost()
    assert "hold only when its planned rounds are done" in cost.guarantee
    earned = learner._spending.earned_limits(0.1 / 4)
    assert cost.best.upper == 200 - earned[0]
    play(learner, rewards, 200, 50, seed=1)
    then = learner.cost()
    assert "planned" not in then.guarantee
    assert then.best.upper < 400 - learner._spending.earned_limits(0.1 / 4)[0]


def test_without_what_runs_today_it_is_compared_with_the_best_alone():
    policies, rewards = case()
    learner = ps.Sieve(policies, replace(PROBLEM, against=None), rng=0)
    play(learner, rewards, 200, 50, seed=0)
    cost = learner.cost()
    assert cost.today is None
    assert cost.to_dict()["today"] is None
    assert "runs today" not in cost.guarantee
    assert cost.best.lower <= 200 * true_values(policies, rewards).max() - cost.earned
    assert cost.best.estimate == pytest.approx(200 * learner.intervals().values.max() - cost.earned)


def test_a_class_that_cannot_be_listed_has_a_cost_as_well():
    policies = ps.TabularPolicies(n_contexts=5, n_actions=6)
    _, rewards = case()
    problem = replace(PROBLEM, against=None)
    learner = ps.ExplorationByOptimization(policies, problem, rounds=300, rng=0)
    play(learner, rewards, 200, 50, seed=0)
    cost = learner.cost()
    assert cost.best.lower <= 200 - cost.earned <= cost.best.upper  # the best is always right


def test_against_the_best_it_costs_no_less_than_against_today():
    policies, rewards = case()
    learner = ps.Sieve(policies, replace(PROBLEM, traffic=0.2), rng=0)
    play(learner, rewards, 400, 50, seed=0)
    cost = learner.cost()
    assert cost.best.lower >= cost.today.lower
    assert cost.best.estimate >= cost.today.estimate


def test_limits_cover_at_all_times():
    """A learner that turns to what seems good, and is judged by what it lost in expectation."""
    policies = ps.PolicyTable(np.array([[0, 1, 2], [1, 1, 0]]), n_actions=3)
    chances = np.array([[0.7, 0.4, 0.5], [0.1, 0.6, 0.3]])
    values = true_values(policies, chances)
    problem = ps.Problem(
        n_actions=3, sparsity=None, epsilon=0.05, delta=0.3, against=1, traffic=0.6
    )
    runs, misses = 50, np.zeros(2, dtype=int)
    for seed in range(runs):
        learner = ps.Sieve(policies, problem, goal="best", rng=seed)
        rng, lost, missed = np.random.default_rng(seed + 9), 0.0, np.zeros(2, dtype=bool)
        for _ in range(8):
            w = learner.exploration.propensities(np.arange(2))
            lost += 25 * (values[1] - (w * chances).sum(axis=1).mean())
            x = rng.integers(0, 2, 25)
            batch = learner.ask(x)
            learner.tell(batch, (rng.random((25, 1)) < chances[x[:, None], batch.actions]) * 1.0)
            cost = learner.cost()
            true = (lost, lost + cost.rounds * (values.max() - values[1]))
            for place, (found, each) in enumerate(zip((cost.today, cost.best), true, strict=True)):
                missed[place] |= not found.lower <= each <= found.upper
        misses += missed
    assert_at_most(int(misses[0]), runs, 0.3)
    assert_at_most(int(misses[1]), runs, 0.6)


def test_status_says_how_things_stand():
    policies, rewards = case()
    problem = replace(PROBLEM, traffic=0.5, max_loss=40.0)
    learner = ps.Sieve(policies, problem, rng=0)
    assert learner.status().left == 80
    play(learner, rewards, 60, 20, seed=0)
    waiting = learner.ask(np.arange(5))
    learner.stop_exploring()
    status = learner.status()
    assert (status.rounds, status.pending, status.exploring) == (60, 5, False)
    assert (status.traffic, status.max_loss) == (0.5, 40.0)
    assert status.survivors == len(learner.survivors)
    assert status.recommendation == learner.recommend()
    assert repr(status).endswith("stopped)")
    assert "alarm" not in status.to_dict()
    assert "not exploring" in status._repr_html_()
    assert "What exploring has cost" in status.cost._repr_html_()
    learner.tell(waiting, rewards[np.arange(5)[:, None], waiting.actions])
    assert status.rounds == 60  # as it was when it was asked for
    copied = pickle.loads(pickle.dumps(status))
    assert copied.alarm is None
    assert copied.to_dict(alarm=True) == {**status.to_dict(), "alarm": None}


def test_a_change_of_the_world_is_looked_for_when_it_is_asked_for(monkeypatch):
    policies, rewards = case()
    learner, looked = ps.Uniform(policies, PROBLEM, rounds=2000, rng=0), []
    play(learner, rewards, 500, 100, seed=0)
    play(learner, np.roll(rewards, 1, axis=1) * 0, 1000, 100, seed=1)
    found = type(learner).alarm
    monkeypatch.setattr(
        type(learner), "alarm", property(lambda one: looked.append(one) or found.fget(one))
    )
    status = learner.status()
    assert not looked
    assert status.alarm.split == pytest.approx(500, abs=60)
    assert status.to_dict(alarm=True)["alarm"]["what"]
    assert len(looked) == 1


def test_words_tell_costs_from_rewards_and_what_might_explore_from_what_did():
    policies, rewards = case()
    problem = replace(PROBLEM, objective="minimize", sparsity=None, traffic=0.2)
    learner = ps.Sieve(policies, problem, rng=0)
    play(learner, rewards, 100, 50, seed=0)
    cost = learner.cost()
    assert cost.guarantee.startswith(f"100 rounds have cost {cost.earned:.5g}.")
    assert "earned" not in cost.guarantee
    assert cost.explored_in_words == "100 explored, each with probability 0.2"
    assert cost.to_dict()["traffic"] == 0.2
    assert "100 explored, each with probability 0.2" in cost._repr_html_()
    note = cost_table(cost).note
    assert note.startswith(
        "100 rounds, of which 100 explored, each with probability 0.2, have cost"
    )
    usual = ps.Sieve(policies, PROBLEM, rng=0)
    play(usual, rewards, 100, 50, seed=0)
    assert "100 rounds have earned" in usual.cost().guarantee
    assert usual.cost().explored_in_words == "100 explored"


def test_why_nothing_sharper_is_said_of_the_best_where_units_come_back():
    policies, rewards = case()
    learner = ps.Sieve(policies, PROBLEM, rng=0)
    batch = learner.ask(np.arange(5), units=[0, 1, 2, 3, 3])
    learner.tell(batch, rewards[np.arange(5)[:, None], batch.actions])
    said = learner.cost().guarantee
    assert "limits on values are about the first round of each unit" in said
    assert said.endswith("so it goes by the range of rewards alone.")
