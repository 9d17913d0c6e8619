"""The decision-estimation coefficient over all references, between two bounds.

The paper's coefficient is the largest of `dec` over the reference means l in [0, 1]^K, sum l <= s.
It is bounded from above by a recommendation and a play that are good at every reference, and from
below by a reference and a prior on models (docs/maths.md, "The coefficient over all references").
Nothing here is needed to learn, and no solver is needed either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import asin, exp, log, sin, sqrt

import numpy as np
import numpy.typing as npt
from scipy import optimize

from policysieve.theory.coefficient import check_coefficient

__all__ = ["DecSupremum", "dec_supremum"]

_CLOSEST = 1e-12  # the best action's lead in the models of the lower bound, at least


@dataclass(frozen=True, kw_only=True, eq=False)
class DecSupremum:
    """Bounds on the largest decision-estimation coefficient over all references.

    Attributes
    ----------
    lower, upper : float
    reference : (K,) array
        Means at which the coefficient is at least `lower`.
    """

    lower: float
    upper: float
    reference: npt.NDArray[np.float64]


def dec_supremum(gamma: float, sparsity: float, n_actions: int) -> DecSupremum:
    """Bound the decision-estimation coefficient of sparse 0/1 rewards, the largest over references.

    Parameters
    ----------
    gamma : float
        Price G > 0 of information.
    sparsity : float
        Bound s on the sum of the K mean rewards.
    n_actions : int
        K.

    Returns
    -------
    DecSupremum
        The bounds approach each other as G/K grows.

    Notes
    -----
    docs/maths.md, "The coefficient over all references". From above, with v = s (1 - s/K), or K/4
    if s > K/2: 2 (1 - 1/K) v/(G - 2K) for G > 2K, and (1 - 1/K) min(s, 1) always. From below, at
    equal references l and for a best action drawn uniformly, of mean y + d when others have y:

        (1 - 1/K) d - (G/K) (H2(y + d, l) + (K - 1) H2(y, l)),

    for the best l, y and d that fit the sparsity. The paper proves 64 s/G for G >= 32 K.

    Examples
    --------
    >>> found = dec_supremum(gamma=1000, sparsity=1, n_actions=10)
    >>> round(found.lower, 5), round(found.upper, 5)
    (0.00164, 0.00165)
    """
    G, s, K = check_coefficient(gamma, sparsity, n_actions)
    upper = (1 - 1 / K) * min(s, 1.0)
    if G > 2 * K:
        spread = s * (1 - s / K) if s < K / 2 else K / 4
        upper = min(upper, 2 * (1 - 1 / K) * spread / (G - 2 * K))
    lower, level = _hardest_level(G, s, K) if K > 1 else (0.0, s)
    return DecSupremum(lower=lower, upper=upper, reference=np.full(K, level))


def _hardest_level(gamma: float, s: float, n_actions: int) -> tuple[float, float]:
    """The lower bound and the l of its reference. It is jointly concave in y, d and l."""
    G, K = gamma, n_actions

    def level(y: float, d: float) -> float:
        """The l closest to the models: it maximises A sqrt(l) + B sqrt(1 - l)."""
        A = sqrt(y + d) + (K - 1) * sqrt(y)
        B = sqrt(max(1 - y - d, 0.0)) + (K - 1) * sqrt(1 - y)
        return min(A**2 / (A**2 + B**2), s / K)

    def value(y: float, d: float) -> float:
        at = level(y, d)
        return (1 - 1 / K) * d - G / K * (_hellinger(y + d, at) + (K - 1) * _hellinger(y, at))

    def best_y(d: float) -> float:
        most = max(min((s - d) / K, 1 - d), 0.0)
        return _largest(lambda y: value(y, d), 0.0, most)

    widest = log(min(s, 1.0))
    d = exp(_largest(lambda t: value(best_y(exp(t)), exp(t)), log(_CLOSEST), widest))
    y = best_y(d)
    return max(value(y, d), 0.0), level(y, d)  # the reference itself has no negative regret


def _hellinger(one: float, other: float) -> float:
    """Squared Hellinger distance of two coins, 2 sin^2 of half the difference of their angles."""
    one, other = (asin(sqrt(min(mean, 1.0))) for mean in (one, other))
    return 2 * sin((one - other) / 2) ** 2


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is largest, its ends included."""
    found = optimize.minimize_scalar(
        lambda x: -function(x), bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    return max(low, float(found.x), high, key=function)
