"""The formulas of the sample sizes, written out one by one. Plain Python."""

from math import ceil, exp, log, sqrt


def phi(z):
    return (exp(z) - 1) / z


def psi(z):
    return (1 - exp(-z)) / z


def variance_bound(K, m, s, n_policies, T, gamma, theta1, theta2, theta3, delta):
    """V for T rounds of phase 1; each of the events fails with probability delta."""
    mu = min(s, m)
    B = mu * K / (gamma * m)
    H = K / (gamma * m * T) + log(1 + (1 - gamma) * K * mu / (gamma * m * s)) / (1 - gamma)
    reward = s * H
    if theta3 is not None:  # one draw per round
        reward = (reward + mu * K * log(1 / delta) / (gamma * m * T * theta3)) / psi(theta3)
    L = log(n_policies)
    regret = (L + log(1 / delta)) / theta1 + (L + log(1 / delta)) / theta2
    return phi(theta1) / psi(theta2) * reward + K * B / (m * T * psi(theta2)) * regret


def estimation_rounds(m, mu, eps, variance, largest, log_term):
    """Bernstein for the difference of two policies; E R^2 <= mu V for slates, = V for m = 1."""
    second_moment = variance * (mu if m > 1 else 1)
    return ceil((4 * second_moment / eps**2 + 2 * largest / (3 * eps) + 2 / 3) * log_term)


def by_optimization_gap(K, s, n_policies, delta, T):
    """Suboptimality promised after T rounds of exploration by optimization, at the best price.

    A twentieth of delta is kept for the contexts.
    """
    log_term = log(n_policies / (0.95 * delta))
    prices = [1.2 * K + 0.01 * k * K for k in range(20_000)]
    return min(s / (G - K + 2) + G * log_term / T for G in prices)


def observable_variance(gain, K, m, T, n_policies, gamma, expected, delta):
    """Bound on V(pi) from sum_t u_t(pi) = gain for rewards with min(s, m) = 1."""
    B = K / (gamma * m)
    log_term = log(n_policies / delta)
    theta = min(2.0, sqrt(2 * B * log_term * K / (m * T * expected)))
    return K / (m * T * psi(theta)) * (gain + B / theta * log_term)
