"""A small task that is never finished, for learners that run for long."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration import Decisions
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["POLICIES", "PROBLEM", "earned"]

_ACTIONS = 10
POLICIES = PolicyTable(
    np.random.default_rng(0).integers(0, _ACTIONS, (200, 50)), n_actions=_ACTIONS
)
PROBLEM = Problem(n_actions=_ACTIONS, epsilon=0.001, delta=0.05)


def earned(decisions: Decisions, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Rewards: often 1 for the one good action of a context, and rarely for another."""
    good = decisions.actions[:, 0] == decisions.contexts % _ACTIONS
    return (rng.random(len(decisions)) < np.where(good, 0.7, 0.03)).astype(float)
