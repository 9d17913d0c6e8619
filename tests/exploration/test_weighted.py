"""Exploration by optimization and EXP4 against their round-by-round twins."""

import math

import numpy as np
import pytest

import policysieve as ps
from tests.contracts.explorer_contract import ExplorerContract
from tests.oracles import weighted as oracle
from tests.statistics import assert_at_most


class TestByOptimization(ExplorerContract):
    slates = False

    def make(self, policies, problem, seed):
        return ps.ExplorationByOptimization(
            policies, problem, rounds=5000, rewards="real", rng=seed
        )


class TestByOptimizationWithBinaryRewards(ExplorerContract):
    slates = False
    output = "erm"

    def make(self, policies, problem, seed):
        return ps.ExplorationByOptimization(
            policies, problem, rounds=5000, output=self.output, rng=seed
        )

    def rewards(self, decisions, seed=0):
        return (super().rewards(decisions) > 0).astype(float)


class TestByOptimizationByWeight(TestByOptimizationWithBinaryRewards):
    output = "weights"


def random_case(seed, K=6, n_policies=9, n_contexts=5):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, K, (n_contexts, n_policies))
    labels = rng.integers(0, K, n_contexts)
    return table, labels


def play(learner, labels, rounds, batch=1, seed=0, level=1.0):
    rng = np.random.default_rng(seed)
    for start in range(0, rounds, batch):
        contexts = rng.integers(0, len(labels), min(batch, rounds - start))
        decisions = learner.ask(contexts)
        learner.tell(decisions, level * (decisions.actions[:, 0] == labels[contexts]))


def make(table, K=6, **arguments):
    problem = ps.Problem(n_actions=K, epsilon=0.2, delta=0.1)
    return ps.ExplorationByOptimization(
        ps.PolicyTable(table, n_actions=K), problem, rng=1, **arguments
    )


@pytest.mark.parametrize("remember", [True, False])
def test_equals_the_naive_algorithm(monkeypatch, remember):
    if not remember:
        monkeypatch.setattr("policysieve.exploration.designs.parts._BYTES", 0)
    table, labels = random_case(0)
    learner = make(table, rounds=400)
    play(learner, labels, 400)
    log = learner.log
    history, propensities, kappas = oracle.by_optimization(
        table, log.contexts, log.actions[:, 0], log.rewards[:, 0], 6, learner.information_weight
    )
    np.testing.assert_allclose(log.propensities[:, 0], propensities, rtol=1e-9)
    assert learner.mean_objective == pytest.approx(kappas.mean(), rel=1e-9)
    average = learner.average_policy()
    np.testing.assert_allclose(average.shares, history.mean(axis=0), rtol=1e-9)
    late = learner.average_policy(last_half=True)
    np.testing.assert_allclose(late.shares, history[200:].mean(axis=0), rtol=1e-9)
    weights = oracle.marginal(table[2], average.shares, 6)
    np.testing.assert_allclose(average.probabilities([2])[0], weights, rtol=1e-9)


def test_equals_the_naive_algorithm_for_fractions():
    table, labels = random_case(1)
    learner = make(table, rounds=300, rewards="real")
    play(learner, labels, 300, level=0.6)
    log = learner.log
    history, propensities, values = oracle.by_optimization_real(
        table, log.contexts, log.actions[:, 0], log.rewards[:, 0], 6, learner.information_weight
    )
    np.testing.assert_allclose(log.propensities[:, 0], propensities, rtol=1e-9)
    np.testing.assert_allclose(learner.average_policy().shares, history.mean(axis=0), rtol=1e-9)
    assert learner.mean_objective == pytest.approx(values.mean(), rel=1e-9)


