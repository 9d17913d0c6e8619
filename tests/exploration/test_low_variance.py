"""Low-variance exploration against the paper's algorithm, written out round by round."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import policysieve as ps
from tests.contracts.explorer_contract import ExplorerContract
from tests.oracles import low_variance as oracle
from tests.oracles import sizes
from tests.oracles.naive import importance_weighted
from tests.statistics import TINY, assert_at_most


class TestPaperDraws(ExplorerContract):
    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(policies, problem, sampled=True, rng=seed)


class TestSecondPhase(ExplorerContract):
    """The same contract with a first phase so short that the tests reach the second."""

    sampled = False

    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(
            policies,
            problem,
            explore_rounds=30,
            estimate_rounds=10**6,
            sampled=self.sampled,
            rng=seed,
        )

    def estimation_log(self, learner):
        return learner.log[100:]  # the first batch of a hundred is uniform, thirty of it phase 1

    def test_reaches_the_second_phase(self, m):
        learner = self.learner(m)
        decisions = learner.ask(self.contexts(60))
        assert learner.design is None
        learner.tell(decisions, self.rewards(decisions))
        assert learner.design is not None
        later = learner.ask(self.contexts(50))
        assert len(np.unique(later.propensities)) > 1


class TestSecondPhaseOfPaperDraws(TestSecondPhase):
    sampled = True


class TestUntilCertified(ExplorerContract):
    """The same contract for one that ends when epsilon is certified, in its second phase, too."""

    def make(self, policies, problem, seed):
        return ps.LowVarianceExploration(
            policies, problem, explore_rounds=150, stop="certified", rng=seed
        )


def random_case(seed, m=1, K=6, n_policies=9, n_contexts=5):
    rng = np.random.default_rng(seed)
    table = rng.random((n_contexts, n_policies, K)).argsort(axis=-1)[..., :m]
    rewards = np.where(rng.random((n_contexts, K)) < 0.3, rng.random((n_contexts, K)), 0.0)
    rewards /= np.maximum(rewards.sum(axis=1, keepdims=True), 1.0)
    return ps.PolicyTable(table, n_actions=K), rewards


def play(learner, rewards, rounds, batch, seed):
    rng = np.random.default_rng(seed)
    for start in range(0, rounds, batch):
        contexts = rng.integers(0, len(rewards), min(batch, rounds - start))
        decisions = learner.ask(contexts)
        learner.tell(decisions, rewards[contexts[:, None], decisions.actions])


@pytest.mark.parametrize("m", [1, 2, 6])
@pytest.mark.parametrize("batch", [1, 37, 1000])
def test_equals_the_naive_algorithm(m, batch):
    """p_hat, propensities and every estimate to 1e-10, whatever the batches."""
    policies, rewards = random_case(seed=m, m=m)
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
    policies, rewards = random_case(seed=2, m=2)
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


def test_squares_bound_what_a_slate_can_vary():
    """E R^2 <= m E sum r^2/W, and r for r^2 with min(s, m) for m; over all slates."""
    rng = np.random.default_rng(0)
    tight = 0.0
    for trial in range(200):
        m = 2 + trial % 2
        slates = list(combinations(range(5), m))
        chance = rng.dirichlet(np.full(len(slates), 0.5))
        W = np.array(
            [sum(c for c, a in zip(chance, slates, strict=True) if j in a) for j in range(5)]
        )
        r = rng.random(5) if trial % 3 else np.full(5, rng.random())
        chosen = slates[rng.integers(len(slates))]
        totals = [sum(r[j] / W[j] for j in a if j in chosen) for a in slates]
        second = chance @ np.square(totals)
        by_squares = m * sum(r[j] ** 2 / W[j] for j in chosen)
        by_rewards = min(r.sum(), m) * sum(r[j] / W[j] for j in chosen)
        assert second <= min(by_squares, by_rewards) * (1 + 1e-9)
        tight = max(tight, second / by_squares)
    assert tight > 0.8


def test_small_rewards_need_fewer_rounds_of_phase_two():
    """Rewards of a fifth: with squares the variance is a fifth, in the limit of many rounds."""
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=20, n_policies=10, profile="close", slate_size=2, sparsity=2
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = ps.Problem(n_actions=8, slate_size=2, sparsity=None, epsilon=0.1, delta=0.1)
    bounds = []
    for level in (1.0, 0.2):
        draw = world.draw(20_000, np.random.default_rng(0))
        actions = np.random.default_rng(1).permuted(np.tile(np.arange(8), (20_000, 1)), axis=1)
        log = ps.Log(
            contexts=draw.contexts,
            actions=actions[:, :2],
            propensities=np.full((20_000, 2), 0.25),
            rewards=level * draw.rewards(actions[:, :2].astype(np.int32)),
        )
        bounds.append(ps.design(log, policies, problem, mixing=0.5).variance_bound)
    assert 0.04 < bounds[1] / bounds[0] < 0.2


def test_equals_the_naive_algorithm_when_weights_explode():
    """Long runs at a large rate: weights are rescaled many times, and nothing drifts."""
    policies, rewards = random_case(seed=5, K=3, n_policies=6)
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
    policies, rewards = random_case(seed=11, K=4, n_policies=3, n_contexts=2)
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
    policies, rewards = random_case(seed=3)
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


@pytest.mark.parametrize("m", [1, 2, 3])
def test_estimator_is_unbiased_by_enumeration(m):
    """Over all slates the design can show, E R(pi) is the policy's reward and E[shown] is W."""
    K = 5
    policies, rewards = random_case(seed=20 + m, m=m, K=K, n_policies=4, n_contexts=1)
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=50, estimate_rounds=1, rng=0
    )
    play(learner, rewards, 50, 50, seed=1)
    design = learner.design
    W = design.propensities([0])[0]
    assert W.sum() == pytest.approx(m)
    probability = {}
    subsets = list(combinations(range(K), m))
    for subset in subsets:
        probability[subset] = probability.get(subset, 0) + design.mixing / len(subsets)
    for policy, share in zip(design.support, design.shares, strict=True):
        subset = tuple(sorted(policies.actions([0])[0, policy].tolist()))
        probability[subset] += (1 - design.mixing) * share
    shown = np.zeros(K)
    for subset, chance in probability.items():
        shown[list(subset)] += chance
    np.testing.assert_allclose(shown, W, rtol=1e-12)
    for policy in range(4):
        slate = set(policies.actions([0])[0, policy].tolist())
        expected = sum(
            chance * sum(rewards[0, j] / W[j] for j in subset if j in slate)
            for subset, chance in probability.items()
        )
        assert expected == pytest.approx(sum(rewards[0, j] for j in slate), rel=1e-12)


