"""Policy elimination: uniform over what the policies still in the race would show."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.evidence import MEMORY_LIMIT
from policysieve.exploration.learners.sifting import SiftingExplorer
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["PolicyElimination"]


class PolicyElimination(SiftingExplorer):
    """Explore uniformly among the actions of the surviving policies, until epsilon is certified.

    After Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin and Zhang (2011). Their distribution
    over policies, made to bound every survivor's variance by the number of actions, is here the
    uniform one over the survivors' actions, which bounds it by their number at each context, and
    their confidence bounds are the evidence that the Sieve uses (docs/maths.md, "Elimination
    without the union"). So it differs from the Sieve in needs and votes alone.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    rounds : int, optional
        Rounds after which to stop, certified or not.
    memory_limit : int
        Bytes of rounds that the evidence may keep.
    additions : int
        How often candidates may join while it runs, by `add`. Delta is split for so many times,
        whether or not it comes to that (docs/new-candidates.md).
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        additions: int = 0,
        rng: Any = None,
    ) -> None:
        super().__init__(
            policies,
            problem,
            rounds=rounds,
            mixing=1.0,
            memory_limit=memory_limit,
            additions=additions,
            rng=rng,
        )

    def _needs(self) -> npt.NDArray[np.float64]:
        """The same for all."""
        return np.ones(len(self.evidence.survivors))
