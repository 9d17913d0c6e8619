"""Policy elimination: uniform over what the policies still in the race would show."""

from typing import Any

import numpy as np

from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.learners.sifting import SiftingExplorer
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["PolicyElimination"]

_GROWTH = 1.05  # every look at the evidence is used


class PolicyElimination(SiftingExplorer):
    """Explore uniformly among the actions of the surviving policies, until epsilon is certified.

    After Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin and Zhang (2011). Their distribution
    over policies, made to bound every survivor's variance by the number of actions, is here the
    uniform one over the survivors' actions, which bounds it by their number at each context, and
    their confidence bounds are the betting certificate that the Sieve uses (docs/maths.md,
    "Elimination"). So it differs from the Sieve in the design alone, and is its strongest rival.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    rounds : int, optional
        Rounds after which to stop, certified or not.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None = None,
        rng: Any = None,
    ) -> None:
        super().__init__(
            policies,
            problem,
            rounds=rounds,
            first_mixing=1.0,
            growth=_GROWTH,
            rng=rng,
        )
        first = max(self._next_look, problem.n_actions // problem.slate_size)
        self._next_epoch = self._next_look = first

    def _explore_next(self) -> NeedExploration:
        p_hat = np.zeros(self.policies.n_policies)
        p_hat[self.survivors] = 1 / len(self.survivors)
        return self._by_need(p_hat, [1.0])[0]
