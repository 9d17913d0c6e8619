"""Bets on capped scores: their stakes, and what rounds earn for them.

The formulas are in docs/maths.md, "Capped scores".
"""

import numpy as np
import numpy.typing as npt

from policysieve.evidence.past import Past
from policysieve.kernels.capped import SLACK
from policysieve.kernels.capped_values import AGAINST, add_value_factors
from policysieve.problem import Problem

__all__ = [
    "FIXED_STAKES",
    "N_STAKES",
    "N_SUMS",
    "STAKE_SHARES",
    "add_rounds",
    "log_factors",
    "log_factors_of_few",
    "shrinkage",
    "sparsity_of",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

FIXED_STAKES = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 0.75])  # divided by the slate size,
STAKE_SHARES = np.array([0.1, 0.3, 0.9])  # and of a typical propensity
N_STAKES = len(FIXED_STAKES) + len(STAKE_SHARES)
N_SUMS = 7  # of a policy's scores, beside its bets


def sparsity_of(problem: Problem) -> float:
    """How much the items of a slate can earn together, as far as that is known."""
    return float(problem.slate_size) if problem.sparsity is None else problem.sparsity


def add_rounds(
    totals: Array,
    problem: Problem,
    past: Past,
    leader: int,
    policies: Numbers,
    epsilons: Array,
    new: int,
    weight: float = 1.0,
) -> None:
    """Add what the last `new` rounds say to totals of shape (len(policies), n).

    These are the log-wealth of bets on a leader against the policies, for each epsilon and stake,
    and the seven sums if there are more columns; `weight` is that of the rounds.
    """
    if new and len(policies):
        past.add_terms(
            totals,
            leader,
            policies,
            len(past) - new,
            sparsity_of(problem),
            FIXED_STAKES / problem.slate_size,
            STAKE_SHARES / problem.slate_size,
            epsilons,
            weight,
        )


def log_factors(
    problem: Problem, past: Past, leader: int, rivals: Numbers, epsilons: Array, new: int
) -> Array:
    """Log-wealth that the last `new` rounds earn for bets on a leader against rivals.

    Returns
    -------
    float array of shape (n_rivals, n_epsilons, n_stakes)
    """
    wealth = np.zeros((len(rivals), len(epsilons) * N_STAKES))
    add_rounds(wealth, problem, past, leader, rivals, epsilons, new)
    return wealth.reshape(len(rivals), len(epsilons), N_STAKES)


def log_factors_of_few(
    problem: Problem, past: Past, leader: int, rivals: Numbers, epsilons: Array, since: int
) -> Array:
    """The same of the rounds from `since` on, for few rivals and many epsilons.

    Parameters
    ----------
    problem, past, leader, rivals
    epsilons : float array of shape (n_rivals, n_epsilons)
    since : int

    Returns
    -------
    float array of shape (n_rivals, n_stakes, n_epsilons)
    """
    wealth = np.zeros((len(rivals), N_STAKES, epsilons.shape[1]))
    add_value_factors(
        *past.arrays(rivals, since),
        past.scales(since),
        past.column(leader),
        sparsity_of(problem),
        problem.reward_cap,
        FIXED_STAKES / problem.slate_size,
        STAKE_SHARES / problem.slate_size,
        AGAINST,
        epsilons,
        past.room,
        wealth,
    )
    return wealth


def shrinkage(past: Past, slate_size: int, gains: Array, since: int = 0) -> Array:
    """Sums over the later rounds of ln(1 + lam g/.99), shape (n_stakes, n_gains)."""
    scales, counts = np.unique(past.scales(since), return_counts=True)
    shares = np.minimum(np.outer(scales, STAKE_SHARES), FIXED_STAKES[-1])
    stakes = np.hstack([np.tile(FIXED_STAKES, (len(scales), 1)), shares]) / slate_size
    shrunk = np.log1p(stakes[:, :, None] * gains / SLACK)
    return np.asarray(np.tensordot(counts, shrunk, axes=1))
