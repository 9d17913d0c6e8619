"""What the solvers promise: their values, against the definition; the kernels, three ways."""

from itertools import product
from math import exp, log, log1p

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.kernels.by_optimization import (
    closed_form_log_ratio,
    closed_form_log_ratios,
    closed_form_q,
    real_valued_log_ratio,
    real_valued_q,
)
from policysieve.theory.objective import exploration_value
from policysieve.theory.solvers import (
    closed_form,
    real_valued,
    second_tier,
)
from tests.oracles import by_optimization as oracle

FAMILIES = ["dirichlet", "skewed", "uniform", "powers", "near point mass", "with zeros"]


def random_weights(family, K, rng):
    w = {
        "dirichlet": lambda: rng.dirichlet(np.ones(K)),
        "skewed": lambda: rng.dirichlet(np.full(K, 0.1)),
        "uniform": lambda: np.full(K, 1 / K),
        "powers": lambda: 10.0 ** rng.uniform(-300, 0, K),
        "near point mass": lambda: np.full(K, 10.0 ** rng.uniform(-300, -3)),
        "with zeros": lambda: rng.dirichlet(np.ones(K)) * (rng.random(K) < 0.6),
    }[family]()
    if family == "near point mass" or not w.any():
        w[rng.integers(K)] = 1.0
    return w / w.sum()


def random_case(family, sizes, rng):
    """Weights, a price from n to 10^4 n, and a whole or fractional sparsity."""
    K = int(rng.choice(sizes))
    w = random_weights(family, K, rng)
    n = np.count_nonzero(w)
    G = n * (1.0 if rng.random() < 0.1 else 10 ** rng.uniform(0, 4))
    s = float(rng.integers(1, K + 1) if rng.random() < 0.5 else rng.uniform(0.01, K))
    return w, G, s


def rounding(solution, s):
    """What rounding p, q and xi to 53 bits can change in the value."""
    return 2e-15 * s * (4 + np.abs(solution.xi).max())


@pytest.mark.parametrize("family", FAMILIES)
def test_closed_form_keeps_its_promises(family):
    rng = np.random.default_rng(FAMILIES.index(family))
    for trial in range(420):
        sizes = [1000] if trial < 10 else [2, 3, 4, 7, 10, 33, 100]
        w, G, s = random_case(family, sizes, rng)
        n = np.count_nonzero(w)
        solution = closed_form(w, G, s)
        value = exploration_value(solution.p, solution.q, solution.xi, w, G, s)
        assert value == pytest.approx(solution.value, rel=1e-9, abs=rounding(solution, s))
        top = w.argmax()
        spread = w[top] * np.delete(w, top).sum() + sum(np.delete(w * (1 - w), top))  # 1 - |w|^2
        assert solution.value <= min(s, n) * spread / (G - n + 2) * (1 + 1e-12)
        assert solution.q.sum() == pytest.approx(1, abs=1e-12)
        assert (solution.q[w > 0] > 0).all()
        assert not solution.q[w == 0].any()
        np.testing.assert_allclose(solution.p, w, rtol=1e-14)
        assert (solution.xi[w > 0, 1] > 0).all() or solution.value < 1e-290
        assert not solution.xi[w == 0].any()


@pytest.mark.parametrize("K", [2, 10, 1000])
@pytest.mark.parametrize("ratio", [1.0, 1.2, 32, 1e4])
def test_value_is_s_kappa_where_rounding_leaves_nine_digits(K, ratio):
    """No allowance for rounding; at 10^4 K the value itself is only good to 1e-16 G."""
    rng = np.random.default_rng(K)
    for s in (1.0, 0.3, K / 2 + 0.25):
        w = rng.dirichlet(np.full(K, 5.0))
        solution = closed_form(w, ratio * K, s)
        value = exploration_value(solution.p, solution.q, solution.xi, w, ratio * K, s)
        assert value == pytest.approx(solution.value, rel=max(1e-9, 4e-16 * ratio * K))


EXTREMES = [
    [1.0, 1e-300],
    [1.0, 5e-301, 3e-200, 1e-16],
    [0.5, 0.5, 1e-300],
    [1 - 1e-9, 1e-9],
    [1 / 3] * 3,
    [0.999999, 1e-6, 0.0],
    [1e-17, 1 - 2e-17, 1e-17],
    [0.6, 0.4 - 1e-12, 1e-12],
]


