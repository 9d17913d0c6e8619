"""Solving the optimisation of exploration by optimization (docs/maths.md, same title).

The paper calls the minimisation of Gamma (see `theory.objective`) computationally challenging.
For sparse rewards it has a closed form that a learner can afford in every round; it is derived in
docs/exploration-by-optimization.md.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.kernels.by_optimization import (
    closed_form_log_ratios,
    closed_form_q,
    real_valued_log_ratio,
    real_valued_q,
)
from policysieve.theory.objective import (
    Array,
    ExplorationSolution,
    check_objective,
    sum_of_others,
)

__all__ = ["RealValuedSolution", "closed_form", "real_valued", "second_tier"]

# Baselines that the second tier tries first, as u = -ln(1 - 2x): for many rewarded actions the
# best x lies close to 1/2.
_GRID = np.geomspace(0.01, 14, 24)


@dataclass(frozen=True, kw_only=True, eq=False)
class RealValuedSolution(ExplorationSolution):
    """A solution for rewards anywhere in [0, 1].

    Its `xi` holds the log-factors at the rewards 0 and 1; `log_ratio` gives them in between.

    Attributes
    ----------
    weights : (K,) array
        The marginal w it was made for.
    excess : float
        G - n, where n actions have positive weight.
    """

    weights: Array
    excess: float

    def log_ratio(self, action: int, reward: float) -> float:
        """xi(a; a, r): what the policies that choose a gain on all others after reward r at a."""
        reward = number("reward", reward, above=0, below=1, closed=True, closed_below=True)
        if not self.weights[action] > 0 or self.value == 0:
            return 0.0  # played by no one, or by everyone: there is nothing to move
        return float(real_valued_log_ratio(self.weights[action], self.excess, reward))


def closed_form(w: npt.ArrayLike, gamma: float, sparsity: float) -> ExplorationSolution:
    """Solve for 0/1 rewards in O(K): p = w, and a reward at a moves w_a to w_a + kappa.

    Parameters
    ----------
    w : (K,) array-like
        Marginal of the reference weights, a probability vector. Actions of weight zero are left
        out: q is 0 there, and only the n others count.
    gamma : float
        Price G >= n of information; G > 1.2 n keeps q away from zero.
    sparsity : float
        Bound s on the sum of the K mean rewards; it enters the value only.

    Returns
    -------
    ExplorationSolution
        Of value min(s, n) kappa <= s (1 - |w|^2) / (G - n + 2).

    Notes
    -----
    docs/maths.md, "Exploration by optimization". With this p, q and xi every mean reward mu_a has
    the same coefficient kappa, whichever action is best, so no model is worse than another. A
    point mass has kappa = 0: nothing is left to learn, and xi = 0.

    Examples
    --------
    >>> solution = closed_form([0.5, 0.3, 0.2], gamma=30, sparsity=1)
    >>> round(solution.value, 4)
    0.0213
    """
    w, gamma, sparsity = check_objective(w, gamma, sparsity)
    q, xi = np.empty(len(w)), np.zeros((len(w), 2))
    kappa = float(closed_form_q(w, gamma, q))
    closed_form_log_ratios(w, kappa, q, gamma, xi[:, 1])
    value = min(sparsity, int(np.count_nonzero(w))) * kappa
    return ExplorationSolution(p=w, q=q, xi=xi, value=value)


def real_valued(w: npt.ArrayLike, gamma: float, sparsity: float) -> RealValuedSolution:
    """Solve for rewards in [0, 1] whose second moments sum to at most `sparsity`.

    q = 1/G + (1 - n/G) w on the n actions of positive weight, p = w, and
    xi(a; a, r) = -ln(1 - r / (G q_a)), every other xi = 0.

    Parameters
    ----------
    w : (K,) array-like
        Marginal of the reference weights, a probability vector.
    gamma : float
        Price G > n of information.
    sparsity : float
        Bound s on the sum over actions of E r^2.

    Returns
    -------
    RealValuedSolution
        Of value min(s, n - 1) / (G - n): rewards of 0 or 1 are the worst.

    Notes
    -----
    docs/maths.md, "Exploration by optimization". The worst case for a best action a* is
    sum over a != a* of w_a E[r^2 / (G q_a - r)], and G q_a - r >= (G - n) w_a.
    """
    w, gamma, sparsity = check_objective(w, gamma, sparsity)
    support = np.flatnonzero(w)
    n = len(support)
    if n > 1 and gamma <= n:
        raise InvalidArgumentError(
            f"gamma must be greater than the number of actions with positive weight, {n}, for "
            f"real-valued rewards, got {gamma:g}; take twice that number or more"
        )
    q, xi = np.empty(len(w)), np.zeros((len(w), 2))
    excess = float(real_valued_q(w, gamma, q))
    if n > 1:
        xi[support, 1] = [real_valued_log_ratio(w[a], excess, 1.0) for a in support]
    value = min(sparsity, n - 1) / excess if n > 1 else 0.0
    return RealValuedSolution(p=w, q=q, xi=xi, value=value, weights=w, excess=excess)


def second_tier(w: npt.ArrayLike, gamma: float, sparsity: float) -> ExplorationSolution:
    """Solve for 0/1 rewards with a baseline: a round without reward counts a little as well.

    Never worse than `closed_form`, and better when gamma is small or `sparsity` is not small
    against the number of actions; but it takes about ten milliseconds.

    Parameters
    ----------
    w : (K,) array-like
        Marginal of the reference weights, a probability vector.
    gamma : float
        Price G >= n of information.
    sparsity : float
        Bound s on the sum of the K mean rewards.

    Returns
    -------
    ExplorationSolution
        Of value sum delta + min(s, n) kappa in the notation below.

    Notes
    -----
    docs/maths.md, "Exploration by optimization". A reward at a moves w_a up by
    kappa'_a / (1 - x), none moves it down by delta_a / x, kappa' = kappa + delta. Both kinds of
    coefficients are then kappa again and Gamma = sum delta + s kappa. A root in kappa makes q sum
    to one, and a search over the baseline x minimises Gamma; x = 0 is the closed form.
    """
    first = closed_form(w, gamma, sparsity)
    support = np.flatnonzero(first.p)
    if len(support) == 1:
        return first
    tier = _Baseline(first.p[support], gamma, min(sparsity, len(support)))
    near = int(np.argmin([tier.value(u) for u in _GRID]))  # there may be several minima
    found = optimize.minimize_scalar(
        tier.value,
        bounds=(_GRID[near - 1] if near else 0.0, _GRID[min(near + 1, len(_GRID) - 1)]),
        method="bounded",
        options={"xatol": 1e-6},
    )
    if not found.fun < first.value:
        return first
    q, xi = np.zeros(len(first.p)), np.zeros((len(first.p), 2))
    q[support], xi[support] = tier.solution(found.x)
    return ExplorationSolution(p=first.p, q=q, xi=xi, value=float(found.fun))


class _Baseline:
    """The second tier on actions of positive weight; kappa and delta in units of `rest`.

    The baseline is x = (1 - exp(-u)) / 2.
    """

    def __init__(self, w: Array, gamma: float, sparsity: float) -> None:
        self.w, self.gamma, self.sparsity = w, gamma, sparsity
        self.others = sum_of_others(w)
        self.rest = float(self.others.min())  # 1 - max w, never zero
        self.spread = w * (self.others / self.rest)

    def value(self, u: float) -> float:
        """Gamma at u; where there is no solution, more than any value that matters."""
        found = self.solve(u)
        if found is None:
            return self.sparsity + u
        kappa, delta, _ = found
        return self.rest * float(delta.sum() + self.sparsity * kappa)

    def solve(self, u: float) -> tuple[float, Array, Array] | None:
        """The kappa whose q sums to one, with its delta and G q."""

        def too_many(log_kappa: float) -> float:
            found = self.try_kappa(float(np.exp(log_kappa)), u)
            return -1.0 if found is None else float(found[1].sum()) / self.gamma - 1

        low = high = -np.log(self.gamma) - u
        while too_many(low) <= 0:
            low -= 1
            if low < -100:
                return None
        while too_many(high) > 0:
            high += 1
        root = optimize.brentq(too_many, low, high, xtol=1e-15, rtol=1e-15)
        kappa = float(np.exp(root))
        found = self.try_kappa(kappa, u)
        if found is None or abs(too_many(root)) > 1e-12:
            return None  # it ends before its sum gets there
        return kappa, *found

    def try_kappa(self, kappa: float, u: float) -> tuple[Array, Array] | None:
        """Delta and G q for a given kappa, or None when there are none.

        delta is the positive root of R d^2 + d (R kappa + V (1 - 2x)) = V x^2 kappa.
        """
        x = -np.expm1(-u) / 2
        slope = (self.others - self.w) - kappa * self.rest
        linear = slope * kappa + self.spread * np.exp(-u)
        level = self.spread * x**2 * kappa
        square = linear**2 + 4 * slope * level
        if square.min() < 0:
            return None
        half = linear + np.sqrt(square)
        if half.min() <= 0:
            return None
        delta = 2 * level / half
        up = self.rest * (kappa + delta)
        left = self.others * (1 - x) - up
        if left.min() <= 0 or (self.rest * delta >= x * self.w).any():
            return None
        return delta, left * ((self.w * (1 - x) + up) / up)

    def solution(self, u: float) -> tuple[Array, Array]:
        """The distribution q and the log-factors xi at u."""
        found = self.solve(u)
        assert found is not None
        kappa, delta, plays = found
        x = -np.expm1(-u) / 2
        up, down = self.rest * (kappa + delta) / (1 - x), self.rest * delta / x
        gain = np.logaddexp(0.0, np.log(up) - np.log(self.w))  # up / w alone may overflow
        reward = gain - np.log1p(-up / self.others)
        nothing = np.log1p(-down / self.w) - np.log1p(down / self.others)
        return plays / plays.sum(), np.stack([nothing, reward], axis=1)