def test_late_rewards_change_nothing():
    policies, rewards = random_case(seed=1)
    problem = ps.Problem(n_actions=6, epsilon=0.3, delta=0.1)
    designs = []
    for lag in (0, 5):
        learner = ps.LowVarianceExploration(
            policies, problem, explore_rounds=200, estimate_rounds=1, rng=1
        )
        waiting = []
        rng = np.random.default_rng(2)
        for _ in range(10):
            contexts = rng.integers(0, 5, 20)
            waiting.append(learner.ask(contexts))
            if len(waiting) > lag:
                first = waiting.pop(0)
                learner.tell(first, rewards[first.contexts[:, None], first.actions])
        for late in reversed(waiting):
            learner.tell(late, rewards[late.contexts[:, None], late.actions])
        designs.append(learner.design)
    np.testing.assert_array_equal(designs[0].shares, designs[1].shares)


def test_rounds_between_the_phases_count_in_neither():
    policies, rewards = random_case(seed=1)
    problem = ps.Problem(n_actions=6, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=50, estimate_rounds=30, rng=1
    )
    assert learner.ask_limit == 50
    decisions = learner.ask(np.zeros(80, int))
    assert learner.ask_limit == 0
    learner.tell(decisions, rewards[0, decisions.actions])
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
    np.testing.assert_allclose(learner.intervals().values, naive[:50].mean(axis=0))
    assert learner.ask_limit == 30
    more = learner.ask(np.zeros(45, int))
    learner.tell(more, rewards[0, more.actions])
    assert learner.finished
    assert learner.rounds == 125
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
    np.testing.assert_allclose(learner.intervals().values, naive[80:110].mean(axis=0))
    before = learner.recommend()
    extra = learner.ask(np.zeros(5, int))
    learner.tell(extra, rewards[0, extra.actions])
    assert learner.recommend().policy == before.policy
    assert learner.recommend().value == before.value