def test_exp4_equals_the_naive_algorithm():
    table, labels = random_case(2)
    problem = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1)
    learner = ps.Exp4(ps.PolicyTable(table, n_actions=6), problem, rounds=300, mixing=0.2, rng=1)
    assert learner.learning_rate == pytest.approx(2 * math.sqrt(math.log(9) / (300 * 6)))
    play(learner, labels, 300)
    log = learner.log
    history, propensities = oracle.exp4(
        table, log.contexts, log.actions[:, 0], log.rewards[:, 0], 6, 0.2, learner.learning_rate
    )
    np.testing.assert_allclose(log.propensities[:, 0], propensities, rtol=1e-9)
    assert np.abs(np.diff(history, axis=0)).max() > 1e-3
    for bad in ({"mixing": 0}, {"learning_rate": 0}, {"rounds": 0}):
        with pytest.raises(ps.InvalidArgumentError, match=next(iter(bad))):
            ps.Exp4(ps.PolicyTable(table, n_actions=6), problem, **bad)


def test_weights_stand_still_within_a_batch():
    table, labels = random_case(3)
    learner = make(table, rounds=400)
    play(learner, labels, 200, batch=50)
    before = learner.weights.copy()
    decisions = learner.ask(np.arange(5).repeat(10))
    np.testing.assert_array_equal(learner.weights, before)
    again = learner.ask(np.arange(5).repeat(10))
    for x in range(5):
        shares = {}
        for batch in (decisions, again):
            here = batch.contexts == x
            for a, q in zip(batch.actions[here, 0], batch.propensities[here, 0], strict=True):
                assert shares.setdefault(int(a), q) == q


def test_importance_weights_stay_within_their_bound():
    """1/q never exceeds what the intervals assume, for any weights and any G >= 1.2 K."""
    from policysieve.kernels.by_optimization import closed_form_q

    rng = np.random.default_rng(0)
    for _ in range(3000):
        K = int(rng.integers(2, 30))
        G = K * 1.2 * float(np.exp(rng.uniform(0, 6)))
        w = rng.dirichlet(np.full(K, np.exp(rng.uniform(-6, 2))))
        w[rng.random(K) < 0.3] = 0
        if not w.sum():
            continue
        w /= w.sum()
        q = np.empty(K)
        closed_form_q(w, G, q)
        room = G - K + 2
        assert 1 / q[w > 0].min() <= G * room / (room - 2) * (1 + 1e-9)


def test_outputs():
    table, labels = random_case(4)
    found = {}
    for output in ("erm", "weights", "average", "last_half"):
        learner = make(table, rounds=600, output=output)
        play(learner, labels, 600)
        found[output] = learner.recommend()
    assert found["erm"].policy == learner.intervals().leader
    assert found["weights"].policy == int(learner.weights.argmax())
    for output in ("average", "last_half"):
        policy = found[output].policy
        assert isinstance(policy, ps.RandomizedPolicy)
        np.testing.assert_allclose(policy.probabilities(np.arange(5)).sum(axis=1), 1)
        assert found[output].value == pytest.approx(policy.average(learner.intervals().values))
        assert found[output].to_dict()["policy"].startswith("RandomizedPolicy(")
    assert "The average policy is within" in found["average"].guarantee
    for output in ("erm", "weights", "last_half"):
        assert "output='average'" in found[output].guarantee


def test_the_planned_rounds_keep_the_promise():
    """All policies are equally good: nothing concentrates, and the bound is as large as it gets."""
    problem = ps.Problem(n_actions=40, epsilon=0.3, delta=0.05)
    policies = ps.PolicyTable(np.arange(40)[None, :], n_actions=40)
    learner = ps.ExplorationByOptimization(policies, problem, output="average", rng=0)
    right = np.random.default_rng(1).integers(0, 40, learner.planned_rounds)
    for action in right:
        decisions = learner.ask(0)
        learner.tell(decisions, decisions.actions[:, 0] == action)
    assert learner.finished
    found = learner.recommend()
    assert found.suboptimality_bound <= 0.3
    assert found.certified


