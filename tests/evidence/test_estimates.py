import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import Estimates, rewarded_events
from tests.oracles.naive import importance_weighted


def sparse_log(n, K, m, n_contexts, seed):
    rng = np.random.default_rng(seed)
    rewards = np.where(rng.random((n, m)) < 0.1, rng.random((n, m)), 0.0)
    return ps.Log(
        contexts=rng.integers(0, n_contexts, n),
        actions=rng.random((n, K)).argsort(axis=1)[:, :m],
        propensities=rng.uniform(0.05, 1, (n, m)),
        rewards=rewards,
    )


@pytest.fixture(params=[1, 2])
def case(request):
    m = request.param
    keys = np.random.default_rng(0).random((7, 5, 6))
    policies = ps.PolicyTable(keys.argsort(axis=-1)[..., :m], n_actions=6)
    return policies, sparse_log(300, 6, m, 7, seed=1)


def naive(policies, log):
    slates = policies.actions(log.contexts).tolist()
    return importance_weighted(slates, log.actions, log.propensities, log.rewards)


def test_values_and_variances(case):
    policies, log = case
    estimates = Estimates(5)
    estimates = estimates.plus(rewarded_events(log, policies))
    samples = naive(policies, log)
    np.testing.assert_allclose(estimates.values, samples.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(estimates.variances, samples.var(axis=0, ddof=1), rtol=1e-10)


def test_parts_add_up(case):
    policies, log = case
    whole, left, right = Estimates(5), Estimates(5), Estimates(5)
    whole = whole.plus(rewarded_events(log, policies))
    left = left.plus(rewarded_events(log[:120], policies))
    right = right.plus(rewarded_events(log[120:], policies))
    left = left.merge(right)
    assert left.rounds == whole.rounds
    np.testing.assert_allclose(left.values, whole.values, rtol=1e-12)
    np.testing.assert_allclose(left.variances, whole.variances, rtol=1e-10)
    with pytest.raises(ps.InvalidArgumentError, match="do not add up"):
        left.merge(Estimates(4))


def test_only_rewarded_rounds_consult_the_class():
    asked = []

    def spy(contexts):
        asked.extend(contexts.tolist())
        return contexts % 3

    log = ps.Log(
        contexts=[0, 1, 2, 3],
        actions=[0, 1, 2, 0],
        propensities=[1 / 3] * 4,
        rewards=[0, 1, 0, 0.5],
    )
    estimates = Estimates(1)
    estimates = estimates.plus(rewarded_events(log, ps.FunctionPolicies([spy], n_actions=3)))
    assert asked == [1, 3]
    assert estimates.values.tolist() == [(3 + 1.5) / 4]


def test_nothing_seen():
    estimates = Estimates(2)
    assert np.isnan(estimates.values).all()
    assert np.isnan(estimates.variances).all()
    intervals = estimates.fixed_size_intervals(reward_cap=1.0, largest=5.0, delta=0.1)
    assert (intervals.lower.tolist(), intervals.upper.tolist()) == ([0, 0], [1, 1])
    policy, value, lower, upper, bound = intervals.about(None)
    assert np.isnan(value)
    assert (policy, lower, upper, bound) == (0, 0.0, 1.0, 1.0)


def test_unbiased_by_enumeration():
    """Averaged over every slate, one round's estimate is the policy's reward exactly."""
    from itertools import combinations

    K, m = 5, 2
    reward = np.array([0.0, 1.0, 0.3, 0.0, 0.7])
    policies = ps.PolicyTable([list(combinations(range(K), m))], n_actions=K)
    estimates = Estimates(policies.n_policies)
    for slate in combinations(range(K), m):
        log = ps.Log(
            contexts=[0],
            actions=[slate],
            propensities=[[m / K] * m],
            rewards=[reward[list(slate)]],
        )
        estimates = estimates.plus(rewarded_events(log, policies))
    expected = [reward[list(slate)].sum() for slate in combinations(range(K), m)]
    np.testing.assert_allclose(estimates.values, expected, rtol=1e-12)


def test_a_log_that_does_not_fit_the_class(case):
    policies, log = case
    with pytest.raises(ps.InvalidArgumentError, match="agree on the slate size"):
        rewarded_events(sparse_log(9, 6, 3, 7, 0), policies)
    foreign = ps.Log(
        contexts=[0],
        actions=[[7, 8][: log.slate_size]],
        propensities=[[0.5] * log.slate_size],
        rewards=[[1.0] * log.slate_size],
    )
    with pytest.raises(ps.InvalidArgumentError, match=r"lie in \[0, 5\], got .* in row 0"):
        rewarded_events(foreign, policies)