@pytest.mark.parametrize("case", range(len(EXTREMES) + 60))
def test_closed_form_in_exact_arithmetic(case):
    """The identity Gamma = s kappa holds to 60 digits, and floats keep kappa, q and xi."""
    rng = np.random.default_rng(case)
    if case < len(EXTREMES):
        w = np.array(EXTREMES[case])
        w, s = w / w.sum(), float(rng.uniform(0.1, len(w)))
    else:
        w, _, s = random_case(FAMILIES[case % 6], [2, 3, 5, 12], rng)
    n = np.count_nonzero(w)
    for G in (n, 1.2 * n, 7.5 * n, 1e4 * n):
        if n == 1:
            assert closed_form(w, G, s).value == 0
            continue
        exact, solution = oracle.Exact(w, G), closed_form(w, G, s)
        kappa = float(exact.kappa)
        assert exact.identity_error(s) < 1e-60
        assert solution.value == pytest.approx(min(s, n) * kappa, rel=1e-12)
        for a in exact.support:
            assert solution.q[a] == pytest.approx(float(exact.q[a]), rel=1e-12)
            assert solution.xi[a, 1] == pytest.approx(exact.log_ratio(a), rel=1e-12)


def test_a_point_mass_learns_nothing():
    for solution in (
        closed_form([0, 1, 0], 3, 1),
        second_tier([0, 1, 0], 3, 1),
        real_valued([0, 1, 0], 3, 1),
        real_valued([1.0], 1, 1),
    ):
        assert solution.value == 0
        assert not solution.xi.any()
        np.testing.assert_array_equal(solution.q, solution.p)
    assert real_valued([0, 1, 0], 3, 1).log_ratio(1, 0.7) == 0


def test_a_reward_moves_the_weight_by_kappa():
    w, G = np.array([0.6, 0.3, 0.1]), 9.0
    solution = closed_form(w, G, 1)
    for a in range(3):
        moved = w.copy()
        moved[a] *= exp(solution.xi[a, 1])
        moved /= moved.sum()
        assert moved[a] - w[a] == pytest.approx(solution.value, rel=1e-12)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_value_equals_enumeration(K):
    """Any p, q, xi; weights and plays of zero; the last mu of the knapsack a fraction."""
    rng = np.random.default_rng(K)
    for trial in range(60):
        w, q, p = (random_weights("with zeros" if trial % 2 else "skewed", K, rng) for _ in "wqp")
        s, G = float(rng.uniform(0.05, K)) if trial % 3 else float(K), rng.uniform(K, 9 * K)
        short = rng.normal(0, 1, (K, 2))
        full = np.where(w[:, None, None] > 0, rng.normal(0, 1, (K, K, 2)), 500.0)
        written = oracle.long_form(short, w)
        short[w == 0], full[w == 0] = np.inf, np.nan  # not looked at
        for xi, written_out in ((short, written), (full, np.where(np.isnan(full), 500.0, full))):
            expected = oracle.worst_case(p, q, written_out, w, G, s)
            value = exploration_value(p, q, xi, w, G, s)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_value_does_not_change_with_a_constant_in_xi():
    rng = np.random.default_rng(0)
    w, p, q = rng.dirichlet(np.ones(4), 3)
    xi = rng.normal(0, 1, (4, 4, 2))
    value = exploration_value(p, q, xi, w, 10, 1.5)
    shifted = xi + rng.normal(0, 300, (1, 4, 2))
    assert exploration_value(p, q, shifted, w, 10, 1.5) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("tiny", [1e-300, 1e-310])
def test_value_of_huge_log_factors(tiny):
    """Tiny weights have log-factors in the hundreds, whose exponentials overflow; values do not."""
    w = np.array([tiny, 0.5, 0.5])
    solution = closed_form(w, 3.6, 3)  # three, so that every coefficient counts
    assert 600 < solution.xi[0, 1] < 800
    full = oracle.long_form(solution.xi, w)
    for xi in (solution.xi, full):
        value = exploration_value(w, solution.q, xi, w, 3.6, 3)
        assert value == pytest.approx(solution.value, rel=1e-9)
    assert np.isfinite(second_tier(w, 3.6, 1).xi).all()
    assert 600 < real_valued(w, 3.6, 1).log_ratio(0, 1.0) < 800
    almost = np.array([0.0, tiny, 1.0])
    assert np.isfinite(closed_form(almost, 2.0, 1).xi).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_second_tier_is_never_worse_and_its_value_is_true(family):
    rng = np.random.default_rng(10 + FAMILIES.index(family))
    better = 0
    for _ in range(25):
        w, G, s = random_case(family, [2, 3, 5, 10, 30], rng)
        one, two = closed_form(w, G, s), second_tier(w, G, s)
        assert two.value <= one.value
        better += two.value < 0.999 * one.value
        assert two.q.sum() == pytest.approx(1, abs=1e-12)
        assert (two.q[w > 0] > 0).all()
        value = exploration_value(two.p, two.q, two.xi, w, G, s)
        assert value == pytest.approx(two.value, rel=1e-8, abs=1e-12 + rounding(two, s))
    assert better >= 12