def test_guarantee_sentences():
    policies, _ = random_case(seed=1)
    problem = ps.Problem(n_actions=6, epsilon=0.5, delta=0.2)

    def finished(**sizes):
        learner = ps.LowVarianceExploration(policies, problem, rng=1, **sizes)
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, np.zeros(len(decisions)))
        return learner

    assert "were sized to guarantee it" in finished().recommend().guarantee
    short = finished(explore_rounds=20, estimate_rounds=30).recommend()
    assert "does not apply" in short.guarantee
    assert short.rounds == 50
    plan = finished().plan
    larger = finished(
        explore_rounds=plan.explore_rounds + 5, estimate_rounds=plan.estimate_rounds + 5
    )
    assert "were sized to guarantee it" in larger.recommend().guarantee
    learner = ps.LowVarianceExploration(policies, problem, rng=1)
    assert "Nothing is guaranteed" in learner.recommend().guarantee
    for bad in ({"explore_rounds": 0}, {"estimate_rounds": 0}, {"explore_rounds": 2.5}):
        with pytest.raises(ps.InvalidArgumentError, match="rounds must be a whole number"):
            ps.LowVarianceExploration(policies, problem, **bad)


def test_a_false_sparsity_is_noticed():
    """Rewards that clearly sum to more than declared take the guarantee away."""
    policies, _ = random_case(seed=1)
    problem = ps.Problem(n_actions=6, sparsity=1.0, epsilon=0.5, delta=0.2)
    for dense in (True, False):
        learner = ps.LowVarianceExploration(policies, problem, rng=1)
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, decisions.actions < (3 if dense else 1))
        guarantee = learner.recommend().guarantee
        assert ("sum to about" in guarantee) == dense
        assert ("were sized to guarantee it" in guarantee) != dense


def test_unknown_sparsity_sizes_phase_two_from_what_it_sees():
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=40, n_policies=20, profile="one_good", rng=2
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = ps.Problem(n_actions=8, sparsity=None, epsilon=0.3, delta=0.1)
    learner = ps.LowVarianceExploration(policies, problem, rng=0)
    assert learner.estimate_rounds is None
    result = ps.run(learner, world, 10**6, batch_size=1000)
    assert result.finished
    V, B = learner.design.variance_bound, learner.design.largest_gain
    expected = (4 * V / 0.09 + 2 * B / 0.9 + 2 / 3) * math.log(20 * 2 / 0.1)
    assert learner.estimate_rounds == math.ceil(expected)
    assert result.suboptimality <= 0.3
    assert "were sized to guarantee it" in result.recommendation.guarantee


