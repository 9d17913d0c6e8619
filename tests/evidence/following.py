"""Rounds in which the leader of the moment is followed: the data choose what is seen."""

import numpy as np

import policysieve as ps
from tests.statistics import assert_at_most

MEANS = np.array([[0.9, 0.5, 0.3], [0.2, 0.5, 0.3]])  # by context and action
TABLE = np.array([[0, 1, 2, 0], [1, 1, 2, 0]])
VALUES = np.array([MEANS[[0, 1], column].mean() for column in TABLE.T])  # .7, .5, .3 and .55
LEVEL = 0.2


def looks(seed, *, honest, delta, most):
    """Evidence at looks up to so many rounds; propensities are told wrongly unless `honest`."""
    rng = np.random.default_rng(seed)
    policies = ps.PolicyTable(TABLE, n_actions=3)
    problem = ps.Problem(n_actions=3, sparsity=None, epsilon=0.1, delta=delta)
    evidence = ps.Evidence(policies, problem)
    while evidence.rounds < most:
        n = evidence.next_look - evidence.rounds
        contexts = rng.integers(0, 2, n)
        W = np.full((n, 3), 0.12)
        W[np.arange(n), TABLE[contexts, evidence.standing.leader]] += 1 - 3 * 0.12
        actions = (rng.random((n, 1)) > W.cumsum(axis=1)[:, :2]).sum(axis=1)
        rewards = rng.random(n) < MEANS[contexts, actions]
        if not honest:
            W = np.full((n, 3), 1 / 3)
        rounds = ps.Log(
            contexts=contexts,
            actions=actions,
            propensities=W[np.arange(n), actions],
            rewards=rewards,
        )
        evidence.take(rounds, policies.answers(contexts), lambda rows, W=W: W[rows])
        if n > 1 or rng.random() >= 0.5:  # half of the looks after single rounds will do
            yield evidence


def assert_covers(ever_wrong):
    """Each limit is ever wrong in at most its share of the runs, and wrong propensities show."""
    runs = 40
    wrong = sum(ever_wrong(seed, honest=True).astype(int) for seed in range(runs))
    assert wrong.max() > 0
    for failures in wrong.ravel():
        assert_at_most(failures, runs, LEVEL, alpha=1e-3)
    fooled = sum(ever_wrong(seed, honest=False).astype(int) for seed in range(10))
    try:
        assert_at_most(fooled.max(), 10, LEVEL, alpha=1e-3)
    except AssertionError:
        return
    raise AssertionError("wrong propensities do not show")
