"""The decision-estimation coefficient of sparse rewards: how hard the problem is in theory.

The paper bounds the regret of exploration by optimization through this coefficient: the smallest
worst-case regret of a recommendation p that an estimation error of q, G times over, does not pay
for. For 0/1 rewards with means mu in [0, 1]^K, sum mu <= s, and reference means l it is

    min over p, q of max over a*, mu of  mu[a*] - p.mu - G sum_a q_a H2(mu_a, l_a),

H2 the squared Hellinger distance of two coins, and convex (docs/maths.md, "Exploration by
optimization"). Nothing here is needed to learn. `dec` needs clarabel, of the extra ``exact``.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.theory.cones import ConeProgramme
from policysieve.theory.objective import as_vector

__all__ = ["DecSolution", "check_coefficient", "closed_form_bound", "dec", "dec_bound"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecSolution:
    """A decision-estimation coefficient and the two distributions that attain it.

    Attributes
    ----------
    value : float
        The worst case over all models of `p` and `q`, computed for them and not taken from the
        solver: never below the coefficient, whatever the solver did.
    p : (K,) array
        Distribution to recommend from.
    q : (K,) array
        Distribution to play from.
    """

    value: float
    p: Array
    q: Array


def dec_bound(gamma: float, sparsity: float, n_actions: int) -> float:
    """Return the paper's bound 64 s / gamma on the coefficient at any reference.

    Parameters
    ----------
    gamma : float
        Price G of information. The bound is proved for G >= 32 K and refused below.
    sparsity : float
        Bound s on the sum of the K mean rewards.
    n_actions : int
        K.

    Notes
    -----
    The paper's theorem on the coefficient of sparse rewards, whose constant is in its proof. The
    bounds of `dec_supremum` are some thirty times smaller.
    """
    gamma, sparsity, n_actions = check_coefficient(gamma, sparsity, n_actions)
    if gamma < 32 * n_actions:
        raise InvalidArgumentError(
            f"gamma must be at least 32 * n_actions = {32 * n_actions} for the paper's bound, got "
            f"{gamma:g}; dec computes the coefficient itself for any gamma"
        )
    return 64 * sparsity / gamma


def closed_form_bound(gamma: float, sparsity: float, n_actions: int) -> float:
    """Return the largest value of the closed form over all weights: that of uniform weights.

    s kappa with K kappa^2 + (G - K + 2) kappa = 1 - 1/K, at most s / (G - K + 2).

    Parameters
    ----------
    gamma : float
        Price G >= K of information.
    sparsity : float
        Bound s on the sum of the K mean rewards.
    n_actions : int
        K.

    Notes
    -----
    docs/maths.md, "Exploration by optimization". It takes the place of the coefficient in the
    paper's guarantee, where the latter stands at gamma / 8.
    """
    gamma, sparsity, K = check_coefficient(gamma, sparsity, n_actions)
    if gamma < K:
        raise InvalidArgumentError(
            f"gamma must be at least n_actions = {K} for the closed form, got {gamma:g}"
        )
    linear, spread = gamma - K + 2, 1 - 1 / K
    return sparsity * 2 * spread / (linear + sqrt(linear**2 + 4 * K * spread))


def dec(reference_means: npt.ArrayLike, gamma: float, sparsity: float) -> DecSolution:
    """Compute the decision-estimation coefficient at one reference, for 0/1 rewards.

    Parameters
    ----------
    reference_means : (K,) array-like
        Mean rewards l of the reference model, in [0, 1], summing to at most `sparsity`.
    gamma : float
        Price G > 0 of information.
    sparsity : float
        Bound s on the sum of the K mean rewards of every model.

    Returns
    -------
    DecSolution

    Raises
    ------
    MissingExtraError
        When clarabel is not installed.

    Notes
    -----
    docs/maths.md, "Exploration by optimization". In g = G q the affinity g sqrt(mu l) is the
    minimum over t of t mu + g^2 l / (4t), and the model's budget has the dual
    min over lambda >= 0 of s lambda + sum_a (c_a - lambda)_+. With D = 2t - g the bounds of all
    quadratic terms are rotated cones, and terms of size 1/G are variables in units of K/G.

    Examples
    --------
    >>> round(dec([0.1] * 10, gamma=1000, sparsity=1).value, 5)
    0.00164
    """
    means, gamma, sparsity = _check_reference(reference_means, gamma, sparsity)
    p, q = _solve(means, gamma, sparsity)
    return DecSolution(value=_worst_case(p, q, means, gamma, sparsity), p=p, q=q)


def _solve(means: Array, gamma: float, sparsity: float) -> tuple[Array, Array]:
    """The optimal p and q."""
    K = len(means)
    unit = K / gamma
    square = (K, K)  # (a*, a)
    v = ConeProgramme(
        "dec",
        worst=(1,),
        p=(K,),
        plays=(K,),  # K q
        none=square,  # D of no reward
        drift=square,  # (t1 - t0 - p + 1[a = a*]) / unit: the coefficient of mu
        bend_none=square,  # (1 - l) D^2 / v
        bend_reward=square,  # l D^2 / v
        regret=(1,),  # of p on the reference, over unit
        level=(K,),  # lambda
        over=square,  # (c - lambda)_+
    )
    row, column = np.divmod(np.arange(K * K), K)
    each = sparse.kron(sparse.identity(K), np.ones(K), format="csr")  # sum over a, for each a*
    all_actions = sparse.csr_matrix(np.ones((1, K)))
    gaps = means.max() - means

    v.equal(all_actions @ v["p"], 1.0)
    v.at_least(v["p"], 0.0)
    v.equal(all_actions @ v["plays"], K)
    v.equal(sparse.csr_matrix(gaps) @ v["p"] - unit * v["regret"], 0.0)

    best = v.constant(np.where(row == column, 1.0, 0.0))
    reward = v["none"] + 2 * (v["p"][column] - best + unit * v["drift"])
    plays = v["plays"][column]
    likely, unlikely = (sparse.diags(np.sqrt(x[column])) for x in (means, 1 - means))
    v.rotated(v["bend_none"], plays + unit * v["none"], unlikely @ v["none"])
    v.rotated(v["bend_reward"], plays + unit * reward, likely @ reward)

    v.at_least(v["level"], 0.0)
    v.at_least(v["over"], 0.0)
    v.at_least(v["over"] + v["level"][row] - v["drift"], 0.0)
    bends = (v["bend_none"] + v["bend_reward"]) / 2
    spent = each @ (bends + v["over"] - sparse.diags(means[column]) @ v["drift"])
    spent = spent + sparsity * v["level"] - v.constant(gaps / unit)
    same = np.zeros(K, dtype=int)
    v.at_least(v["worst"][same] - v["regret"][same] - spent, 0.0)

    found = v.minimise("worst")
    p, q = np.maximum(found["p"], 0.0), np.maximum(found["plays"], 0.0)
    return p / p.sum(), q / q.sum()


def _worst_case(p: Array, q: Array, means: Array, gamma: float, sparsity: float) -> float:
    """Largest mu[a*] - p.mu - G q.H2(mu, l) over a* and mu, by its dual in lambda.

    With mu = sin^2 theta and l = sin^2 phi, H2 = 2 sin^2((theta - phi) / 2).
    """
    K = len(means)
    gain = np.identity(K) - p  # one row for each a*
    phi, price = np.arcsin(np.sqrt(means)), gamma * q

    def dual(level: Array) -> tuple[Array, Array]:
        """For each a*: the value of the dual, and how much of the budget its mu leaves."""
        slope = gain - level[:, None]
        low, high = np.zeros((K, K)), np.full((K, K), np.pi / 2)
        for _ in range(60):  # concave in mu, so that the derivative changes its sign once
            theta = (low + high) / 2
            rising = slope * np.sin(2 * theta) > price * np.sin(theta - phi)
            low, high = np.where(rising, theta, low), np.where(rising, high, theta)
        mu = np.sin(high) ** 2
        worth = slope * mu - 2 * price * np.sin((high - phi) / 2) ** 2
        return sparsity * level + worth.sum(axis=1), sparsity - mu.sum(axis=1)

    low, high = np.zeros(K), np.ones(K)
    value, left = dual(low)
    best = np.where(left >= 0, value, np.inf)
    for _ in range(60):
        middle = (low + high) / 2
        value, left = dual(middle)
        best = np.minimum(best, value)
        low, high = np.where(left < 0, middle, low), np.where(left < 0, high, middle)
    return max(float(best.max()), 0.0)  # the reference itself has no negative regret


def check_coefficient(gamma: Any, sparsity: Any, n_actions: Any) -> tuple[float, float, int]:
    """Check the three numbers that every bound on the coefficient takes."""
    n_actions = integer("n_actions", n_actions, low=1)
    gamma = number("gamma", gamma, above=0, below=np.inf)
    hint = "it bounds the sum of the n_actions mean rewards"
    sparsity = number("sparsity", sparsity, above=0, below=n_actions, closed=True, hint=hint)
    return gamma, sparsity, n_actions


def _check_reference(means: Any, gamma: Any, sparsity: Any) -> tuple[Array, float, float]:
    array = as_vector("reference_means", means, "lie in [0, 1]")
    gamma, sparsity, _ = check_coefficient(gamma, sparsity, len(array))
    if array.sum() > sparsity + 1e-9:
        raise InvalidArgumentError(
            f"reference_means must sum to at most the sparsity {sparsity:g}, got "
            f"{array.sum():g}; scale them down or raise sparsity"
        )
    return array, gamma, sparsity
