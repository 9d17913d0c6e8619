"""Exploration by optimization and EXP4, one round at a time. Plain numpy, nothing of ours."""

import math

import numpy as np


def marginal(actions, weights, K):
    w = np.zeros(K)
    for action, weight in zip(actions, weights, strict=True):
        w[action] += weight
    return w


def closed_form(w, G):
    """kappa and q on the support of w, by the textbook root and a sum over the support."""
    support = np.flatnonzero(w)
    q = np.zeros(len(w))
    if len(support) == 1:
        q[support] = 1.0
        return 0.0, q
    n = len(support)
    b, c = G - n + 2, float((w * (1 - w)).sum())
    kappa = (-b + math.sqrt(b * b + 4 * n * c)) / (2 * n)
    q[support] = (w[support] + kappa) * (1 - w[support] - kappa) / (kappa * G)
    return kappa, q


def by_optimization(table, contexts, shown, rewards, K, G):
    """Weights before each round, propensities of what was shown, and kappa, round by round."""
    log_w = np.zeros(table.shape[1])
    history, propensities, kappas = [], [], []
    for x, a, r in zip(contexts, shown, rewards, strict=True):
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        history.append(weights)
        w = marginal(table[x], weights, K)
        kappa, q = closed_form(w, G)
        kappas.append(kappa)
        propensities.append(q[a])
        if r == 1 and kappa > 0:
            xi = math.log((w[a] + kappa) * (1 - w[a]) / (w[a] * (1 - w[a] - kappa)))
            log_w[table[x] == a] += xi
    return np.array(history), np.array(propensities), np.array(kappas)


def by_optimization_real(table, contexts, shown, rewards, K, G):
    """The same for rewards in [0, 1]."""
    log_w = np.zeros(table.shape[1])
    history, propensities, values = [], [], []
    for x, a, r in zip(contexts, shown, rewards, strict=True):
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        history.append(weights)
        w = marginal(table[x], weights, K)
        n = np.count_nonzero(w)
        q = np.where(w > 0, 1 / G + (1 - n / G) * w, 0.0)
        values.append(1 / (G - n))
        propensities.append(q[a])
        log_w[table[x] == a] -= math.log(1 - r / (G * q[a]))
    return np.array(history), np.array(propensities), np.array(values)


def average_bounds(objectives, G, K, n_policies, delta, s, T, estimation=None):
    """Bounds on the gap of the average policy after 1, 2, ... rounds, from Gamma of each.

    `estimation` is what the weights can have learnt, by default ln(|Pi|/(0.95 delta)).
    """
    objectives = np.asarray(objectives)
    n = np.arange(1, len(objectives) + 1).reshape(-1, *[1] * (objectives.ndim - 1))
    largest = s / (G - K + 2)
    if estimation is None:
        estimation = math.log(n_policies / (0.95 * delta))
    seen = np.cumsum(objectives, axis=0) / n
    slack = largest * math.sqrt(math.log(20 / delta) / (8 * T)) * (1 + T / n)
    return np.minimum(largest, seen + slack) + G * estimation / n


def gaps_of_averages(chances, G, T, runs, rng):
    """Arms that are right with these chances, one of them in each round; shape (T, runs) each.

    Gap of the average policy after each round, and kappa in it.
    """
    chances, K = np.asarray(chances), len(chances)
    log_w, lost = np.zeros((runs, K)), np.zeros(runs)
    gaps, kappas = np.empty((2, T, runs))
    for t in range(T):
        w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
        w /= w.sum(axis=1, keepdims=True)
        lost += chances.max() - w @ chances
        gaps[t] = lost / (t + 1)
        b, spread = G - K + 2, (w * (1 - w)).sum(axis=1)
        kappas[t] = 2 * spread / (b + np.sqrt(b * b + 4 * K * spread))
        kappa = kappas[t][:, None]
        q = (w + kappa) * (1 - w - kappa) / (kappa * G)
        shown = (q.cumsum(axis=1) < q.sum(axis=1, keepdims=True) * rng.random((runs, 1))).sum(1)
        rewarded = rng.random(runs) < chances[shown]
        at, a = np.flatnonzero(rewarded), shown[rewarded]
        old, step = w[at, a], kappas[t][at]
        log_w[at, a] += np.log((old + step) * (1 - old) / (old * (1 - old - step)))
    return gaps, kappas


def exp4(table, contexts, shown, rewards, K, mixing, rate):
    """Weights before each round and propensities of what was shown."""
    log_w = np.zeros(table.shape[1])
    history, propensities = [], []
    for x, a, r in zip(contexts, shown, rewards, strict=True):
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        history.append(weights)
        q = (1 - mixing) * marginal(table[x], weights, K) + mixing / K
        propensities.append(q[a])
        log_w[table[x] == a] += rate * r / q[a]
    return np.array(history), np.array(propensities)
