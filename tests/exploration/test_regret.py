"""What exploration by optimization has lost at most: against a twin, exactly, and by simulation."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import special

import policysieve as ps
from policysieve.exploration.learners.regret import RegretBound, Transfer
from policysieve.theory.solvers import closed_form, real_valued
from tests.oracles import by_optimization as objective
from tests.oracles import weighted as oracle
from tests.statistics import assert_at_most


def make(table, K, *, delta=0.1, sparsity=1.0, **arguments):
    problem = ps.Problem(n_actions=K, sparsity=sparsity, epsilon=0.2, delta=delta)
    policies = ps.PolicyTable(table, n_actions=K)
    return ps.ExplorationByOptimization(policies, problem, **{"rng": 1, **arguments})


def play(learner, means, rounds, seed=0, watch=None):
    """One context at a time, one right action a round; `watch` sees x before it is decided."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = int(rng.integers(len(means)))
        if watch is not None:
            watch(x)
        decisions = learner.ask(x)
        right = np.searchsorted(means[x].cumsum(), rng.random(), side="right")
        learner.tell(decisions, decisions.actions[:, 0] == right)


def stitched(v, delta):
    v = max(v, 10)
    length = 1.4 * math.log1p(math.log2(v / 10)) + math.log(special.zeta(1.4)) + math.log(1 / delta)
    k1, k2 = (2**0.25 + 2**-0.25) / math.sqrt(2), (math.sqrt(2) + 1) / 2
    return math.sqrt(k1**2 * v * length + (k2 * length) ** 2) + k2 * length


@pytest.mark.parametrize("rewards", ["binary", "real"])
def test_equals_the_written_out_sums(rewards):
    rng = np.random.default_rng(3)
    K, table, means = 4, rng.integers(0, 4, (5, 8)), rng.dirichlet(np.ones(4), 5)
    learner = make(table, K, rounds=900, rewards=rewards, information_weight=8)
    play(learner, means, 900)
    log, G = learner.log, 8.0
    twin = oracle.by_optimization if rewards == "binary" else oracle.by_optimization_real
    columns = log.contexts, log.actions[:, 0], log.rewards[:, 0]
    history, propensities, values = twin(table, *columns, K, G)
    weights = np.array(
        [h[table[x] == a].sum() for h, x, a in zip(history, *columns[:2], strict=True)]
    )
    moved = (weights / propensities - 1) * columns[2]
    largest = (2 * G / (G - K) if rewards == "binary" else G / (G - K)) - 1
    found = learner.regret_bound()
    recommended = values.sum() + G * math.log(2 * 8 * learner.weights.max() / 0.1)
    assert found.rounds == 900
    assert found.recommended == pytest.approx(recommended, rel=1e-9)
    more = moved.sum() + largest * stitched((moved**2).sum() / largest**2, 0.05)
    assert found.played == pytest.approx(recommended + more, rel=1e-6)
    assert found.played < 900


@pytest.mark.parametrize("solve", [closed_form, real_valued])
def test_what_is_played_has_its_share_of_the_weight(solve):
    """w/q is at most 2G/(G - K), or G/(G - K) for real rewards."""
    rng = np.random.default_rng(0)
    highest = 0.0
    for _ in range(2000):
        K = int(rng.integers(2, 20))
        G = K * 1.2 * float(np.exp(rng.uniform(0, 5)))
        w = rng.dirichlet(np.full(K, np.exp(rng.uniform(-6, 2))))
        solution = solve(w, G, 1)
        most = (2 if solve is closed_form else 1) * G / (G - K)
        ratio = (w[w > 0] / solution.q[w > 0]).max()
        assert ratio <= most * (1 + 1e-9)
        highest = max(highest, ratio / most)
    assert highest > 0.9


def test_over_all_histories():
    """At all times at once: the probability that the estimation term fails is at most delta.

    Given the contexts, exp(A)/(1 - Err) is a martingale from one; what it is at most bounds
    the sum of Err by ln(W |Pi|/delta), and the regret by sum Gamma + G sum Err.
    """
    table = np.array([[0, 1, 2, 0], [1, 1, 0, 2]])  # contexts, policies
    means, G, best = np.array([[0.6, 0.2, 0.1], [0.0, 0.5, 0.4]]), 3.6, 1
    failed = dict.fromkeys((0.5, 0.2, 0.1), 0.0)
    means_of_martingale = []

    def visit(weights, chance, log_martingale, highest, errors, rounds):
        assert errors <= math.log(4 * weights[best]) + log_martingale + 1e-9
        highest = max(highest, log_martingale)
        if rounds == 0:
            means_of_martingale.append(chance * math.exp(log_martingale))
            for delta in failed:
                failed[delta] += chance * (highest >= math.log(1 / delta))
            return
        for x in range(2):
            w = np.bincount(table[x], weights, minlength=3)
            solution = closed_form(w, G, 1)
            xi = objective.long_form(solution.xi, w)
            mu, at = means[x], table[x, best]
            value = objective.objective(solution.p, solution.q, xi, w, G, at, mu)
            error = (mu[at] - w @ mu - value) / G
            assert value <= solution.value + 1e-12
            for a, o in product(range(3), range(2)):
                step = 0.5 * solution.q[a] * (mu[a] if o else 1 - mu[a])
                if step:
                    factors = np.exp(np.where(table[x] == a, solution.xi[a, o], 0.0))
                    grown = weights * factors
                    growth = math.log(grown.sum() / factors[best])
                    visit(
                        grown / grown.sum(),
                        chance * step,
                        log_martingale + growth - math.log1p(-error),
                        highest,
                        errors + error,
                        rounds - 1,
                    )

    visit(np.full(4, 0.25), 1.0, 0.0, 0.0, 0.0, 4)
    assert sum(means_of_martingale) == pytest.approx(1)
    assert failed[0.5] > 0.02  # it happens
    for delta, probability in failed.items():
        assert probability <= delta