def test_second_tier_at_uniform_weights():
    """For large prices it saves the share s / K, as long as that is below one half."""
    for K, s in ((10, 1.0), (10, 4.0), (50, 5.5)):
        two = second_tier(np.full(K, 1 / K), 1e5 * K, s)
        assert two.value == pytest.approx((1 - 1 / K) * (1 - s / K) * s / (1e5 * K), rel=1e-3)


@pytest.mark.parametrize("family", ["dirichlet", "skewed", "uniform", "with zeros"])
def test_real_rewards_never_exceed_the_bound(family):
    """Bernoulli, two-point and general rewards whose second moments sum to s."""
    rng = np.random.default_rng(20 + FAMILIES.index(family))
    shapes = [
        lambda: ([0.0, 1.0], rng.random()),
        lambda: ([0.0, rng.random()], rng.random()),
        lambda: (sorted(rng.random(2)), rng.random()),
        lambda: ([1.0, 1.0], 1.0),
        lambda: ([0.0, 0.0], 1.0),
        lambda: (rng.random(5), None),
    ]
    for _ in range(40):
        w = random_weights(family, 4, rng)
        n = np.count_nonzero(w)
        G, s = n * rng.choice([1.01, 1.5, 4.0, 40.0]), float(rng.uniform(0.2, 4))
        solution = real_valued(w, G, s)
        assert solution.value == pytest.approx(min(s, n - 1) / (G - n))
        assert solution.q.sum() == pytest.approx(1, abs=1e-12)
        for _ in range(6):
            rewards, chances = [], []
            left = s
            for a in rng.permutation(4):
                r, high = shapes[rng.integers(len(shapes))]()
                r = np.asarray(r, dtype=float)
                chance = np.full(5, 0.2) if high is None else np.array([1 - high, high])
                if chance @ r**2 > left:
                    r = r * 0.0
                left -= chance @ r**2
                rewards.append((a, r))
                chances.append((a, chance))
            rewards = [r for _, r in sorted(rewards, key=lambda item: item[0])]
            chances = [c for _, c in sorted(chances, key=lambda item: item[0])]
            for best in np.flatnonzero(w):
                value = oracle.real_reward_objective(solution, w, G, best, rewards, chances)
                assert value <= solution.value + 1e-9


