"""What a measured study decides with: linear policies, some of which are alike."""

import numpy as np
import numpy.typing as npt

from policysieve.policies import LinearPolicies
from policysieve.problem import Problem

__all__ = ["PROBLEM", "contexts", "policies"]

_K, _D = 10, 10  # actions, and numbers of a context
PROBLEM = Problem(n_actions=_K, epsilon=0.01, delta=0.05)


def policies(n: int = 100) -> LinearPolicies:
    """Linear policies, a fifth of which are near the first."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(n, _K, _D))
    near = max(2, n // 5)
    weights[1:near] = weights[0] + 0.3 * rng.normal(size=(near - 1, _K, _D))
    return LinearPolicies(weights)


def contexts(n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Contexts of ten numbers."""
    return rng.normal(size=(n, _D))
