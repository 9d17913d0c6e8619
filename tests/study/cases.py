"""Small classes, problems and worlds for studies."""

import numpy as np

import policysieve as ps

N, K, D = 12, 5, 4
PROBLEM = ps.Problem(n_actions=K, epsilon=0.1, delta=0.05)
WEIGHTS = np.random.default_rng(7).normal(size=(N, K, D))


def linear(n=N):
    return ps.LinearPolicies(WEIGHTS[:n])


def contexts(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, D))


def best_actions(x):
    return (x @ WEIGHTS[3].T).argmax(axis=1)


def rewards_of(decisions):
    """What policy 3 would show earns 1, for ever the same."""
    return (decisions.actions[:, 0] == best_actions(decisions.contexts)).astype(float)


def play(study, n_batches, size, seed=0, start=0):
    """Ask and tell batches of a fixed stream of contexts."""
    for number in range(start, start + n_batches):
        decisions = study.ask(contexts(size, seed=1000 * seed + number))
        study.tell(decisions.ids, rewards_of(decisions))


def same_bits(one, two):
    """Whether two studies decided the same, and know the same."""
    logs = one.log(), two.log()
    assert logs[0] == logs[1]
    assert one.recommend().to_dict() == two.recommend().to_dict()
    assert one.exploration.same_as(two.exploration)
    mine, theirs = one.intervals(), two.intervals()
    for name in ("values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    return True
