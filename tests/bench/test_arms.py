"""An A/B/n test with best-arm identification: what it promises."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench import arms
from policysieve.bench.arms import policies_as_arms
from policysieve.bench.rounds import Game, Task
from tests.bench.test_rounds import tiny
from tests.statistics import assert_at_most

N_POLICIES, RUNS, DELTA = 12, 200, 0.2


def hard(seed):
    """One policy is best, all others are right a little too seldom."""
    right = np.arange(100)[:, None] < np.array([40] + [29] * (N_POLICIES - 1))
    shuffled = np.random.default_rng(seed).permuted(right, axis=0)
    world = ps.worlds.Classification(None, np.zeros(100, int), n_actions=2, contexts="rows")
    return world, ps.PolicyTable(1 - shuffled, n_actions=2)


def false_proofs(delta):
    wrong = 0
    for seed in range(RUNS):
        game = Game.of(Task("hard", "", hard, epsilon=0.1), seed)
        problem = game.world.problem(epsilon=0.1, delta=delta)
        leader, rounds = policies_as_arms(game._replace(problem=problem), 3000)
        wrong += rounds is not None and leader != 0
    return wrong


def test_few_false_proofs():
    assert_at_most(false_proofs(DELTA), RUNS, DELTA)


def test_false_proofs_would_be_noticed(monkeypatch):
    """Without the capital that bets have to earn first."""
    monkeypatch.setattr(arms, "log", lambda _: 0.3)
    with pytest.raises(AssertionError):
        assert_at_most(false_proofs(DELTA), RUNS, DELTA)


@pytest.mark.parametrize("slate_size", [1, 2])
def test_judges_policies_by_their_own_rounds(slate_size, monkeypatch):
    """Rewards of a slate count as a share of what a round can earn."""
    seen = []

    def follow(rewards, epsilon, *arguments):
        seen.append((rewards, epsilon))
        return len(rewards), 0

    monkeypatch.setattr(arms, "follow_arms", follow)
    task = Task("tiny", "", lambda seed: tiny(seed, slate_size), epsilon=0.2)
    assert policies_as_arms(Game.of(task, 0), 300) == (0, 300)
    (rewards, epsilon), *_ = seen
    game = Game.of(task, 0)
    draw = game.world.draw(300, game.rng)
    cap = game.problem.reward_cap
    for p in range(6):
        earned = draw.rewards(game.policies.actions(draw.contexts)[:, p]).sum(axis=1)
        np.testing.assert_allclose(rewards[:, p], earned / cap)
    assert epsilon == pytest.approx(0.2 / cap)


def test_blocks_of_draws_make_no_other_rule(monkeypatch):
    task = Task("tiny", "", tiny, epsilon=0.2)
    whole = [policies_as_arms(Game.of(task, seed), 20_000) for seed in range(3)]
    assert all(rounds < 2000 for _, rounds in whole)
    monkeypatch.setattr(arms, "_BLOCK", 1)
    game = Game.of(task, 0)
    leader, rounds = policies_as_arms(game, 20_000)
    assert rounds is not None
    assert game.world.values(game.policies)[leader] > game.world.values(game.policies).max() - 0.2
