"""Who races to a certificate."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from policysieve.bench.arms import policies_as_arms
from policysieve.bench.voting import VotingSieve
from policysieve.evidence import Evidence
from policysieve.exploration.learners import PolicyElimination, Sieve, Uniform
from policysieve.log import Log
from policysieve.policies import FunctionPolicies, PolicyTable
from policysieve.worlds.base import Draw

if TYPE_CHECKING:
    from policysieve.bench.rounds import Game

__all__ = ["PROVERS"]

Proved = tuple[int, int | None] | tuple[int, int | None, PolicyTable]


def _sieve(game: "Game", most: int) -> Proved:
    return _played(Sieve(game.policies, game.problem, rounds=most, rng=game.seed), game, most)


def _elimination(game: "Game", most: int) -> Proved:
    player = PolicyElimination(game.policies, game.problem, rounds=most, rng=game.seed)
    return _played(player, game, most)


def _voting(fitted: bool, game: "Game", most: int) -> Proved:
    """With votes of the candidates, from which it chooses as well."""
    settings = {"rounds": most, "rng": game.seed}
    player = VotingSieve(game.policies, game.problem, fitted=fitted, **settings)
    game.advance(player, most)
    proof = player.sieve.evidence.certificate()
    return proof.leader, proof.rounds if proof.certified else None, player.policies


def _played(player: Sieve | PolicyElimination, game: "Game", most: int) -> Proved:
    game.advance(player, most)
    proof = player.evidence.certificate()
    return proof.leader, proof.rounds if proof.certified else None


def _uniform(game: "Game", most: int) -> Proved:
    """A learner that has no evidence of its own."""
    player = Uniform(game.policies, game.problem, rounds=most, rng=game.seed)

    def play(evidence: Evidence, stop: int) -> None:
        seen = player.rounds
        game.advance(player, stop)
        evidence.add(player.log[seen:], player.exploration)

    return _look_by_look(game, most, play)


def _sieve_on_functions(game: "Game", most: int) -> Proved:
    """The Sieve on the same policies as functions, of which contexts cannot be listed."""
    functions = FunctionPolicies(
        [partial(_slates, game.policies, p) for p in range(game.policies.n_policies)],
        game.policies.n_actions,
        slate_size=game.policies.slate_size,
    )
    return _played(Sieve(functions, game.problem, rounds=most, rng=game.seed), game, most)


def _all_labels_revealed(game: "Game", most: int) -> Proved:
    """The certificate when every reward of a round is seen: all actions shown, with certainty."""

    def play(evidence: Evidence, stop: int) -> None:
        draw = game.world.draw(stop - evidence.rounds, game.rng)
        rewards = _all_rewards(draw, game.policies.n_actions, game.policies.slate_size)
        sure = np.ones_like(rewards)
        everything = np.broadcast_to(np.arange(rewards.shape[1]), rewards.shape)
        rounds = Log(contexts=draw.contexts, actions=everything, propensities=sure, rewards=rewards)
        answers = game.policies.answers(draw.contexts)
        evidence.take(rounds, answers, sure.__getitem__)

    return _look_by_look(game, most, play)


def _look_by_look(game: "Game", most: int, play: Callable[[Evidence, int], None]) -> Proved:
    """Let `play` bring the evidence to a number of rounds, until it looks and certifies."""
    evidence = Evidence(game.policies, game.problem)
    while True:
        play(evidence, min(evidence.next_look, most))
        proof = evidence.certificate()
        if proof.certified or evidence.rounds >= most:
            return proof.leader, proof.rounds if proof.certified else None


def _slates(
    policies: PolicyTable, policy: int, contexts: npt.NDArray[np.intp]
) -> npt.NDArray[np.integer]:
    return policies.actions(contexts, which=[policy])[:, 0]


def _all_rewards(draw: Draw, n_actions: int, slate_size: int) -> npt.NDArray[np.float64]:
    """Rewards of all actions, shape (n, n_actions), asked for a slate at a time."""
    rewards = np.empty((len(draw), n_actions))
    for start in range(0, n_actions, slate_size):
        first = min(start, n_actions - slate_size)
        some = slice(first, first + slate_size)
        slates = np.broadcast_to(np.arange(n_actions)[some], (len(draw), slate_size))
        rewards[:, some] = draw.rewards(slates)
    return rewards


PROVERS: dict[str, Callable[["Game", int], Proved]] = {
    "Sieve": _sieve,
    "SieveOnFunctions": _sieve_on_functions,
    "PolicyElimination": _elimination,
    "Uniform": _uniform,
    "PoliciesAsArms": policies_as_arms,
    "AllLabelsRevealed": _all_labels_revealed,
    "SieveWithVote": partial(_voting, False),
    "SieveWithFittedVotes": partial(_voting, True),
}
"""From a game and the most rounds to the proved policy and the rounds it took, None beyond them.

Who chooses from other policies than the game's says from which.
"""
