"""The Sieve that is to beat what runs today: when it stops, what it says, how seldom wrongly."""

from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import comparing
from tests.contracts.explorer_contract import ExplorerContract
from tests.statistics import assert_at_most


class TestSieveThatBeats(ExplorerContract):
    def make(self, policies, problem, seed):
        if isinstance(problem, ps.Problem):
            problem = replace(problem, against=0)
        return ps.Sieve(policies, problem, goal="beat", rounds=5000, rng=seed)


def task(seed, rank, profile="one_good", **arguments):
    """A world of a few policies, and the number of the one of this rank, which runs today."""
    settings = {"n_actions": 6, "n_contexts": 60, "n_policies": 8, **arguments}
    world = ps.worlds.SparseSynthetic(profile=profile, rng=seed, **settings)
    policies = ps.PolicyTable(world.pool, n_actions=settings["n_actions"])
    values = world.values(policies)
    return world, policies, values, int(np.argsort(-values, kind="stable")[rank])


def played(world, policies, today, *, rounds=6000, seed=0, **arguments):
    problem = world.problem(**{"epsilon": 0.1, "delta": 0.05, **arguments}, against=today)
    learner = ps.Sieve(policies, problem, goal="beat", rng=seed)
    return learner, ps.run(learner, world, max_rounds=rounds, rng=seed)


def test_it_stops_when_another_is_proved_better():
    world, policies, values, today = task(0, rank=4)
    _, result = played(world, policies, today)
    best = result.recommendation
    assert result.finished
    assert best.policy != today
    assert 0 < best.gain <= values[best.policy] - values[today]
    assert f"is better than policy {today} by at least" in best.guarantee
    assert result.rounds < 1000


def test_it_stops_when_none_is_better_by_epsilon():
    world, policies, _, today = task(0, rank=0)
    _, result = played(world, policies, today)
    best = result.recommendation
    assert result.finished
    assert (best.policy, best.gain, best.certified) == (today, 0.0, True)
    assert best.suboptimality_bound <= 0.1
    assert best.guarantee.endswith(f"policy {today}, which runs today, leads itself.")


def test_a_close_race_ends_either_way():
    """Whoever leads: either answer is right where the gap is below epsilon."""
    answers = set()
    for seed in range(6):
        world, policies, values, today = task(seed, rank=1, profile="close", noise=0.1)
        assert 0 <= values.max() - values[today] < 0.2  # some tie up to rounding
        _, result = played(world, policies, today, epsilon=0.2, seed=seed)
        assert result.finished
        best = result.recommendation
        answers.add(best.policy == today)
        assert best.policy == today or 0 < best.gain <= values[best.policy] - values[today]
    assert True in answers


def test_answers_that_come_late_take_back_no_proof():
    world, policies, _, today = task(0, rank=4)
    problem = world.problem(epsilon=0.1, delta=0.05, against=today)
    learner, rng = ps.Sieve(policies, problem, goal="beat", rng=0), np.random.default_rng(0)
    while not learner.finished:
        draw = world.draw(40, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
    best = learner.recommend()
    assert best.gain > 0
    for _ in range(5):
        draw = world.draw(40, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
        assert learner.finished
        assert learner.recommend().gain > 0


def test_who_is_to_be_beaten_is_shown_as_often_as_the_leader():
    world, policies, _, today = task(0, rank=7)
    problem = world.problem(epsilon=0.02, delta=1e-6, against=today)
    learner, rng = ps.Sieve(policies, problem, goal="beat", rng=0), np.random.default_rng(0)
    for _ in range(5):
        draw = world.draw(100, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
    design = learner.exploration
    assert design.need[design.survivors.searchsorted(today)] == 1.0
    others = design.need[design.survivors != today]
    assert others.max() == 1.0 > others.min()


def test_two_policies_are_enough():
    world, policies, values, _ = task(0, rank=0)
    order = np.argsort(-values)
    two = ps.PolicyTable(policies.table[:, [order[4], order[0]]], n_actions=6)
    _, result = played(world, two, 0)
    assert (result.finished, result.recommendation.policy) == (True, 1)
    assert result.recommendation.gain > 0


def test_forgetting_only_takes_longer():
    """Then there is no certificate for one that does not lead; it never stops for that."""
    world, policies, _, today = task(0, rank=4)
    problem = world.problem(epsilon=0.1, delta=0.05, against=today)
    learner = ps.Sieve(policies, problem, goal="beat", memory_limit=0, rng=0)
    result = ps.run(learner, world, max_rounds=20_000, rng=0)
    assert result.finished
    assert result.recommendation.gain > 0


def test_it_needs_to_know_whom_to_beat():
    world, policies, _, _ = task(0, rank=0)
    with pytest.raises(ps.InvalidArgumentError, match=r"Problem\(against=\.\.\.\)"):
        ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.1), goal="beat")


def answers_of(seed, rank):
    """Whether it ended, and wrongly: it says "better" and gives too large a gain, or "stay" where
    another is better by more than epsilon.
    """
    world, policies, values, today = task(
        seed, rank, profile="close", n_policies=5, n_contexts=20, noise=0.3
    )
    _, result = played(world, policies, today, delta=0.2, rounds=600, seed=seed)
    best = result.recommendation
    if best.policy == today:
        return result.finished, result.finished and values.max() - values[today] > 0.1
    return result.finished, best.gain > values[best.policy] - values[today]


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_false_answers_are_rare(rank):
    ended, wrong = np.sum([answers_of(seed, rank) for seed in range(25)], axis=0)
    assert ended
    assert_at_most(wrong, 25, 0.2, alpha=1e-3)


def test_false_answers_are_found(monkeypatch):
    monkeypatch.setattr(comparing, "least_difference", lambda *_: 0.01)  # for nothing
    _, wrong = np.sum([answers_of(seed, 0) for seed in range(25)], axis=0)
    with pytest.raises(AssertionError):
        assert_at_most(wrong, 25, 0.2, alpha=1e-3)
