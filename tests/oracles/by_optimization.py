"""Exploration by optimization the slow way: enumeration, long arithmetic, general optimisers."""

from decimal import Decimal, localcontext
from itertools import combinations, product
from math import exp, floor

import numpy as np
from scipy import optimize


def budget_vertices(K, s):
    """Vertices of {mu in [0, 1]^K, sum mu <= s}: ones, and one fraction if the ones reach it."""
    whole = min(floor(s), K)
    rows = [
        [1.0 if a in ones else 0.0 for a in range(K)]
        for size in range(whole + 1)
        for ones in combinations(range(K), size)
    ]
    if whole < K and s > whole:
        rows += [
            [s - whole if b == a else float(b in ones) for b in range(K)]
            for ones in combinations(range(K), whole)
            for a in set(range(K)) - set(ones)
        ]
    return np.array(rows)


def objective(p, q, xi, w, G, best, mu):
    """The objective for one best action and one model, as the paper writes it; xi[a', a, o]."""
    K = len(w)
    error = 0.0
    for a, o in product(range(K), range(2)):
        chance = q[a] * (mu[a] if o == 1 else 1 - mu[a])
        if chance == 0:
            continue
        for other in range(K):
            if w[other] > 0:
                error += chance * w[other] * (1 - exp(xi[other][a][o] - xi[best][a][o]))
    return mu[best] - sum(p[a] * mu[a] for a in range(K)) - G * error


def worst_case(p, q, xi, w, G, s):
    """Gamma by enumeration of all best actions and all vertices."""
    return max(
        objective(p, q, xi, w, G, best, mu)
        for best in range(len(w))
        for mu in budget_vertices(len(w), s)
    )


def long_form(xi, w):
    """xi[a', a, o] from xi[a, o]; an action of no weight gets a log-factor as good as infinite."""
    K = len(w)
    out = np.zeros((K, K, 2))
    out[np.arange(K), np.arange(K)] = xi
    out[np.asarray(w) == 0] = 500.0
    return out


def minimum(w, G, s, starts=3, seed=0):
    """Smallest Gamma, by a general optimiser over (p, q, q xi): the paper's own convex form.

    Every pair of a best action and a vertex is one smooth constraint.
    """
    K = len(w)
    w = np.asarray(w)
    mu = budget_vertices(K, s)
    sizes = np.cumsum([1, K, K])

    def parts(x):
        tau, p, q, z = np.split(x, sizes)
        return tau[0], p, q, z.reshape(K, K, 2)

    def slack(x):
        tau, p, q, z = parts(x)
        xi = z / q[:, None]
        ratio = np.exp(np.minimum(xi[:, None] - xi[None], 100))  # (a', a*, a, o)
        mean = ratio * w[:, None, None, None]
        error = 1 - mean.sum(axis=0)
        chance = np.stack([1 - mu, mu], axis=-1) * q[:, None]  # (vertex, a, o)
        regret = mu.T - (mu @ p)[None]  # (a*, vertex)
        return (tau - regret + G * np.einsum("bao,vao->bv", error, chance)).reshape(-1)

    constraints = [
        {"type": "ineq", "fun": slack},
        {"type": "eq", "fun": lambda x: np.array([parts(x)[1].sum() - 1, parts(x)[2].sum() - 1])},
    ]
    bounds = [(None, None)] + [(0, 1)] * K + [(1e-4, 1)] * K + [(None, None)] * (2 * K * K)
    rng = np.random.default_rng(seed)
    best = np.inf
    for _ in range(starts):
        start = np.concatenate(
            [[1.0], rng.dirichlet(np.ones(K)), np.full(K, 1 / K), rng.normal(0, 0.01, 2 * K * K)]
        )
        found = optimize.minimize(
            lambda x: x[0],
            start,
            method="SLSQP",
            bounds=bounds,
            constraints=constraints,
            jac=lambda x: np.eye(len(x))[0],
            options={"maxiter": 400, "ftol": 1e-12},
        )
        if slack(found.x).min() > -1e-7:
            best = min(best, found.x[0])
    return best


class Exact:
    """The closed form in decimal arithmetic, for weights of any size.

    The largest weight is what the others leave of one, so that the sum is exact.
    """

    def __init__(self, w, G, digits=700):
        self.digits = digits
        with localcontext() as context:
            context.prec = digits
            self.w = [Decimal(float(x)) for x in w]
            top = int(np.argmax(w))
            self.w[top] = 1 - sum(x for a, x in enumerate(self.w) if a != top)
            self.support = [a for a, x in enumerate(self.w) if x > 0]
            self.G, n = Decimal(float(G)), len(self.support)
            spread = sum(x * (1 - x) for x in self.w)
            linear = self.G - n + 2
            self.kappa = (-linear + (linear**2 + 4 * n * spread).sqrt()) / (2 * n)
            k = self.kappa
            self.q = {a: (self.w[a] + k) * (1 - self.w[a] - k) / (k * self.G) for a in self.support}
            self.ratio = {
                a: (self.w[a] + k) * (1 - self.w[a]) / (self.w[a] * (1 - self.w[a] - k))
                for a in self.support
            }

    def log_ratio(self, a):
        with localcontext() as context:
            context.prec = 40
            return float((+self.ratio[a]).ln())

    def identity_error(self, s):
        """How far, relatively, Gamma by its definition is from min(s, n) kappa."""
        with localcontext() as context:
            context.prec = self.digits
            promised = min(Decimal(float(s)), len(self.support)) * self.kappa
            return float(abs(self.worst_case(s) / promised - 1))

    def worst_case(self, s):
        """Gamma of this solution from its definition, with xi(a; a, 1) = ln ratio and else 0."""
        with localcontext() as context:
            context.prec = self.digits
            values = []
            for best in self.support:
                gains = []
                for a in self.support:  # coefficient of mu_a; without a reward nothing moves
                    w, ratio = self.w[a], self.ratio[a]
                    error = (1 - w) * (1 - 1 / ratio) if a == best else w * (1 - ratio)
                    gains.append((1 if a == best else 0) - w - self.G * self.q[a] * error)
                gains = sorted((max(gain, Decimal(0)) for gain in gains), reverse=True)
                left, total = Decimal(float(s)), Decimal(0)
                for gain in gains:
                    total += gain * min(left, 1)
                    left -= min(left, 1)
                values.append(total)
            return max(values)


