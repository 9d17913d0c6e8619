import numpy as np
import pytest

from policysieve.bench.speed.playing import KINDS, make_class, play
from policysieve.exploration.learners import Sieve, Uniform


@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind):
    world, policies = make_class(kind, 700, n_actions=20, n_contexts=30)
    assert (world.n_contexts, world.n_actions) == (30, 20)
    assert (policies.n_policies, policies.table.dtype) == (700, np.uint8)


def test_many_clusters_are_mixtures_of_a_few():
    world, policies = make_class("clusters", 5_000, n_contexts=200)
    values = world.values(policies)
    np.testing.assert_array_equal(policies.table[:, :300, 0], world.pool)
    assert (values > values.max() - 0.1).sum() > 500
    differs = (policies.table[:, 300:, 0] != world.pool[:, np.arange(4_700) % 300]).mean(axis=0)
    assert 0 < differs.mean() < 0.2
    assert len(np.unique(policies.table[:, :, 0], axis=1).T) > 4_900


def test_rounds_and_calls():
    world, policies = make_class("close", 20, n_contexts=10)
    problem = world.problem(epsilon=0.01, delta=0.05)
    learner = Uniform(policies, problem, rounds=50, rng=0)
    played = play(learner, world, 70, batch=20)  # beyond the end
    assert (played.rounds, learner.rounds) == (70, 70)
    assert len(played.ask_seconds) == len(played.tell_seconds) == 4
    total = played.ask_seconds.sum() + played.tell_seconds.sum()
    assert played.seconds_per_round == pytest.approx(total / 70)
    again = Uniform(policies, problem, rounds=50, rng=0)
    assert play(again, world, 70, batch=20, until_finished=True).rounds == 60


def test_a_learner_plays_on_from_where_it_is():
    world, policies = make_class("close", 20, n_contexts=10)
    learner = Sieve(policies, world.problem(epsilon=0.01, delta=0.05), rng=0)
    assert [play(learner, world, n).rounds for n in (30, 250)] == [30, 250]
    assert learner.rounds == 280
