"""The Sieve where a vote may be deployed."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.provers import PROVERS
from policysieve.bench.rounds import Game, Task, proving
from policysieve.bench.voting import VotingSieve

K, N, P = 5, 200, 30


def wise(seed):
    """Candidates know two thirds of the contexts, each others."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, K, N)
    knows = rng.random((N, P)) < 2 / 3
    table = np.where(knows, right[:, None], rng.integers(0, K, (N, P)))
    world = ps.worlds.Classification(None, right, n_actions=K, contexts="rows")
    return world, ps.PolicyTable(table, n_actions=K)


TASK = Task("wise", "a vote knows all", wise, epsilon=0.1)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_vote_is_deployed(fitted):
    game = Game.of(TASK, 0)
    learner = VotingSieve(game.policies, game.problem, fitted=fitted, goal="best", rng=0)
    game.advance(learner, 99)
    assert learner.policies.n_policies == P + 1
    game.advance(learner, 150)
    assert (learner.rounds, learner.policies.n_policies) == (150, P + 1 + 2 * fitted)
    since = learner.sieve.evidence.standing.cohorts.since(np.arange(P + 1, P + 1 + 2 * fitted))
    assert since.tolist() == [100, 100] * fitted
    deployed = learner.recommend().policy
    assert deployed.n_policies == 1
    gain = game.world.values(deployed)[0] - game.world.values(game.policies).max()
    assert gain > 0.15


@pytest.mark.parametrize("name", ["SieveWithVote", "SieveWithFittedVotes"])
def test_a_vote_is_proved(name):
    leader, rounds, policies = PROVERS[name](Game.of(TASK, 0), 5000)
    assert leader >= P
    assert rounds < 500
    assert policies.n_policies == P + (1 if name == "SieveWithVote" else 3)
    assert proving(TASK, name, seeds=2, most=5000)["false"] == 0


def test_false_proofs_are_judged_by_the_votes_too(monkeypatch):
    """The best candidate is proved, and a vote is better by more than epsilon."""

    def prove(game, most):
        both = VotingSieve(game.policies, game.problem, fitted=False, rng=0).policies
        return int(np.argmax(game.world.values(game.policies))), 50, both

    monkeypatch.setitem(PROVERS, "Puppet", prove)
    assert proving(TASK, "Puppet", seeds=2, most=100)["false"] == 2
