import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import Estimates, empirical_bernstein
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
    estimates.add(policies, log)
    samples = naive(policies, log)
    np.testing.assert_allclose(estimates.values, samples.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(estimates.variances, samples.var(axis=0, ddof=1), rtol=1e-10)


def test_parts_add_up(case):
    policies, log = case
    whole, left, right = Estimates(5), Estimates(5), Estimates(5)
    whole.add(policies, log)
    left.add(policies, log[:120])
    right.add(policies, log[120:])
    left.merge(right)
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
    estimates.add(ps.FunctionPolicies([spy], n_actions=3), log)
    assert asked == [1, 3]
    assert estimates.values.tolist() == [(3 + 1.5) / 4]


def test_nothing_seen():
    estimates = Estimates(2)
    assert np.isnan(estimates.values).all()
    assert np.isnan(estimates.variances).all()
    intervals = empirical_bernstein(estimates, reward_cap=1.0, largest=5.0, delta=0.1)
    assert (intervals.lower.tolist(), intervals.upper.tolist()) == ([0, 0], [1, 1])
    assert (intervals.leader, intervals.suboptimality_bound()) == (0, 1.0)


def test_unbiased_by_enumeration():
    """Averaged over every slate, one round's estimate is the policy's reward exactly."""
    from itertools import combinations

    K, m = 5, 2
    reward = np.array([0.0, 1.0, 0.3, 0.0, 0.7])
    policies = ps.PolicyTable([list(combinations(range(K), m))], n_actions=K)
    estimates = Estimates(policies.n_policies)
    for slate in combinations(range(K), m):
        estimates.add(
            policies,
            ps.Log(
                contexts=[0],
                actions=[slate],
                propensities=[[m / K] * m],
                rewards=[reward[list(slate)]],
            ),
        )
    expected = [reward[list(slate)].sum() for slate in combinations(range(K), m)]
    np.testing.assert_allclose(estimates.values, expected, rtol=1e-12)