def test_the_bound_of_the_average_after_every_round():
    """It is the written-out formula at any time, not only at the end."""
    table, labels = random_case(4)
    learner = make(table, rounds=600, information_weight=12, output="average")
    found, rng = [], np.random.default_rng(0)
    for _ in range(300):
        context = rng.integers(0, 5)
        decisions = learner.ask(context)
        learner.tell(decisions, decisions.actions[:, 0] == labels[context])
        found.append(learner.average_bound())
    log = learner.log
    kappas = oracle.by_optimization(
        table, log.contexts, log.actions[:, 0], log.rewards[:, 0], 6, 12
    )[2]
    bounds = np.minimum(1, oracle.average_bounds(kappas, 12, 6, 9, 0.1, 1.0, 600))
    assert bounds[-1] < bounds[200] < 1
    np.testing.assert_allclose(found, bounds, rtol=1e-9)
    said = learner.recommend()
    assert said.suboptimality_bound == found[-1]
    assert not said.certified
    assert "whenever you look" in said.guarantee


def test_the_bound_of_the_average_holds_after_every_round_at_once():
    """Runs in which it ever fails, against delta; without its delta they would be too many."""
    delta, G, T, runs = 0.05, 10.0, 1000, 1000
    gaps, kappas = oracle.gaps_of_averages([0.7, 0.3], G, T, runs, np.random.default_rng(0))

    def failures(estimation=None):
        bounds = oracle.average_bounds(kappas, G, 2, 2, delta, 1.0, T, estimation)
        return int((gaps > bounds).any(axis=0).sum())

    assert_at_most(failures(), runs, delta)
    with pytest.raises(AssertionError):
        assert_at_most(failures(math.log(2)), runs, delta)


def test_the_theorem_is_about_one_context_at_a_time():
    table, labels = random_case(5)
    learner = make(table, rounds=100, output="average")
    play(learner, labels, 100, batch=10)
    assert "one at a time" in learner.recommend().guarantee
    for first_reward in (0, 1):  # a reward unknown to the second ask would have moved weights
        lagging = make(table, rounds=4, output="average")
        first, second = lagging.ask(0), lagging.ask(1)
        lagging.tell(first, [first_reward])
        lagging.tell(second, [0])
        play(lagging, labels, 2)
        assert ("one at a time" in lagging.recommend().guarantee) == (first_reward == 1)
    unknown = ps.Problem(n_actions=6, sparsity=None, epsilon=0.2, delta=0.1)
    learner = ps.ExplorationByOptimization(
        ps.PolicyTable(table, n_actions=6), unknown, rounds=20, output="average", rng=0
    )
    play(learner, labels, 20)
    assert "known sparsity" in learner.recommend().guarantee


def test_a_false_sparsity_is_noticed():
    problem = ps.Problem(n_actions=6, sparsity=1.0, epsilon=0.2, delta=0.1)
    policies = ps.PolicyTable(np.arange(6)[None, :], n_actions=6)
    learner = ps.ExplorationByOptimization(policies, problem, rounds=800, output="average", rng=0)
    for _ in range(800):
        decisions = learner.ask(0)
        learner.tell(decisions, decisions.actions[:, 0] < 3)
    assert "contradicted by the data" in learner.recommend().guarantee


def test_unknown_sparsity_needs_a_number_of_rounds():
    problem = ps.Problem(n_actions=6, sparsity=None, epsilon=0.2, delta=0.1)
    policies = ps.PolicyTable(random_case(0)[0], n_actions=6)
    with pytest.raises(ps.InvalidArgumentError, match="rounds must be given"):
        ps.ExplorationByOptimization(policies, problem)
    assert ps.plan(problem, 9).by_optimization_rounds is None


