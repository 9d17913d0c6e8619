"""How many rounds each method takes, and any method at least (docs/maths.md, "Explicit sizes")."""

from math import atanh, ceil, exp, inf, log, log1p, sqrt

import numpy as np

from policysieve.errors import InvalidArgumentError
from policysieve.problem import Problem

__all__ = [
    "CONTEXT_SHARE",
    "LEAST_PRICE",
    "by_optimization_rounds",
    "estimation_rounds",
    "hidden_arm_bound",
    "information_limit",
    "information_price",
    "low_variance_sizes",
    "lower_bound",
    "rare_context_bound",
    "uniform_rounds",
]

CONTEXT_SHARE = 0.05  # of delta: that the contexts seen by exploration by optimization mislead
LEAST_PRICE = 1.2  # times the number of actions: the least price of information


def uniform_rounds(problem: Problem, log_size: float) -> int:
    """Rounds for uniform exploration: V = K mu / m, range K mu / m, all of delta for Bernstein.

    If only a share of the rounds explores, no propensity is below the share of m/K, so V and the
    range are larger by one over the share at most.
    """
    most = problem.n_actions * problem.reward_cap / (problem.slate_size * problem.traffic)
    second_moment = problem.reward_cap * most
    return _bernstein_rounds(problem, second_moment, most, log_size - log(problem.delta))


def estimation_rounds(problem: Problem, variance: float, largest: float, log_term: float) -> int:
    """Rounds of phase 2 for a design with variance term `variance` and estimates up to `largest`.

    For slates E R^2 <= mu V by Cauchy-Schwarz, whether the term weighs r or, where mu = m, r^2; for
    single actions E R^2 = V, because it always weighs r^2 then.
    """
    factor = problem.reward_cap if problem.slate_size > 1 else 1.0
    return _bernstein_rounds(problem, factor * variance, largest, log_term)


def _bernstein_rounds(
    problem: Problem, second_moment: float, largest: float, log_term: float
) -> int:
    """One-sided Bernstein for R(best) - R(pi), whose second moment is at most twice R's."""
    eps = problem.epsilon
    return _counted(
        (4 * second_moment / eps / eps + 2 * largest / 3 / eps + 2 / 3) * log_term, problem
    )


def _counted(rounds: float, problem: Problem) -> int:
    """Whole rounds, or raise if they are too many for a float."""
    if not rounds < inf:
        raise InvalidArgumentError(
            f"epsilon and the number of policies must be such that their rounds can be counted: "
            f"epsilon {problem.epsilon:g} takes more than 10^308 of them here; ask for a larger "
            "epsilon, or choose among fewer policies"
        )
    return ceil(rounds)


def low_variance_sizes(
    problem: Problem, log_size: float, sampled: bool
) -> tuple[int, int, float, float, float]:
    """Minimise T + n over mixing and the free constants theta, on a grid.

    V = A + C / T, and T = sqrt(4 mu C ln(|Pi|/delta')) / eps minimises the sum.
    """
    K, m, mu = problem.n_actions, problem.slate_size, problem.reward_cap
    s = mu if problem.sparsity is None else problem.sparsity
    parts = 4 if sampled else 3
    log_delta = log(parts) - log(problem.delta)  # delta in equal parts
    log_term = log_size + log_delta

    coarse = 2 if sampled else 1  # theta3 adds an axis, so the others are thinned
    gamma, theta1, theta2, theta3 = np.ix_(
        np.linspace(0.02, 0.98, 97)[::coarse],
        np.linspace(0.05, 1, 39)[::coarse],
        np.linspace(0.05, 2, 40)[::coarse],
        np.geomspace(0.02, 1, 20) if sampled else np.ones(1),
    )
    B = mu * K / (gamma * m)
    phi, psi = np.expm1(theta1) / theta1, -np.expm1(-theta2) / theta2
    fixed = s * np.log1p((1 - gamma) * K * mu / (gamma * m * s)) / (1 - gamma)
    falling = s * K / (gamma * m)
    if sampled:
        psi3 = -np.expm1(-theta3) / theta3
        falling = (falling + mu * K * log_delta / (gamma * m * theta3)) / psi3
        fixed = fixed / psi3
    A = phi / psi * fixed
    factor = mu if m > 1 else 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # too many rounds are refused below
        C = phi / psi * falling + K * B / (m * psi) * log_term * (1 / theta1 + 1 / theta2)
        T = np.sqrt(4 * factor * C * log_term) / problem.epsilon
        n = 4 * factor * (A + C / T) / problem.epsilon / problem.epsilon
        n = (n + 2 * B / 3 / problem.epsilon) * log_term
        best = np.unravel_index((T + n).argmin(), T.shape)

    explore = _counted(float(T[best]), problem)
    variance = float(A[best] + C[best] / explore)
    largest = float(B[best[0], 0, 0, 0])
    estimate = estimation_rounds(problem, variance, largest, log_term)
    rate = float(theta1[0, best[1], 0, 0]) / largest
    return explore, estimate, float(gamma[best[0], 0, 0, 0]), rate, variance


