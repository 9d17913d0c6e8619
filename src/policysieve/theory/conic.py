"""The optimum of exploration by optimization, as a second-order cone programme.

For tests and for pictures of what the closed form gives away; far too slow for every round. Needs
clarabel, which the extra ``exact`` brings.

With rho = exp(xi) normalised to sum_{a'} w_{a'} rho(a') = 1 for every played a and seen o, the
estimation term is q_a (1 - 1 / rho(a*)). In v = G q rho it is convex: with the deviation
D = v - G q, which w averages to zero, it is D - D^2 / v, so a bound Y >= D^2 / v is a rotated
cone. The knapsack over mu has the dual min over l >= 0 of s l + sum_a (c_a - l)_+.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse

from policysieve.theory.cones import ConeProgramme
from policysieve.theory.objective import (
    Array,
    ExplorationSolution,
    check_objective,
    exploration_value,
)

__all__ = ["conic_reference"]


def conic_reference(w: npt.ArrayLike, gamma: float, sparsity: float) -> ExplorationSolution:
    """Minimise Gamma over all (p, q, xi) for 0/1 rewards.

    Parameters
    ----------
    w : (K,) array-like
        Marginal of the reference weights, a probability vector. About 10 ms for 10 actions of
        positive weight, half a second for 50; positive weights below 1e-6 cost accuracy.
    gamma : float
        Price G >= n of information, n the number of actions of positive weight.
    sparsity : float
        Bound s on the sum of the K mean rewards.

    Returns
    -------
    ExplorationSolution
        With xi in its long form. Its value is that of `exploration_value`, so it is attained
        whatever the solver did, and a solver that stopped early shows in it.

    Raises
    ------
    MissingExtraError
        When clarabel is not installed.

    Notes
    -----
    docs/maths.md, "Exploration by optimization". Everything of size 1/G is a variable in units of
    n/G: p - w, Y, 1/v, the coefficients of mu, and what D(o=1) - D(o=0) differs from
    1[a' = a] - w_a, its limit for large G. Without that the result is off by half for G >= 32 n.
    """
    w, gamma, sparsity = check_objective(w, gamma, sparsity)
    support = np.flatnonzero(w)
    n = len(support)
    q, xi = w.copy(), np.zeros((len(w), len(w), 2))
    p = w.copy()
    if n > 1:
        p[support], q[support], xi[np.ix_(support, support)] = _solve(w[support], gamma, sparsity)
    value = exploration_value(p, q, xi, w, gamma, sparsity)
    return ExplorationSolution(p=p, q=q, xi=xi, value=value)


def _solve(w: Array, gamma: float, sparsity: float) -> tuple[Array, Array, Array]:
    """The optimal p, q and xi, long form, when every weight is positive."""
    n = len(w)
    unit = n / gamma
    square = (n, n)  # (a', a), or (a*, a)
    v = ConeProgramme(
        "conic_reference",
        worst=(1,),  # Gamma / unit
        p=(n,),  # (p - w) / unit
        plays=(n,),  # n q
        none=square,  # D(o=0)
        drift=square,  # D(o=1) - D(o=0) less its limit, over unit
        bend_none=square,  # Y(o=0) / unit
        bend_reward=square,  # Y(o=1) / unit
        total=(n,),  # sum_a D(o=0) / unit
        level=(n,),  # l / unit
        over=square,  # (c - l)_+ / unit
    )
    row, column = np.divmod(np.arange(n * n), n)
    mean = sparse.kron(w, sparse.identity(n), format="csr")  # over a', for each a
    each = sparse.kron(sparse.identity(n), np.ones(n), format="csr")  # sum over a, for each a*
    all_actions = sparse.csr_matrix(np.ones((1, n)))

    v.equal(all_actions @ v["p"], 0.0)
    v.at_least(v["p"], -w / unit)
    v.equal(all_actions @ v["plays"], n)
    v.equal(mean @ v["none"], 0.0)
    v.equal(mean @ v["drift"], 0.0)
    v.equal(each @ v["none"] - unit * v["total"], 0.0)

    limit = v.constant(np.where(row == column, 1.0, 0.0) - w[column])
    reward = v["none"] + limit + unit * v["drift"]  # D(o=1)
    plays = v["plays"][column]
    v.rotated(v["bend_none"], plays + unit * v["none"], v["none"])
    v.rotated(v["bend_reward"], plays + unit * reward, reward)

    gain = v["bend_reward"] - v["bend_none"] - v["drift"] - v["p"][column]
    v.at_least(v["level"], 0.0)
    v.at_least(v["over"], 0.0)
    v.at_least(v["over"] + v["level"][row] - gain, 0.0)
    spent = each @ (v["bend_none"] + v["over"]) - v["total"] + sparsity * v["level"]
    v.at_least(v["worst"][np.zeros(n, dtype=int)] - spent, 0.0)

    found = v.minimise("worst")
    p = np.maximum(w + unit * found["p"], 0.0)
    plays = np.maximum(found["plays"], 1e-12)
    none = found["none"]
    reward = none + np.identity(n) - w + unit * found["drift"]
    factors = 1 + unit * np.stack([none, reward], axis=-1) / plays[:, None]
    return p / p.sum(), plays / plays.sum(), np.log(np.maximum(factors, 1e-12))
