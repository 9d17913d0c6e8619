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


def log_wealth(R, leader, stakes, ranges, epsilon):
    """ln mean_g prod_i (1 + stake_g / range[i, p] * (Z_i + epsilon)) for every policy p."""
    Z = R[:, [leader]] - R + epsilon
    out = np.empty(R.shape[1])
    for p in range(R.shape[1]):
        wealth = [np.prod(1 + stake / ranges[:, p] * Z[:, p]) for stake in stakes]
        out[p] = np.log(np.mean(wealth))
    return out