def worlds():
    """Small worlds, adversarial ones among them, with a fitting epsilon."""
    make = ps.worlds.SparseSynthetic
    yield (
        "one good",
        make(n_actions=8, n_contexts=30, n_policies=25, profile="one_good", rng=1),
        0.3,
    )
    yield "close", make(n_actions=5, n_contexts=30, n_policies=25, profile="close", rng=2), 0.3
    equal = make(n_actions=5, n_contexts=30, n_policies=25, profile="close", rng=3)
    equal.pool = np.repeat(equal.pool[:, :1], 25, axis=1)
    yield "all equal", equal, 0.3
    yield "rare context", ps.worlds.RareContext(n_actions=6, epsilon=0.2, rng=4), 0.2
    yield "hidden arm", ps.worlds.HiddenArm(n_actions=8, sparsity=4, epsilon=0.2, rng=5), 0.2
    yield (
        "fractional",
        make(
            n_actions=6,
            n_contexts=30,
            n_policies=25,
            profile="one_good",
            fractional=True,
            noise=0.2,
            rng=6,
        ),
        0.3,
    )
    slates = make(
        n_actions=8,
        n_contexts=20,
        n_policies=25,
        profile="one_good",
        slate_size=4,
        sparsity=2.0,
        rng=7,
    )
    yield "m > s", slates, 0.6
    full = make(
        n_actions=5,
        n_contexts=20,
        n_policies=10,
        profile="close",
        slate_size=5,
        sparsity=2.0,
        rng=8,
    )
    yield "m = K", full, 0.6


def exact_variance_terms(world, policies, design):
    """E sum_j g(r(j)) 1[j in pi(x)] / W(x, j) for every policy, by summing over all contexts."""
    m = policies.slate_size
    contexts = world.contexts
    weights = (
        np.full(len(contexts), 1 / len(contexts))
        if world._probabilities is None
        else world._probabilities
    )
    draws = 400 if m == 1 else 1
    total = np.zeros(policies.n_policies)
    rng = np.random.default_rng(0)
    for x, weight in zip(contexts, weights, strict=True):
        if m == 1:  # second moments of the rewards, by averaging draws of the reward vector
            rewards = np.zeros(world.n_actions)
            here = world._rewards_of(np.full(draws, x), rng)
            for action in range(world.n_actions):
                shown = np.full((draws, 1), action, dtype=np.int32)
                rewards[action] = (here(shown) ** 2).mean()
        else:
            rewards = world._expected_rewards(np.array([x]))[0]
        ratio = rewards / design.propensities([x])[0]
        slates = policies.actions([x])[0]
        total += weight * ratio[slates].sum(axis=1)
    return total


CASES = list(worlds())


@pytest.mark.parametrize(("name", "world", "epsilon"), CASES, ids=[case[0] for case in CASES])
def test_promises(name, world, epsilon):
    """Failures of epsilon, of the variance theorem and of the observed bound, against delta."""
    delta = 0.05
    runs = 100
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    problem = world.problem(epsilon=epsilon, delta=delta)
    failures = {"epsilon": 0, "theorem": 0, "observed": 0}
    for seed in range(runs):
        learner = ps.LowVarianceExploration(policies, problem, sampled=seed % 5 == 4, rng=seed)
        result = ps.run(learner, world, 10**7, batch_size=20_000, checkpoints=0, rng=100 + seed)
        assert result.finished
        failures["epsilon"] += result.suboptimality > epsilon
        truth = exact_variance_terms(world, policies, learner.design).max()
        failures["theorem"] += truth > learner.plan.variance_bound
        failures["observed"] += truth > learner.design.variance_bound
    for count in failures.values():
        assert_at_most(count, runs, delta, alpha=1e-3)


def test_the_promise_can_be_broken():
    """With far too few rounds the same count does find failures."""
    _, world, epsilon = CASES[0]
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    wrong = 0
    for seed in range(50):
        learner = ps.LowVarianceExploration(
            policies,
            world.problem(epsilon=epsilon, delta=0.05),
            explore_rounds=10,
            estimate_rounds=10,
            rng=seed,
        )
        wrong += ps.run(learner, world, rng=100 + seed).suboptimality > epsilon
    with pytest.raises(AssertionError):
        assert_at_most(wrong, 50, 0.05, alpha=1e-3)