def by_optimization_rounds(problem: Problem, log_size: float, *, binary: bool = True) -> int | None:
    """Smallest T with s/(G - K + 2) + G l/T <= eps at the best G, l = `information_limit`.

    For rewards that are not 0 or 1, the first term is s/(G - K).
    """
    s = problem.sparsity
    if problem.slate_size > 1 or s is None:
        return None
    log_term = information_limit(problem, log_size)

    def gap(rounds: int) -> float:
        price = information_price(problem.n_actions, s, rounds, log_term)
        room = price - problem.n_actions + (2 if binary else 0)
        return s / room + price * log_term / rounds

    high = 1
    while gap(high) > problem.epsilon:
        high *= 2
        _counted(inf if high >> 1000 else high, problem)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gap(middle) <= problem.epsilon else (middle, high)
    return high


def information_limit(problem: Problem, log_size: float) -> float:
    """How much exploration by optimization can ever learn: l = ln(|Pi|/(0.95 delta)).

    The rest of delta is for the contexts, so that promise and run-time bound are one event.
    """
    return log_size - log(1 - CONTEXT_SHARE) - log(problem.delta)


def information_price(n_actions: int, sparsity: float, rounds: int, log_term: float) -> float:
    """The best G for T rounds, K - 2 + sqrt(s T / l), and at least 1.2 K.

    docs/maths.md, "Exploration by optimization".
    """
    return max(LEAST_PRICE * n_actions, n_actions - 2 + sqrt(sparsity * rounds / log_term))


def lower_bound(problem: Problem, log_size: float) -> int:
    """The larger of the two lower bounds (docs/maths.md, "Lower bounds"), as whole rounds."""
    bounds = rare_context_bound(problem, log_size), hidden_arm_bound(problem, log_size)
    return max(1, *(_counted(bound, problem) for bound in bounds))


def rare_context_bound(problem: Problem, log_size: float) -> float:
    """K/(m eps) term: finding one good slate among K/m at a context of probability 2 eps.

    Below sparsity 1 the hidden reward is s, and the context has probability 2 eps/s.
    """
    reward = 1.0 if problem.sparsity is None else min(problem.sparsity, 1.0)
    if 2 * problem.epsilon >= reward:
        return 0.0
    slates = min(problem.n_actions // problem.slate_size, exp(min(log_size, 40.0)))
    return ((1 - problem.delta) * slates - 1) * reward / (2 * problem.epsilon)


def hidden_arm_bound(problem: Problem, log_size: float) -> float:
    """S mu / eps^2 term: telling biased coins from fair ones; 0 where the instance does not fit."""
    m, eps, delta = problem.slate_size, problem.epsilon, problem.delta
    s = int(problem.reward_cap if problem.sparsity is None else problem.sparsity)
    if m == 1 and s >= 2:
        arms = int(min(s, exp(min(log_size, 40.0))))
        return _best_of_arms(arms, 2 * eps, 1 - delta)
    if m == 1 and s == 1 and problem.n_actions >= 2 and log_size >= log(2) and eps < 0.5:
        # Bretagnolle-Huber for label probabilities 1/2 +- eps against 1/2 -+ eps.
        return -log(4 * delta) / (2 * eps) / (2 * atanh(2 * eps))
    if 2 * m <= s and log_size >= m * log(s // m):
        return _best_of_arms(s // m, 4 * eps / m, 0.75 * (1 - delta))
    if m >= s >= 1 and problem.n_actions >= m + s and log_size >= s * log(2) and 4 * eps < s:
        bias = 2 * eps / s
        return 2 * max(0.0, 0.5 - 1.5 * delta) ** 2 / (2 * bias) / (2 * atanh(2 * bias))
    return 0.0


def _best_of_arms(arms: int, bias: float, success: float) -> float:
    """Pinsker's bound for finding the one coin of bias 1/2 + `bias` with probability `success`."""
    if bias >= 0.5 or arms < 2:
        return 0.0
    divergence = -0.5 * log1p(-4 * bias**2)
    return 2 * arms * max(0.0, success - 1 / arms) ** 2 / divergence if divergence else inf
