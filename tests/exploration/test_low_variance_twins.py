"""Low-variance exploration against the paper's algorithm, written out round by round."""

import numpy as np
import pytest
from scipy import stats

import policysieve as ps
from tests.exploration.cases import play, random_case
from tests.oracles import low_variance as oracle
from tests.oracles import sizes
from tests.statistics import TINY


@pytest.mark.parametrize("m", [1, 2, 6])
@pytest.mark.parametrize("batch", [1, 37, 1000])
def test_equals_the_naive_algorithm(m, batch):
    """p_hat, propensities and every estimate to 1e-10, whatever the batches."""
    policies, rewards = random_case(seed=m, m=m, rewarded=0.3)
    problem = ps.Problem(n_actions=6, slate_size=m, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=300, estimate_rounds=200, rng=1
    )
    play(learner, rewards, 300, batch if batch < 300 else 300, seed=2)
    play(learner, rewards, 200, batch if batch < 200 else 200, seed=3)
    assert learner.finished
    first, second = learner.log[:300], learner.log[300:]

    slates = policies.actions(first.contexts).tolist()
    p_hat, gains = oracle.phase_one(
        slates, first.actions, first.rewards, 6, m, learner.mixing, learner.learning_rate, 300
    )
    found = np.zeros(9)
    found[learner.design.support] = learner.design.shares
    np.testing.assert_allclose(found, p_hat, atol=1e-10, rtol=0)
    assert learner.design.variance_bound == pytest.approx(
        sizes.observable_variance(
            gains.max(), 6, m, 300, 9, learner.mixing, learner.plan.variance_bound, 0.1 / 2
        )
    )

    slates = policies.actions(second.contexts).tolist()
    for i in range(200):
        W = oracle.item_propensities(slates[i], p_hat, 6, m, learner.mixing)
        np.testing.assert_allclose(second.propensities[i], W[second.actions[i]], rtol=1e-10)
    totals = oracle.estimates(slates, second.actions, second.rewards, second.propensities)
    np.testing.assert_allclose(learner.intervals().values, totals / 200, rtol=1e-10, atol=1e-10)
    assert learner.recommend().policy == totals.argmax()


@pytest.mark.parametrize("sparsity", [None, 2.0, 5.0])
def test_slates_count_squares_where_a_round_may_earn_all_of_them(sparsity):
    policies, rewards = random_case(seed=2, m=2, rewarded=0.3)
    problem = ps.Problem(n_actions=6, slate_size=2, sparsity=sparsity, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=300, estimate_rounds=10, rng=1
    )
    play(learner, rewards, 300, 50, seed=2)
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    rates = learner.mixing, learner.learning_rate
    p_hat, gains = oracle.phase_one(
        slates, log.actions, log.rewards, 6, 2, *rates, 300, squares=True
    )
    found = np.zeros(9)
    found[learner.design.support] = learner.design.shares
    np.testing.assert_allclose(found, p_hat, atol=1e-10, rtol=0)
    with_rewards, _ = oracle.phase_one(slates, log.actions, log.rewards, 6, 2, *rates, 300)
    assert np.abs(with_rewards - p_hat).max() > 1e-4
    designed = ps.design(log, policies, problem, mixing=learner.mixing)
    assert designed.variance_bound >= 6 / (2 * 300) * gains.max()


def test_equals_the_naive_algorithm_when_weights_explode():
    """Long runs at a large rate: weights are rescaled many times, and nothing drifts."""
    policies, rewards = random_case(seed=5, K=3, n_policies=6, rewarded=0.3)
    shown = np.random.default_rng(0).integers(0, 3, (4000, 1))
    contexts = np.random.default_rng(1).integers(0, 5, 4000)
    log = ps.Log(
        contexts=contexts,
        actions=shown,
        propensities=np.full((4000, 1), 1 / 3),
        rewards=rewards[contexts[:, None], shown],
    )
    from policysieve.evidence import rewarded_events
    from policysieve.exploration.designs.hedge import AveragedHedge, HedgeSettings

    hedge = AveragedHedge(
        HedgeSettings(
            n_policies=6, n_actions=3, slate_size=1, mixing=0.2, learning_rate=0.5, horizon=4000
        )
    )
    for start in range(0, 4000, 700):
        hedge.add(rewarded_events(log[start : start + 700], policies))
    p_hat, gains = oracle.phase_one(
        policies.actions(contexts).tolist(), shown, log.rewards, 3, 1, 0.2, 0.5, 4000
    )
    assert 0.5 * np.ptp(gains) > 50  # the weights differ by more than e^50
    np.testing.assert_allclose(hedge.design(), p_hat, atol=1e-10, rtol=0)
    np.testing.assert_allclose(hedge.gains, gains, rtol=1e-10)


def test_paper_draws_agree_in_distribution():
    """Counts of every policy in the drawn design, event-driven against round by round."""
    policies, rewards = random_case(seed=11, K=4, n_policies=3, n_contexts=2, rewarded=0.3)
    rng = np.random.default_rng(0)
    contexts, shown = rng.integers(0, 2, 12), rng.integers(0, 4, (12, 1))
    log = ps.Log(
        contexts=contexts,
        actions=shown,
        propensities=np.full((12, 1), 0.25),
        rewards=rewards[contexts[:, None], shown],
    )
    from policysieve.evidence import rewarded_events
    from policysieve.exploration.designs.hedge import HedgeSettings, SampledHedge

    settings = HedgeSettings(
        n_policies=3, n_actions=4, slate_size=1, mixing=0.3, learning_rate=0.5, horizon=12
    )
    events = rewarded_events(log, policies)
    assert 2 <= len(events.rounds) <= 8
    slates = policies.actions(contexts).tolist()
    draws = np.random.default_rng(1)
    ours, theirs = {}, {}
    for seed in range(4000):
        hedge = SampledHedge(settings, np.random.default_rng(seed))
        hedge.add(events)
        key = tuple(np.rint(hedge.design() * 12).astype(int))
        ours[key] = ours.get(key, 0) + 1
    for _ in range(1500):
        p_hat, _ = oracle.phase_one(
            slates, shown, log.rewards, 4, 1, 0.3, 0.5, 12, draw=lambda p: draws.choice(3, p=p)
        )
        key = tuple(np.rint(p_hat * 12).astype(int))
        theirs[key] = theirs.get(key, 0) + 1
    common = [k for k in ours.keys() | theirs.keys() if ours.get(k, 0) + theirs.get(k, 0) >= 40]
    rest = [sum(d.values()) - sum(d.get(k, 0) for k in common) for d in (ours, theirs)]
    counts = [[d.get(k, 0) for k in common] for d in (ours, theirs)]
    table = np.array([[*row, extra] for row, extra in zip(counts, rest, strict=True)])
    assert len(common) >= 5
    assert stats.chi2_contingency(table).pvalue > TINY


def test_paper_draws_average_to_the_default():
    """At a tiny rate weights stay uniform, so drawn shares must be uniform too."""
    policies, rewards = random_case(seed=3, rewarded=0.3)
    problem = ps.Problem(n_actions=6, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=9000, estimate_rounds=1, sampled=True, rng=4
    )
    learner.learning_rate = 0.0
    play(learner, rewards, 9000, 500, seed=1)
    counts = np.zeros(9)
    counts[learner.design.support] = learner.design.shares * 9000
    assert counts.sum() == pytest.approx(9000)
    assert stats.chisquare(counts).pvalue > TINY
