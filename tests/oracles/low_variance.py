"""The paper's Algorithms 2 and 3, round by round. Plain numpy, nothing of ours.

slates[t][p] is the slate of policy p at the context of round t; gain(r) is r^2 for single actions,
and for slates if `squares` says so, else r.
"""

import numpy as np


def gain(reward, squares):
    return reward**2 if squares else reward


def phase_one(
    slates, shown, rewards, K, m, gamma, eta, T, importance=None, draw=None, squares=False
):
    """Return the design p_hat and sum_t u_t(pi), visiting every one of the T rounds.

    importance[t][k] rescales item k of round t when data was not uniform. draw(p) samples a policy
    from weights p; None averages over the draw instead.
    """
    P = len(slates[0])
    log_w = np.zeros(P)
    count = np.zeros(P)  # sum over rounds of p_s, or of the drawn indicators
    total = np.zeros(P)
    for t in range(T):
        p = np.exp(log_w - log_w.max())
        p /= p.sum()
        u = np.zeros(P)
        for k, item in enumerate(shown[t]):
            shows = np.array([item in slates[t][q] for q in range(P)])
            scale = 1.0 if importance is None else importance[t][k]
            c = count[shows].sum()
            g = gain(rewards[t][k], squares or m == 1)
            u += shows * g * scale / (gamma * m / K + (1 - gamma) * c / T)
        if draw is None:
            count += p
        else:
            count[draw(p)] += 1
        log_w += eta * u
        total += u
    return count / T, total


def item_propensities(slates_here, p_hat, K, m, gamma):
    """W(x, j) for all items j at one context."""
    Q = np.zeros(K)
    for q, slate in enumerate(slates_here):
        for item in slate:
            Q[item] += p_hat[q]
    return gamma * m / K + (1 - gamma) * Q


def estimates(slates, shown, rewards, propensities):
    """sum_i R_i(pi) over the rounds of phase 2."""
    P = len(slates[0])
    total = np.zeros(P)
    for i in range(len(shown)):
        for q in range(P):
            for k, item in enumerate(shown[i]):
                if item in slates[i][q]:
                    total[q] += rewards[i][k] / propensities[i][k]
    return total
