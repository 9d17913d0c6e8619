"""Betting on the leader, round by round. Plain numpy, nothing of ours."""

import numpy as np


def rewards_of(slates, shown, propensities, rewards):
    """R[i, p] for every round and policy."""
    out = np.zeros((len(shown), len(slates[0])))
    for i in range(len(shown)):
        for p in range(len(slates[0])):
            for item, w, r in zip(shown[i], propensities[i], rewards[i], strict=True):
                if item in slates[i][p]:
                    out[i, p] += r / w
    return out


def shares_of(n_stakes):
    """Of the capital: half on the boldest stake, the others alike."""
    return [0.5 / (n_stakes - 1)] * (n_stakes - 1) + [0.5]


def log_wealth(R, leader, stakes, ranges, epsilon, shares=None):
    """ln sum_g shares_g prod_i (1 + stake_g / range[i, p] * (Z_i + epsilon)) for every policy p.

    By default the stakes have equal shares.
    """
    Z = R[:, [leader]] - R + epsilon
    out = np.empty(R.shape[1])
    for p in range(R.shape[1]):
        wealth = [np.prod(1 + stake / ranges[:, p] * Z[:, p]) for stake in stakes]
        out[p] = np.log(np.average(wealth, weights=shares))
    return out


def log_wealth_of_difference(R, first, second, stakes, ranges, difference, shares):
    """Of bets that first - second is larger than a difference; for gains stakes shrink."""
    wealth = []
    for stake in stakes:
        product = 1.0
        for i in range(len(R)):
            bet = stake / ranges[i]
            if difference > 0:
                bet /= 1 + bet * difference / 0.99
            product *= 1 + bet * (R[i, first] - R[i, second] - difference)
        wealth.append(product)
    return np.log(np.average(wealth, weights=shares))
