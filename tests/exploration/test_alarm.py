import numpy as np
import pytest

import policysieve as ps
from tests.statistics import assert_at_most


def played(seed, *, flips, rounds=1500, delta=0.1):
    """A Sieve in a world whose rewards may turn round in the middle."""
    rng = np.random.default_rng(seed)
    table = np.stack([np.full(10, action) for action in range(3)], axis=1)
    problem = ps.Problem(n_actions=3, epsilon=0.05, delta=delta)
    learner = ps.Sieve(
        ps.PolicyTable(table, n_actions=3), problem, goal="best", rounds=rounds, rng=seed
    )
    while not learner.finished:
        decisions = learner.ask(rng.integers(0, 10, min(100, learner.ask_limit)))
        means = np.array([0.3, 0.5, 0.8])
        if flips and learner.rounds >= rounds // 2:
            means = means[::-1]
        shown = decisions.actions
        learner.tell(decisions, (rng.random(shown.shape) < means[shown]).astype(float))
    return learner


def test_a_sieve_in_one_world_raises_few_alarms():
    runs, delta = 20, 0.2
    alarms = sum(played(seed, flips=False, delta=delta).alarm is not None for seed in range(runs))
    assert_at_most(alarms, runs, delta)


@pytest.mark.parametrize("seed", range(3))
def test_a_sieve_whose_world_turns_round_says_since_when(seed):
    alarm = played(seed, flips=True).alarm
    assert alarm.watched.of_rewards
    assert 600 < alarm.split < 900
    assert 750 < alarm.alarm <= 1500


@pytest.mark.parametrize("named", [False, True], ids=["plain", "units"])
def test_an_alarm_counts_from_where_the_learner_began_anew(named):
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    table = ps.PolicyTable(np.array([[0, 1]]), n_actions=2)
    learner, rng, start = ps.Sieve(table, problem, goal="best", rng=0), np.random.default_rng(0), 0
    for rounds, mean in ((200, 0.5), (400, 0.9), (400, 0.1)):
        if start == 200:
            learner.restart()
        units = np.arange(start, start + rounds) if named else None
        decisions = learner.ask(np.zeros(rounds, int), units=units)
        learner.tell(decisions, (rng.random((rounds, 1)) < mean).astype(float))
        start += rounds
    alarm = learner.alarm
    assert alarm.start == learner.since == 200
    assert 500 < alarm.split < 700


def test_a_learner_without_rounds_has_no_alarm():
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    table = ps.PolicyTable(np.array([[0, 1]]), n_actions=2)
    assert ps.Sieve(table, problem, rng=0).alarm is None