def test_choice_of_the_information_weight():
    table, _ = random_case(0)
    learner = make(table, rounds=5000)
    assert learner.information_weight == pytest.approx(
        6 - 2 + math.sqrt(5000 / math.log(9 / 0.095))
    )
    assert make(table, rounds=1).information_weight == pytest.approx(7.2)
    assert make(table, information_weight=50).information_weight == 50
    sizes = ps.plan(learner.problem, 9)
    assert make(table).planned_rounds == sizes.by_optimization_rounds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"information_weight": 6}, "information_weight"),
        ({"rewards": "some"}, "rewards must be one of"),
        ({"output": "best"}, "output must be one of"),
        ({"rounds": -1}, "rounds"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        make(random_case(0)[0], **arguments)


def test_what_it_cannot_do_is_refused():
    slates = ps.PolicyTable([[[0, 1], [1, 2]]], n_actions=3)
    problem = ps.Problem(n_actions=3, slate_size=2, epsilon=0.2, delta=0.1)
    with pytest.raises(ps.InvalidArgumentError, match="one action at a time"):
        ps.ExplorationByOptimization(slates, problem)
    learner = make(random_case(0)[0], rounds=50)
    decisions = learner.ask([0, 1])
    with pytest.raises(ps.InvalidArgumentError, match="rewards='real'"):
        learner.tell(decisions, [0.5, 0])
    assert (learner.rounds, learner.pending) == (0, 2)
    learner.tell(decisions, [1, 0])


def worlds():
    make = ps.worlds.SparseSynthetic
    yield "one good", make(n_actions=6, n_contexts=20, n_policies=15, profile="one_good", rng=1)
    yield "close", make(n_actions=4, n_contexts=20, n_policies=15, profile="close", rng=2)
    yield (
        "noisy",
        make(n_actions=5, n_contexts=20, n_policies=15, profile="close", noise=0.5, rng=3),
    )
    yield "rare context", ps.worlds.RareContext(n_actions=5, epsilon=0.1, rng=4)
    yield "hidden arm", ps.worlds.HiddenArm(n_actions=6, sparsity=3, epsilon=0.1, rng=5)


CASES = list(worlds())


@pytest.mark.parametrize(("name", "world"), CASES, ids=[case[0] for case in CASES])
def test_promise(name, world):
    """Failures of the average policy's bound and of the explicit rate, against delta."""
    delta, rounds, runs = 0.2, 400, 25
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    problem = world.problem(epsilon=0.2, delta=delta)
    truth = world.values(policies)
    log_term = math.log(policies.n_policies / delta)
    rate = (
        2 * math.sqrt(world.sparsity * log_term / rounds)
        + 1.2 * world.n_actions * log_term / rounds
    )
    broken = slow = 0
    for seed in range(runs):
        learner = ps.ExplorationByOptimization(
            policies, problem, rounds=rounds, output="average", rng=seed
        )
        result = ps.run(learner, world, rounds, batch_size=1, checkpoints=0, rng=100 + seed)
        gap = truth.max() - learner.average_policy().average(truth)
        assert result.suboptimality == pytest.approx(gap)
        broken += gap > learner.average_bound()
        slow += gap > rate
    assert_at_most(broken, runs, delta, alpha=1e-3)
    assert_at_most(slow, runs, delta, alpha=1e-3)


def test_randomized_policy():
    policies = ps.PolicyTable([[0, 1, 1], [2, 2, 0]], n_actions=3)
    drawn = ps.RandomizedPolicy(policies, np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(drawn.probabilities([0, 1]), [[0.25, 0.75, 0], [0.25, 0, 0.75]])
    slates = drawn.sample(np.zeros(4000, int), rng=0)
    assert slates.shape == (4000, 1)
    assert 0.72 < (slates == 1).mean() < 0.78
    assert drawn.average(np.array([0.0, 1.0, 2.0])) == pytest.approx(1.0)
    assert "50.0% policy 1" in repr(drawn)
    for bad, message in [
        ([1, 2], r"shares must be 3 numbers >= 0, got shape \(2,\)"),
        ([1, -1, 1], "shares must be 3 numbers >= 0, got -1 in entry 1"),
        ([np.nan, 1, 1], "shares must be 3 numbers >= 0, got nan in entry 0"),
        ([0, 0, 0], "shares must have a positive finite sum, got 0"),
        ([np.inf, 1, 1], "shares must have a positive finite sum, got inf"),
    ]:
        with pytest.raises(ps.InvalidArgumentError, match=message):
            ps.RandomizedPolicy(policies, np.array(bad, dtype=float))
