"""What exploration by optimization minimises, evaluated exactly (docs/maths.md, same title).

Given the marginal w of the reference weights at a context, the paper's Algorithm 1 looks for
(p, q, xi) with a small worst case Gamma, over models and best actions a*, of

    mu[a*] - p.mu - G sum_a q_a E_{o|a} sum_{a'} w_{a'} (1 - exp(xi(a'; a, o) - xi(a*; a, o))),

where mu in [0, 1]^K are the mean rewards, sum mu <= s, and G is the paper's gamma.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_numbers, number
from policysieve.errors import InvalidArgumentError

__all__ = [
    "Array",
    "ExplorationSolution",
    "as_vector",
    "check_objective",
    "exploration_value",
    "sum_of_others",
]

Array = npt.NDArray[np.float64]

_SUM_SLACK = 1e-9  # how far the entries of a probability vector may be from summing to one


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplorationSolution:
    """What to recommend, what to play and how to update, at one context.

    Attributes
    ----------
    p : (K,) array
        Distribution to recommend from.
    q : (K,) array
        Distribution to play from.
    xi : (K, 2) or (K, K, 2) array
        Log-factors of the exponential-weights update. A policy that chooses a', after a was
        played and o in {0, 1} was seen, has its weight multiplied by exp of xi[a', a, o]; or, in
        the short form, of xi[a, o] when a' = a and of 0 otherwise.
    value : float
        Gamma of these three: the worst case over all models and best actions.
    """

    p: Array
    q: Array
    xi: Array
    value: float


def exploration_value(
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    xi: npt.ArrayLike,
    w: npt.ArrayLike,
    gamma: float,
    sparsity: float,
) -> float:
    """Evaluate Gamma of any (p, q, xi) for 0/1 rewards exactly, in O(K^2).

    Parameters
    ----------
    p, q : (K,) array-like
        Distributions to recommend and to play from.
    xi : (K, 2) or (K, K, 2) array-like
        Log-factors, as in `ExplorationSolution`; those of an a' of weight zero, or for an a that
        is never played, are not looked at.
    w : (K,) array-like
        Marginal of the reference weights.
    gamma, sparsity : float
        G and s of the objective.

    Returns
    -------
    float
        The maximum over best actions a* of positive weight and over mean rewards mu. An a* of
        weight zero cannot attain it: its own log-factor is in no average, so that nothing keeps
        it from being infinite, and then the error for that a* is as large as can be.

    Notes
    -----
    For given a* the objective is linear in mu, and its maximum over mu in [0, 1]^K, sum mu <= s,
    is a knapsack that is filled with the largest coefficients first, the last one partly.
    """
    w, gamma, sparsity = check_objective(w, gamma, sparsity)
    p, q = _as_distribution("p", p, len(w)), _as_distribution("q", q, len(w))
    support = np.flatnonzero(w)
    xi = _as_log_factors(xi, w, q)
    best = np.arange(len(support)), support
    gain = np.identity(len(w))[support] - p  # of mu_a, one row for each a*
    with np.errstate(over="ignore"):  # a hopeless xi has an infinite value
        if xi.ndim == 2:
            excess = np.tile(_other_excess(w, xi), (len(support), 1, 1))
            excess[best] = (sum_of_others(w)[:, None] * np.expm1(-xi))[support]
        else:
            excess = _excess(w[support], xi[support])
        excess *= gamma * q[:, None]
    gain += excess[..., 1] - excess[..., 0]
    return float(np.max(excess[..., 0].sum(axis=1) + _knapsack(gain, sparsity)))


def _other_excess(w: Array, xi: Array) -> Array:
    """E_{a'~w} exp(xi(a'; a, o) - xi(a*; a, o)) - 1 for a* != a and xi in the short form."""
    with np.errstate(divide="ignore"):
        large = np.exp(xi + np.log(w)[:, None])  # exp(xi) alone may overflow
    return np.where(xi > 700, large, w[:, None] * np.expm1(np.minimum(xi, 700)))


def _excess(w: Array, xi: Array) -> Array:
    """E_{a'~w} exp(xi(a'; a, o) - xi(a*; a, o)) - 1 for all a*, along the first axis."""
    largest, usual = xi.max(axis=0), xi[w.argmax()]
    near = largest - usual < 600
    shift = np.where(near, usual, largest)
    relative = xi - shift
    mean = np.tensordot(w, np.expm1(relative), 1)  # accurate where most of xi hardly differs
    log_mean = np.log(np.where(near, 1.0, np.tensordot(w, np.exp(relative), 1)))
    log_mean += np.log1p(np.where(near, mean, 0.0))
    return np.asarray(np.expm1(log_mean - relative))


def _knapsack(values: Array, size: float) -> Array:
    """Largest v.mu over mu in [0, 1]^K with sum mu <= size, for each row v."""
    values = np.maximum(values, 0.0)
    whole = int(size)
    if whole >= values.shape[1]:
        return np.asarray(values.sum(axis=1))
    ordered = -np.partition(-values, whole, axis=1)
    return np.asarray(ordered[:, :whole].sum(axis=1) + (size - whole) * ordered[:, whole])


def sum_of_others(w: Array) -> Array:
    """1 - w, entry by entry, without losing digits where w is close to one."""
    before, after = np.cumsum(w[:-1]), np.cumsum(w[:0:-1])[::-1]
    return np.asarray(np.concatenate([[0.0], before]) + np.concatenate([after, [0.0]]))


def check_objective(w: Any, gamma: Any, sparsity: Any) -> tuple[Array, float, float]:
    """Check the three arguments that every solver takes; return w summing to one."""
    weights = _as_distribution("w", w)
    size = np.count_nonzero(weights)
    gamma = number("gamma", gamma, above=0, below=np.inf)
    if gamma < size:
        raise InvalidArgumentError(
            f"gamma must be at least the number of actions with positive weight, {size}, got "
            f"{gamma:g}; twice that number is a good start"
        )
    hint = "it bounds the sum of the K mean rewards"
    sparsity = number("sparsity", sparsity, above=0, below=len(weights), closed=True, hint=hint)
    return weights, gamma, sparsity


def as_vector(
    name: str, values: Any, rule: str, *, most: float = 1.0, size: int | None = None
) -> Array:
    """Return a number in [0, most] for each action, else raise; `rule` says what they must be."""
    array = as_numbers(name, values)
    if array.ndim != 1 or not len(array) or (size is not None and len(array) != size):
        expected = "(K,), K >= 1" if size is None else f"({size},) like w"
        raise InvalidArgumentError(f"{name} must have shape {expected}, got {array.shape}")
    bad = ~((array >= 0) & (array <= most))  # NaN compares false
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise InvalidArgumentError(f"{name} must {rule}, got {array[first]:g} for action {first}")
    return array


def _as_distribution(name: str, values: Any, size: int | None = None) -> Array:
    array = as_vector(name, values, "hold probabilities", most=1 + _SUM_SLACK, size=size)
    total = float(array.sum())
    if abs(total - 1) > _SUM_SLACK:
        raise InvalidArgumentError(
            f"{name} must sum to 1, got {total:.12g}; divide it by its sum first"
        )
    return array / total


def _as_log_factors(values: Any, w: Array, q: Array) -> Array:
    xi = as_numbers("xi", values)
    K = len(w)
    if xi.shape not in {(K, 2), (K, K, 2)}:
        raise InvalidArgumentError(f"xi must have shape ({K}, 2) or ({K}, {K}, 2), got {xi.shape}")
    xi[..., q == 0, :] = 0.0  # never seen
    xi[w == 0] = 0.0  # nobody's
    if not np.isfinite(xi).all():
        raise InvalidArgumentError(
            f"xi must be finite where w and q are positive, got {xi[~np.isfinite(xi)][0]}"
        )
    return xi
