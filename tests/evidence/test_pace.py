"""How much longer bets have to go on: against a slow twin, and at the edges."""

from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.pace import times_as_long
from policysieve.evidence.standing import Standing
from tests.evidence.capped import World
from tests.oracles import forecast as oracle


def close(ours, slow):
    return ours is None if slow is None else ours == pytest.approx(slow, rel=2e-3)


@pytest.mark.parametrize("seed", range(20))
def test_times_as_long_is_that_of_the_slowest(seed):
    rng = np.random.default_rng(seed)
    wealth = rng.normal(0.3, 1.0, (5, 9)) * rng.choice([0.1, 1.0, 5.0])
    threshold = rng.uniform(1, 9)
    each = [oracle.times_as_long(row.tolist(), threshold) for row in wealth]
    assert close(times_as_long(wealth, threshold), None if None in each else max(each))


@pytest.mark.parametrize(
    ("wealth", "times"),
    [
        (np.empty((0, 3)), 1.0),
        (np.full((1, 3), 6.0), 1.0),
        (np.full((1, 3), 2.0), 2.5),
        (np.array([[2.0] * 3, [0.1] * 3]), 50.0),
        (np.full((1, 3), 0.04), None),
        (np.array([[2.0] * 3, [-1.0] * 3]), None),
    ],
)
def test_nobody_the_proved_the_slow_and_the_hopeless(wealth, times):
    assert close(times_as_long(wealth, 5.0), times)


@pytest.mark.parametrize(("seed", "m"), [(0, 1), (1, 1), (3, 3)])
def test_times_to_proof_is_that_of_the_slow_twin(seed, m):
    world = World(seed, m=m, sparsity=1.0 if m == 1 else 2.0, n=60)
    evidence, fold = world.evidence(), world.fold()
    for start, end in [(0, 20), (20, 41), (41, 60)]:
        world.feed(evidence, start, end)
        world.feed_fold(fold, start, end)
        assert close(evidence.times_to_proof(), oracle.times_to_proof(fold))
    leader = int(evidence.now().survivors[1])
    assert close(evidence.led_by(leader).times_to_proof(), oracle.times_to_proof(fold, leader))


@pytest.mark.parametrize("seed", range(3))
def test_times_to_gain_is_that_of_the_slow_twin(seed):
    world = World(seed, n=60)
    first = world.evidence()
    world.feed(first, 0, 60)
    today = int(first.now().standing.all_rivals(world.policies)[-1])
    delta = world.problem.delta
    world.problem = replace(world.problem, against=today)
    evidence, fold = world.evidence(), world.fold()
    fold.delta = world.problem.delta_of_best
    world.feed(evidence, 0, 60)
    world.feed_fold(fold, 0, 60)
    assert today in evidence.now().survivors
    assert evidence.now().standing.leader != today
    assert close(evidence.times_to_gain(), oracle.times_to_gain(fold, today, delta))
    assert evidence.led_by(today).times_to_gain() is None


def test_evidence_that_has_proved_takes_no_longer():
    world = World(0, n=2000, epsilon=0.4)
    evidence = world.evidence()
    world.feed(evidence, 0, 2000)
    assert evidence.certificate().certified
    assert evidence.times_to_proof() == 1.0


def test_rivals_behind_the_hardest_are_looked_at_once_these_are_beaten(monkeypatch):
    """Those of the largest estimates are looked at first, but a rival may be hard otherwise."""
    world = World(4, n=150, n_policies=12)
    evidence = world.evidence()
    world.feed(evidence, 0, 150)
    whole = evidence.times_to_proof()
    order = evidence.now().standing.all_rivals(world.policies)
    slow_last = sorted(order, key=lambda p: _times_against(evidence, p) or 1e9)

    def parts(self, policies):
        for rival in slow_last:
            yield np.array([rival])

    monkeypatch.setattr(Standing, "rivals", parts)
    unproved = [p for p in slow_last if (_times_against(evidence, p) or 2) > 1]
    second = slow_last[max(1, len(slow_last) - len(unproved))]
    assert whole is None or evidence.times_to_proof() == pytest.approx(
        _times_against(evidence, second), rel=1e-6
    )


def _times_against(evidence, rival):
    then = evidence.now()
    judged = then._retrospect.first(then.standing.cohorts, then.standing.leader)
    wealth = judged._log_wealth_of(np.array([rival]), then._past)
    return times_as_long(wealth, judged.log_threshold)


def test_without_the_past_nothing_is_said():
    world = World(0, n=200)
    evidence = world.evidence(memory_limit=0)
    world.feed(evidence, 0, 200)
    assert evidence.forgets
    assert evidence.times_to_proof() is None
    assert evidence.times_to_gain() is None


def test_looking_changes_nothing():
    world = World(0, n=120)
    one, other = world.evidence(), world.evidence()
    world.feed(one, 0, 50)
    world.feed(other, 0, 50)
    one.times_to_proof()
    world.feed(one, 50, 120)
    world.feed(other, 50, 120)
    assert one.times_to_proof() == other.times_to_proof()
    assert one.certificate().to_dict() == other.certificate().to_dict()


def test_a_gain_over_nobody():
    world = World(0, n=50)
    evidence = world.evidence()
    world.feed(evidence, 0, 50)
    assert isinstance(evidence, ps.Evidence)
    assert evidence.times_to_gain() is None
