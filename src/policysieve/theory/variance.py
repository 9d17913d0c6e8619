"""How well the design of low-variance exploration estimates every policy, before it is made."""

from math import log

import numpy as np

from policysieve.checks import integer, log_of_size, number
from policysieve.errors import InvalidArgumentError
from policysieve.problem import Problem

__all__ = ["rate_variance", "variance_bound"]


def variance_bound(
    problem: Problem,
    log_n_policies: float,
    *,
    explore_rounds: int,
    mixing: float,
    learning_rate: float,
) -> float:
    """V: what no policy's variance term exceeds, with probability 1 - delta.

    The variance term of a policy is E[sum over j in pi(x) of g(r(j))/W(x,j)] under the design that
    `explore_rounds` rounds T of phase 1 find, g(r) = r^2 for single actions and for slates with
    s >= m, else r. The formula is that of docs/maths.md, "Explicit sizes", with half of delta for
    each of its events, theta1 = learning_rate B, and the best of forty values of theta2 in (0, 2].

    Parameters
    ----------
    problem : Problem
        Its sparsity has to be known.
    log_n_policies : float
        ln|Pi|.
    explore_rounds : int
    mixing : float
        Share of uniform exploration.
    learning_rate : float
        Step of Hedge, at most 1/B = mixing m/(mu K).
    """
    K, m, mu, s = _known(problem)
    L, T, gamma = _checked(log_n_policies, explore_rounds, mixing)
    B = mu * K / (gamma * m)
    eta = number("learning_rate", learning_rate, above=0, below=1 / B * (1 + 1e-9), closed=True)
    theta1, theta2 = eta * B, np.linspace(0.05, 2, 40)
    phi, psi = np.expm1(theta1) / theta1, -np.expm1(-theta2) / theta2
    H = K / (gamma * m * T) + np.log1p((1 - gamma) * K * mu / (gamma * m * s)) / (1 - gamma)
    log_term = L + log(2 / problem.delta)
    seen = K * B / (m * T) * log_term * (1 / theta1 + 1 / theta2)
    return float(((phi * s * H + seen) / psi).min())


def rate_variance(
    problem: Problem, log_n_policies: float, *, explore_rounds: int, mixing: float
) -> float:
    """The paper's theorem on phase 1: s ln T + K^2 mu/(gamma m^2 T) l, with constant 1.

    The logarithms that its O-tilde hides are left out, so it is no guarantee; `variance_bound` is.
    """
    K, m, mu, s = _known(problem)
    L, T, gamma = _checked(log_n_policies, explore_rounds, mixing)
    return s * log(T) + K**2 * mu / (gamma * m**2 * T) * (L + log(1 / problem.delta))


def _known(problem: Problem) -> tuple[int, int, float, float]:
    if problem.sparsity is None:
        raise InvalidArgumentError(
            "problem.sparsity must be a number for a bound in advance, got None; the design's own "
            "variance_bound needs no sparsity"
        )
    unit = problem.unit
    assert unit.sparsity is not None
    return unit.n_actions, unit.slate_size, unit.reward_cap, unit.sparsity


def _checked(log_n_policies: float, explore_rounds: int, mixing: float) -> tuple[float, int, float]:
    return (
        log_of_size("log_n_policies", log_n_policies),
        integer("explore_rounds", explore_rounds, low=1),
        number("mixing", mixing, above=0, below=1),
    )