def test_coins_attain_the_bound_for_real_rewards():
    rng = np.random.default_rng(3)
    for K in (2, 5, 40):
        for s in (0.4, 1.0, K - 0.5):
            w = rng.dirichlet(np.ones(K))
            solution = real_valued(w, 3.0 * K, s)
            value = exploration_value(solution.p, solution.q, solution.xi, w, 3.0 * K, s)
            assert value == pytest.approx(solution.value, rel=1e-9)
            assert solution.log_ratio(0, 1.0) == solution.xi[0, 1]
            assert solution.log_ratio(0, 0.0) == 0
            share = 0.37 / (3.0 * K * solution.q[0])
            assert solution.log_ratio(0, 0.37) == pytest.approx(-log1p(-share), rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_compiled_interpreted_and_public(family):
    rng = np.random.default_rng(30 + FAMILIES.index(family))
    for _ in range(40):
        w, G, s = random_case(family, [1, 2, 3, 10, 60], rng)
        w /= w.sum()
        n = np.count_nonzero(w)
        results = []
        for pick in (lambda kernel: kernel, lambda kernel: kernel.py_func):
            q, xi = np.full(len(w), np.nan), np.full(len(w), np.nan)
            kappa = pick(closed_form_q)(w, G, q)
            pick(closed_form_log_ratios)(w, kappa, q, G, xi)
            results.append([kappa, *q, *xi])
            one = [pick(closed_form_log_ratio)(w[a], kappa, q[a], G) for a in np.flatnonzero(w)]
            np.testing.assert_allclose(one, xi[w > 0], rtol=1e-14)
        np.testing.assert_allclose(results[0], results[1], rtol=1e-12)
        solution = closed_form(w, G, s)
        public = [solution.value / min(s, n), *solution.q, *solution.xi[:, 1]]
        np.testing.assert_allclose(results[0], public, rtol=1e-12)

        if n == 1 or n == G:
            continue
        results = []
        for pick in (lambda kernel: kernel, lambda kernel: kernel.py_func):
            q = np.full(len(w), np.nan)
            excess = pick(real_valued_q)(w, G, q)
            ratio = [pick(real_valued_log_ratio)(x, excess, 0.4) for x in w]
            results.append([excess, *q, *ratio])
        np.testing.assert_allclose(results[0], results[1], rtol=1e-12)
        solution = real_valued(w, G, s)
        np.testing.assert_allclose(results[0][1 : 1 + len(w)], solution.q, rtol=1e-12)
        for a in np.flatnonzero(w):
            assert solution.log_ratio(a, 0.4) == pytest.approx(ratio[a], rel=1e-12)


def test_estimation_errors_sum_to_at_most_the_log_of_the_class():
    """Over all histories: E exp(sum of A - ln(1 - Err)) = 1 and -sum A <= ln |Pi|.

    Markov's inequality then bounds sum Err by ln(|Pi| / delta) for any one policy. Err is the mean
    over the context as well, so this is about the population and not about the drawn contexts.
    """
    table = np.array([[0, 1], [1, 1], [2, 0], [0, 2]])  # policies, contexts
    chance, means, G = np.array([0.3, 0.7]), np.array([[0.6, 0.2, 0.1], [0.0, 0.5, 0.4]]), 5.0

    def visit(weights, probability, log_martingale, potential, rounds):
        if rounds == 0:
            return np.array([probability * exp(m) for m in log_martingale]), potential.max()
        solutions = []
        for x in range(2):
            w = np.bincount(table[:, x], weights, minlength=3)
            solutions.append((w, closed_form(w, G, 1)))
        error = np.zeros(len(table))
        for pi, x in product(range(len(table)), range(2)):
            w, solution = solutions[x]
            xi = oracle.long_form(solution.xi, w)
            mu = means[x]
            regret = mu[table[pi, x]] - solution.p @ mu
            value = oracle.objective(solution.p, solution.q, xi, w, G, table[pi, x], mu)
            error[pi] += chance[x] * (regret - value) / G
        total, highest = np.zeros(len(table)), -np.inf
        for x, a, o in product(range(2), range(3), range(2)):
            w, solution = solutions[x]
            step = chance[x] * solution.q[a] * (means[x, a] if o else 1 - means[x, a])
            if step == 0:
                continue
            xi = np.where(table[:, x] == a, solution.xi[a, o], 0.0)
            grown = weights * np.exp(xi)
            advantage = -xi + log(grown.sum())
            more, high = visit(
                grown / grown.sum(),
                probability * step,
                log_martingale + advantage - np.log1p(-error),
                potential - advantage,
                rounds - 1,
            )
            total, highest = total + more, max(highest, high)
        return total, highest

    uniform, zero = np.full(4, 0.25), np.zeros(4)
    mean, highest = visit(uniform, 1.0, zero, zero, 3)
    np.testing.assert_allclose(mean, 1, rtol=1e-9)
    assert highest <= log(4)


SOLVERS = [closed_form, real_valued, second_tier]
BAD = [
    (([0.5, 0.6], 4, 1), "w must sum to 1, got 1.1"),
    (([0.5, -0.5, 1.0], 4, 1), "w must hold probabilities, got -0.5 for action 1"),
    (([0.5, np.nan], 4, 1), "w must hold probabilities, got nan"),
    (([], 4, 1), "w must have shape"),
    (([[0.5, 0.5]], 4, 1), "w must have shape"),
    (("many", 4, 1), "w must be an array of numbers"),
    (([0.5, 0.5], 1.9, 1), "gamma must be at least the number of actions with positive weight, 2"),
    (([0.5, 0.5], np.inf, 1), "gamma"),
    (([0.5, 0.5], "4", 1), "gamma"),
    (([0.5, 0.5], 4, 0), "sparsity"),
    (([0.5, 0.5], 4, 2.5), "sparsity"),
    (([0.5, 0.5], 4, np.nan), "sparsity"),
]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments(solver, arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        solver(*arguments)


def test_real_rewards_need_a_larger_price():
    with pytest.raises(InvalidArgumentError, match="greater than the number of actions"):
        real_valued([0.5, 0.5], 2, 1)
    with pytest.raises(InvalidArgumentError, match="reward"):
        real_valued([0.5, 0.5], 4, 1).log_ratio(0, 1.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p": [0.5, 0.25, 0.25]}, r"p must have shape \(2,\) like w"),
        ({"q": [0.5, 0.4]}, "q must sum to 1"),
        ({"q": ["a", "b"]}, "q must be an array"),
        ({"xi": np.zeros((2, 3))}, r"xi must have shape \(2, 2\) or \(2, 2, 2\)"),
        ({"xi": [[0, np.inf], [0, 0]]}, "xi must be finite"),
        ({"xi": "none"}, "xi must be an array"),
        ({"gamma": 1}, "gamma"),
        ({"sparsity": 3}, "sparsity"),
        ({"w": [1, 1]}, "w must sum to 1"),
    ],
)
def test_value_refuses_bad_arguments(changes, message):
    arguments = {
        "p": [0.5, 0.5],
        "q": [0.5, 0.5],
        "xi": np.zeros((2, 2)),
        "w": [0.5, 0.5],
        "gamma": 4,
        "sparsity": 1,
    }
    with pytest.raises(InvalidArgumentError, match=message):
        exploration_value(**{**arguments, **changes})