def real_reward_objective(solution, w, G, best, rewards, chances):
    """The objective for one model of real rewards: a pays rewards[a][i] w.p. chances[a][i]."""
    K = len(w)
    means = [sum(r * c for r, c in zip(rewards[a], chances[a], strict=True)) for a in range(K)]
    error = 0.0
    for a in range(K):
        for r, c in zip(rewards[a], chances[a], strict=True):
            up = solution.log_ratio(a, r)
            for other in range(K):
                gain = (up if other == a else 0.0) - (up if best == a else 0.0)
                error += solution.q[a] * c * w[other] * (1 - exp(gain))
    return means[best] - sum(solution.p[a] * means[a] for a in range(K)) - G * error


def dec_of_two_actions(means, G, s, points=41):
    """The decision-estimation coefficient for K = 2 by grids over p, q and the model."""
    angle = np.linspace(0, np.pi / 2, 4 * points - 3)
    one, two = np.meshgrid(np.sin(angle) ** 2, np.sin(angle) ** 2)
    allowed = one + two <= s + 1e-12
    models = np.stack([one[allowed], two[allowed]])
    phi = np.arcsin(np.sqrt(np.asarray(means)))[:, None]
    distance = 1 - np.cos(np.arcsin(np.sqrt(models)) - phi)

    def value(x):
        p, q = x
        regret = models.max(axis=0) - p * models[0] - (1 - p) * models[1]
        return (regret - G * (q * distance[0] + (1 - q) * distance[1])).max()

    grid = np.linspace(0, 1, points)
    start = min(product(grid, grid), key=value)
    found = optimize.minimize(
        value, start, method="Nelder-Mead", bounds=[(0, 1)] * 2, options={"xatol": 1e-6}
    )
    return found.fun


def dec_at_equal_references(K, G, s, points=60):
    """Lower bound on the coefficient by a grid of priors: one model for each best action.

    The best p and q against a prior play the action of the largest mean, and the one whose
    distance to the reference has the largest mean.
    """
    best = 0.0
    for level in np.linspace(0, min(s / K, 1), points):
        for high, low in product(np.linspace(0, 1, points) ** 2 * min(s, 1), np.linspace(0, 1, 9)):
            other = low * max(min((s - high) / (K - 1), high), 0)
            models = np.full((K, K), other) + np.identity(K) * (high - other)
            distance = 1 - np.sqrt(models * level) - np.sqrt((1 - models) * (1 - level))
            value = np.diag(models).mean() - models.mean(axis=0).max()
            best = max(best, value - G * distance.mean(axis=0).max())
    return best


def play_for_any_reference(means, G):
    """p and q that prove the upper bound, for G > 2K."""
    means = np.asarray(means, dtype=float)
    spread = means * (1 - means)
    K, total = len(means), spread.sum()
    price = np.full(K, G / K) if total == 0 else 2 + (G - 2 * K) * spread / total
    unit = 2 * total / (G - 2 * K)
    if unit == 0:
        return np.identity(K)[means.argmax()], price / G, 0.0
    low, high = means.max() - 2 * unit, means.max()
    for _ in range(200):
        middle = (low + high) / 2
        filled = np.maximum(means - middle, 0).sum() / (2 * unit)
        low, high = (middle, high) if filled > 1 else (low, middle)
    p = np.maximum(means - high, 0) / (2 * unit)
    return p / p.sum(), price / G, unit * (1 - (p / p.sum()) @ (p / p.sum()))


def unlimited_worst_case(p, q, means, G, points=20_001):
    """Largest mu[a*] - p.mu - G q.H2(mu, l) over a* and mu in [0, 1]^K, whatever mu sums to."""
    grid = np.sin(np.linspace(0, np.pi / 2, points)) ** 2
    values = []
    for best in range(len(means)):
        total = 0.0
        for a, mean in enumerate(means):
            distance = 1 - np.sqrt(grid * mean) - np.sqrt((1 - grid) * (1 - mean))
            total += (((a == best) - p[a]) * grid - G * q[a] * distance).max()
        values.append(total)
    return max(values)
