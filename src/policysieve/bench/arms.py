"""What an A/B/n test needs: each candidate is an arm, and only its own rounds speak for it."""

from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from policysieve.kernels.arms import follow_arms
from policysieve.policies import PolicyTable
from policysieve.worlds.base import Draw

if TYPE_CHECKING:
    from policysieve.bench.rounds import Game

__all__ = ["policies_as_arms"]

Array = npt.NDArray[np.float64]

_SHARES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.95])  # of the capital at stake
_BLOCK = 2000  # rounds that are drawn at once


def policies_as_arms(game: "Game", most: int) -> tuple[int, int | None]:
    """The policy that best-arm identification proves, and the rounds it took, None beyond `most`.

    LUCB: follow the policy with the largest mean reward and the one with the largest upper bound
    among the others in turn, and stop when the latter is at most epsilon above the lower bound of
    the former. Bounds are by betting, and hold at any time. Only the best policy's upper bound has
    to hold, with probability 1 - delta/2, and with the same probability the lower bounds of all
    others (docs/maths.md, "Policies as arms").
    """
    problem, n_policies = game.problem, game.policies.n_policies
    counts = np.zeros((n_policies, max(1, ceil(problem.reward_cap)) + 1))
    means, upper = np.full(n_policies, np.nan), np.ones(n_policies)
    following = np.array([-1])
    rounds, leader = 0, -1
    while leader < 0 and rounds < most:
        draw = game.world.draw(min(_BLOCK, most - rounds), game.rng)
        played, leader = follow_arms(
            _rewards(draw, game.policies) / problem.reward_cap,
            problem.epsilon / problem.reward_cap,
            _SHARES,
            log(2 * (n_policies - 1) / problem.delta),
            log(2 / problem.delta),
            counts,
            means,
            upper,
            following,
        )
        rounds += played
    return (leader, rounds) if leader >= 0 else (int(np.nanargmax(means)), None)


def _rewards(draw: Draw, policies: PolicyTable) -> Array:
    """What each policy would have earned in each round, shape (n, n_policies)."""
    slates = policies.actions(draw.contexts)
    earned = [draw.rewards(slates[:, p]).sum(axis=1) for p in range(slates.shape[1])]
    return np.stack(earned, axis=1)
