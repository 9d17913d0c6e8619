"""Small random problems, play, and whether estimates are right on average."""

import numpy as np
from scipy import stats

import policysieve as ps
from tests.statistics import TINY


def random_case(seed, m=1, K=6, n_policies=9, n_contexts=5, rewarded=0.4):
    """Policies, and rewards (n_contexts, K) of that share of the items."""
    rng = np.random.default_rng(seed)
    table = rng.random((n_contexts, n_policies, K)).argsort(axis=-1)[..., :m]
    rewards = np.where(rng.random((n_contexts, K)) < rewarded, rng.random((n_contexts, K)), 0.0)
    rewards /= np.maximum(rewards.sum(axis=1, keepdims=True), 1.0)
    return ps.PolicyTable(table, n_actions=K), rewards


def play(learner, rewards, rounds, batch, seed):
    """Tell a learner that many rounds of a world that answers rewards[context]."""
    rng = np.random.default_rng(seed)
    for start in range(0, rounds, batch):
        contexts = rng.integers(0, len(rewards), min(batch, rounds - start))
        decisions = learner.ask(contexts)
        learner.tell(decisions, rewards[contexts[:, None], decisions.actions])


def uniform_log(policies, rewards, n, seed):
    """A log of n uniform rounds in the world of `play`."""
    K, m = policies.n_actions, policies.slate_size
    rng = np.random.default_rng(seed)
    contexts = rng.integers(0, len(rewards), n)
    shown = rng.random((n, K)).argsort(axis=1)[:, :m].astype(np.int32)
    return ps.Log(
        contexts=contexts,
        actions=shown,
        propensities=np.full((n, m), m / K),
        rewards=rewards[contexts[:, None], shown],
    )


def true_values(policies, rewards):
    """Exact values in the world of `play`."""
    contexts = np.arange(len(rewards))
    slates = policies.actions(contexts)
    return rewards[contexts[:, None, None], slates].sum(axis=2).mean(axis=0)


def assert_unbiased(estimates, truth):
    """Independent estimates (runs, n_policies) have this mean, by t-tests for all policies."""
    runs, n_policies = np.shape(estimates)
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(runs)
    limit = stats.t.isf(TINY / (2 * n_policies), runs - 1)
    assert (np.abs(np.mean(estimates, axis=0) - truth) <= limit * error).all()
