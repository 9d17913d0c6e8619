"""Logs that are healthy, and ways in which logs break."""

import numpy as np

import policysieve as ps


def drawn(rng, shares):
    """An action for each row of probabilities."""
    return (shares.cumsum(axis=1) < rng.random((len(shares), 1))).sum(axis=1)


def uniform(rng, n=1500, K=6):
    shares = np.full((n, K), 1 / K)
    return rng.integers(0, 30, n), shares, drawn(rng, shares)


def two_arms(rng, n=1500):
    shares = np.tile([0.85, 0.1, 0.05], (n, 1))
    return rng.normal(size=(n, 2)), shares, drawn(rng, shares)


def follower(rng, n=3000, K=6):
    """Follows one policy, with a share of uniform actions."""
    contexts, best = rng.integers(0, 30, n), rng.integers(0, K, 30)
    shares = np.full((n, K), 0.3 / K)
    shares[np.arange(n), best[contexts]] += 0.7
    return contexts, shares, drawn(rng, shares)


def softmax(rng, n=1500, K=5):
    contexts = rng.normal(size=(n, 3))
    shares = np.exp(contexts @ rng.normal(size=(3, K)))
    shares /= shares.sum(axis=1, keepdims=True)
    return contexts, shares, drawn(rng, shares)


def adaptive(rng, n=600, K=4):
    """Greedy on what was earned so far, with less and less uniform exploration."""
    shares, actions = np.empty((n, K)), np.empty(n, dtype=int)
    pulls, earned, means = np.ones(K), np.zeros(K), 0.5 * rng.random(K)
    for t in range(n):
        mixing = max(0.1, min(1.0, 40 / (t + 1)))
        shares[t] = mixing / K
        shares[t, (earned / pulls).argmax()] += 1 - mixing
        actions[t] = rng.choice(K, p=shares[t])
        pulls[actions[t]] += 1
        earned[actions[t]] += rng.random() < means[actions[t]]
    return np.zeros(n, dtype=int), shares, actions


HEALTHY = (uniform, two_arms, follower, softmax, adaptive)


def log_of(contexts, actions, propensities):
    """A log with every tenth round rewarded."""
    rewards = np.zeros(np.shape(actions))
    rewards[::10] = 1
    return ps.Log(contexts=contexts, actions=actions, propensities=propensities, rewards=rewards)


def shown(shares, actions):
    return shares[np.arange(len(actions)), actions]


def too_small(rng, contexts, shares, actions):
    return contexts, actions, 0.8 * shown(shares, actions)


def too_large(rng, contexts, shares, actions):
    return contexts, actions, np.minimum(1.25 * shown(shares, actions), 1)


def of_the_greedy_action(rng, contexts, shares, actions):
    return contexts, actions, shares.max(axis=1)


def not_normalised(rng, contexts, shares, actions):
    factors = np.linspace(1, 1.6, shares.shape[1])
    return contexts, actions, np.minimum(factors[actions] * shown(shares, actions), 1)


def partly_deterministic(rng, contexts, shares, actions):
    certain = rng.random(len(actions)) < 0.1
    actions = np.where(certain, shares.argmax(axis=1), actions)
    return contexts, actions, np.where(certain, 1.0, shown(shares, actions))


def filtered(rng, contexts, shares, actions):
    """Two thirds of one action's rounds show another one instead."""
    gone = (actions == 1) & (rng.random(len(actions)) < 2 / 3)
    actions = np.where(gone, 0, actions)
    return contexts, actions, shown(shares, actions)


def of_other_rounds(rng, contexts, shares, actions):
    return contexts, actions, np.roll(shown(shares, actions), 1)


def clipped_to_tiny(rng, contexts, shares, actions):
    propensities = shown(shares, actions)
    propensities[rng.integers(0, len(actions), 3)] = 1e-9
    return contexts, actions, propensities


BROKEN = (
    (uniform, too_small),
    (uniform, too_large),
    (uniform, not_normalised),
    (uniform, partly_deterministic),
    (uniform, filtered),
    (uniform, clipped_to_tiny),
    (two_arms, too_small),
    (two_arms, too_large),
    (two_arms, filtered),
    (two_arms, of_the_greedy_action),
    (two_arms, of_other_rounds),
    (follower, too_small),
    (follower, too_large),
    (follower, of_the_greedy_action),
    (follower, partly_deterministic),
    (follower, filtered),
    (follower, of_other_rounds),
    (follower, clipped_to_tiny),
    (softmax, of_the_greedy_action),
    (softmax, partly_deterministic),
    (softmax, clipped_to_tiny),
)
