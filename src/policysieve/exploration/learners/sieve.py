"""The Sieve: one loop that explores, eliminates, certifies and stops."""

from typing import Any, Literal, get_args

import numpy as np

from policysieve.checks import number, one_of
from policysieve.exploration.learners.sifting import MEMORY_LIMIT, Array, SiftingExplorer
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Sieve"]

Goal = Literal["certify", "best"]

_MIXING: dict[str, float] = {"certify": 0.75, "best": 0.5}


class Sieve(SiftingExplorer):
    """Show what close rivals need and what good ones would show; let go of what is not the best.

    The exploration stays fixed until the evidence looks at itself. With some probability, the
    mixing, it shows an action that a surviving policy would show at the context, by need: the
    closer a policy seems to the leader, the more often what it would show. Else it follows a
    survivor drawn by vote: the better it seems, the more often. Then policies are eliminated, and
    needs and votes are made anew from estimates and their errors (docs/maths.md, "The Sieve").
    Exploration is always fixed before the contexts it is used on, so certificates are valid at any
    time.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    goal : {"certify", "best"}
        Fewest rounds to a certificate, or the best policy for a given number of rounds. Without
        `rounds`, a Sieve for the best never stops by itself.
    rounds : int, optional
        Rounds after which to stop, certified or not.
    mixing : float, optional
        Share of exploration by need. By default 0.75 to certify, and 0.5 for the best.
    memory_limit : int
        Bytes of rounds that the evidence may keep. Beyond, a leader is certified by the rounds
        since it leads, which takes more of them.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        goal: Goal = "certify",
        rounds: int | None = None,
        mixing: float | None = None,
        memory_limit: int = MEMORY_LIMIT,
        rng: Any = None,
    ) -> None:
        one_of("goal", goal, get_args(Goal))
        self.goal = goal
        share = _MIXING[goal] if mixing is None else mixing
        super().__init__(
            policies,
            problem,
            rounds=rounds,
            mixing=number("mixing", share, above=0, below=1, closed=True),
            memory_limit=memory_limit,
            rng=rng,
        )

    @property
    def _proved(self) -> bool:
        """Whether a look has certified epsilon; the best is looked for all the same."""
        return self.goal == "certify" and super()._proved

    def _needs(self) -> Array:
        """The survivors' eps/(eps + gap): about 1/W/(eps + gap) rounds are needed for each.

        The gap to the leader is taken to be a standard error smaller than its estimate.
        """
        standing, epsilon = self.evidence.standing, self.problem.epsilon
        need = standing.gaps
        need -= standing.errors
        np.maximum(need, 0.0, out=need)
        need += epsilon
        return np.divide(epsilon, need, out=need)
