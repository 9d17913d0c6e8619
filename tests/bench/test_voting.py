"""The Sieve where a vote may be deployed."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.provers import PROVERS
from policysieve.bench.rounds import Game, Task, proving
from policysieve.bench.voting import VoteOfSieve, VotingSieve

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


def test_the_present_vote_of_the_sieve_is_deployed():
    """Before anything is proved it is better than every candidate."""
    game = Game.of(TASK, 0)
    learner = VoteOfSieve(game.policies, game.problem, rng=0)
    game.advance(learner, 60)
    assert (learner.rounds, learner.finished) == (60, False)
    deployed = learner.recommend().policy
    gain = game.world.values(deployed)[0] - game.world.values(game.policies).max()
    assert gain > 0.15


class TestVoteOfTheSieve:
    """What the Sieve's own vote is made of, and what may judge it."""

    def played(self, rounds, **settings):
        game = Game.of(TASK, 0)
        learner = ps.Sieve(game.policies, game.problem, goal="best", rng=0, **settings)
        game.advance(learner, rounds)
        return game, learner

    def test_weights_are_those_it_explores_with(self):
        _, learner = self.played(120)
        vote, played = learner.vote(), learner.exploration
        expected = np.zeros(P)
        expected[played.survivors] = played.votes
        expected[expected < 1e-3 * expected.max()] = 0
        assert vote.weights[0] == pytest.approx(expected / expected.sum())
        assert (vote.n_policies, vote.fitted_on) == (1, 120)

    def test_before_any_round_all_count_alike(self):
        game, learner = self.played(0)
        both = [
            one.actions(np.arange(N)) for one in (learner.vote(), ps.VotePolicies(game.policies))
        ]
        assert (both[0] == both[1]).all()

    def test_only_later_rounds_judge_it(self):
        game, learner = self.played(100, additions=1)
        vote = learner.vote()
        with pytest.raises(ps.InvalidArgumentError, match="unseen must be left out"):
            learner.add(vote, unseen=True)
        learner.add(vote)
        assert learner.evidence.standing.cohorts.since(np.array([P])).tolist() == [100]
        game.advance(learner, 200)
        assert learner.vote().weights.shape == (1, P + 1)  # the vote may vote

    def test_looking_changes_nothing(self):
        (game, one), (again, other) = self.played(90), self.played(90)
        one.vote()
        game.advance(one, 150)
        again.advance(other, 150)
        assert (one.log.actions == other.log.actions).all()

    def test_it_has_a_name_where_candidates_have(self):
        game = Game.of(TASK, 0)
        named = ps.PolicyTable(
            game.policies.table, n_actions=K, names=[f"model {i}" for i in range(P)]
        )
        learner = ps.Sieve(named, game.problem, goal="best", rng=0)
        assert learner.vote().names == ("vote of 30 after 0 rounds",)