@pytest.mark.parametrize("rewards", ["binary", "real"])
@pytest.mark.parametrize("case", ["two arms", "contexts"])
def test_the_bounds_hold_at_all_times(rewards, case):
    """Without the estimation term they fail, and where plays are even, without the transfer."""
    rng = np.random.default_rng(1)
    if case == "two arms":
        table, means = np.array([[0, 1]]), np.array([[0.9, 0.1]])
    else:
        table, means = rng.integers(0, 4, (6, 10)), rng.dirichlet(np.full(4, 0.3), 6)
    K, delta, runs, rounds = means.shape[1], 0.2, 20, 90
    G = (1.2 if rewards == "binary" else 3) * K
    best = np.take_along_axis(means, table, axis=1).mean(axis=0).argmax()
    wrong = np.zeros(2)
    without = np.zeros(2)
    for seed in range(runs):
        learner = make(
            table, K, delta=delta, rounds=rounds, rewards=rewards, information_weight=G, rng=seed
        )
        lost, bounds, bare = np.zeros((1, 2)), [], []

        def watch(x, learner=learner, bounds=bounds, bare=bare):
            nonlocal lost
            exploration, top = learner.exploration, means[x, table[x, best]]
            answers = learner.policies.answers_at(np.array([x]))
            w = exploration.weights.marginals(answers)[0]
            regret = [top - w @ means[x], top - exploration.propensities([x])[0] @ means[x]]
            found = learner.regret_bound()
            bounds.append([found.recommended, found.played])
            bare.append([learner.mean_objective * learner.rounds, found.recommended])
            lost = np.vstack([lost, lost[-1] + regret])

        play(learner, means, rounds, seed=100 + seed, watch=watch)
        wrong += (lost[:-1] > np.array(bounds) + 1e-9).any(axis=0)
        without += (lost[:-1] > np.nan_to_num(np.array(bare)) + 1e-9).any(axis=0)
    for failures in wrong:
        assert_at_most(failures, runs, delta, alpha=1e-3)
    assert without[0] == runs
    if (case, rewards) == ("two arms", "binary"):
        assert without[1] == runs


def test_nothing_lost_yet_and_never_more_than_there_was():
    learner = make(np.array([[0, 1]]), 2, rounds=50)
    assert learner.regret_bound() == RegretBound(recommended=0.0, played=0.0, rounds=0)
    play(learner, np.array([[0.5, 0.5]]), 3)
    found = learner.regret_bound()
    assert (found.recommended, found.played, found.rounds) == (3, 3, 3)


def test_looking_changes_nothing():
    table, means = np.array([[0, 1, 1], [1, 0, 1]]), np.array([[0.7, 0.3], [0.2, 0.8]])
    looked, other = (make(table, 2, rounds=200) for _ in range(2))
    play(looked, means, 200, watch=lambda _x: looked.regret_bound())
    play(other, means, 200)
    assert looked.regret_bound() == other.regret_bound()
    np.testing.assert_array_equal(looked.log.actions, other.log.actions)


def test_where_it_does_not_apply():
    table = np.array([[0, 1, 2]])
    assert make(table, 3, sparsity=None, rounds=20).regret_bound() is None
    learner = make(table, 3, rounds=40)
    decisions = learner.ask([0, 0, 0, 0])
    learner.tell(decisions, [1, 0, 0, 1])
    assert learner.regret_bound() is None
    dense = make(np.arange(6)[None, :], 6, rounds=600)
    for _ in range(600):
        decisions = dense.ask(0)
        dense.tell(decisions, decisions.actions[:, 0] < 3)
    assert dense.regret_bound() is None  # three of six are rewarded, not one


def test_a_class_without_end():
    problem = ps.Problem(n_actions=3, epsilon=0.3, delta=0.1)
    policies = ps.TabularPolicies(n_contexts=2, n_actions=3)
    learner = ps.ExplorationByOptimization(policies, problem, rounds=500, rng=0)
    play(learner, np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]), 500)
    found = learner.regret_bound()
    size = 2 * math.log(3)
    expected = 500 * learner.mean_objective
    expected += learner.information_weight * (size + math.log(2 / 0.1))
    assert found.recommended == pytest.approx(expected)


def test_transfers_add_up():
    w, q, r = np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.4, 0.1]), np.array([1.0, 0.5, 1.0])
    whole = Transfer().plus(w, q, r)
    parts = Transfer().plus(w[:1], q[:1], r[:1]).plus(w[1:], q[1:], r[1:])
    assert whole.total == pytest.approx(parts.total) == pytest.approx(0.25 - 0.25 + 2)
    assert whole.square == pytest.approx(parts.square)
