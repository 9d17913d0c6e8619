"""What is expected more closely than by a rate, where the reason is known."""

from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from policysieve.problem import Problem

__all__ = ["rounds_of_contest"]

_SHARE = 0.95  # of the seeds that have to be right
_NODES = 200  # of the quadrature
_TOLERANCE = 1e-10


def rounds_of_contest(problem: Problem, log_n_policies: float) -> float:
    """Rounds until the best of n has the largest estimate in 95% of the seeds: d^2/epsilon^2.

    Estimates have independent normal errors of the same size, and all but the best have the same
    value. With d the advantage of the best in standard errors, it comes first with probability
    E[Phi(U + d)^(n-1)] for a standard normal U; errors fall with the square root of the rounds.
    Rates have ln(n/delta) in place of d^2.
    """
    rivals = exp(log_n_policies) - 1
    low, high = 0.0, 2.0 + 2 * sqrt(2 * log_n_policies + 10)
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        if _chance_of_first(middle, rivals) < _SHARE:
            low = middle
        else:
            high = middle
    return (high / problem.epsilon) ** 2


def _chance_of_first(advantage: float, rivals: float) -> float:
    from scipy.special import log_ndtr

    nodes, weights = _normal_quadrature()
    return float(weights @ np.exp(rivals * log_ndtr(nodes + advantage)))


def _normal_quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    nodes = np.linspace(-8, 8, _NODES)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()
