"""Rounds that suffice, and rounds without which nobody can do: this paper's, and those before it.

Functions of a problem and of ln|Pi|, which is log(1000) for 1,000 policies. Those named ``rounds_``
and ``lower_bound_`` have their constants: they are guarantees. Those named ``rate_`` are what a
paper states as O or O-tilde, with constant 1 and without the logarithms that O-tilde hides: right
for slopes and for comparisons among themselves, and no guarantee. All return None where the result
does not apply.

Letters as in docs/maths.md: K actions, slates of m, sparsity s, mu = min(s, m), l = ln(|Pi|/delta).
"This paper" is "The Sample Complexity of Multiclass and Sparse Contextual Bandits" (2026).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import log
from typing import TYPE_CHECKING, Literal, TypeVar

from policysieve.checks import log_of_size
from policysieve.planning import plan
from policysieve.problem import Problem, check_problem
from policysieve.sizes import (
    by_optimization_rounds,
    hidden_arm_bound,
    rare_context_bound,
    uniform_rounds,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BOUNDS",
    "Bound",
    "figure",
    "lower_bound_hidden_arm",
    "lower_bound_rare_context",
    "rate_log_barrier",
    "rate_lower_bound",
    "rate_multiclass",
    "rate_regret",
    "rate_sparse",
    "rate_uniform",
    "rounds_by_optimization",
    "rounds_low_variance",
    "rounds_uniform",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Bound:
    """One result on the number of rounds.

    Attributes
    ----------
    name : str
    kind : {"upper", "lower"}
        Whether so many rounds suffice, or fewer do not.
    constants : {"explicit", "rate"}
        Whether the number is a guarantee, or a rate with constant 1.
    source : str
    rounds : callable
        From a problem and ln|Pi| to rounds, or None where the result does not apply.
    """

    name: str
    kind: Literal["upper", "lower"]
    constants: Literal["explicit", "rate"]
    source: str
    rounds: Callable[[Problem, float], float | None]


def _checked(rounds: Callable[[Problem, float], T]) -> Callable[[Problem, float], T]:
    """The same function for arguments that were checked, and rewards in [0, 1]."""

    @wraps(rounds)
    def checked(problem: Problem, log_n_policies: float) -> T:
        check_problem(problem)
        return rounds(problem.unit, log_of_size("log_n_policies", log_n_policies))

    return checked


@_checked
def rounds_uniform(problem: Problem, log_n_policies: float) -> float:
    """Uniform exploration: (4 mu^2 K/(m eps^2) + 2 mu K/(3 m eps) + 2/3) l, rounded up.

    Bernstein's inequality with the constants of `plan` (docs/maths.md, "Explicit sizes").
    """
    return float(uniform_rounds(problem, log_n_policies))


@_checked
def rounds_low_variance(problem: Problem, log_n_policies: float) -> float | None:
    """Low-variance exploration: T + n of `plan`, at its best mixing.

    This paper's theorems on Algorithms 2 and 3, with the constants of docs/maths.md, "Explicit
    sizes". None for unknown sparsity, where the sizes depend on what is seen.
    """
    if problem.sparsity is None:
        return None
    return float(plan(problem, log_n_policies=log_n_policies).total_rounds)


@_checked
def rounds_by_optimization(problem: Problem, log_n_policies: float) -> float | None:
    """Exploration by optimization: the smallest T with s/(G - K + 2) + G l/T <= eps at the best G.

    This paper's Algorithm 1 with the closed form of docs/maths.md, "Exploration by optimization",
    for 0/1 rewards. None for slates and for unknown sparsity.
    """
    rounds = by_optimization_rounds(problem, log_n_policies)
    return None if rounds is None else float(rounds)


@_checked
def lower_bound_rare_context(problem: Problem, log_n_policies: float) -> float | None:
    """Rare context: ((1 - delta) K/m - 1)/(2 eps) rounds at least, K/m at most |Pi|.

    This paper's lower bound of order K/eps; the constants, slates and s < 1, where it is s times as
    large, are those of docs/maths.md, "Lower bounds". The instance is `worlds.RareContext`. None
    where it does not fit, as for eps >= 1/2.
    """
    return _positive(rare_context_bound(problem, log_n_policies))


@_checked
def lower_bound_hidden_arm(problem: Problem, log_n_policies: float) -> float | None:
    """Hidden arm: of order s mu/eps^2 rounds at least.

    For single actions this paper takes the order s/eps^2 from Erez and Koren (2025), Theorem 5; the
    constants, for each case of s and m, and the slates are those of docs/maths.md, "Lower bounds".
    The instance is `worlds.HiddenArm`. None where no case fits.
    """
    return _positive(hidden_arm_bound(problem, log_n_policies))


@_checked
def rate_uniform(problem: Problem, log_n_policies: float) -> float:
    """Uniform exploration: mu^2 K/(m eps^2) l, the leading term of `rounds_uniform` over 4."""
    mu, m = problem.reward_cap, problem.slate_size
    return mu**2 * problem.n_actions / (m * problem.epsilon**2) * _log_term(problem, log_n_policies)


@_checked
def rate_regret(problem: Problem, log_n_policies: float) -> float:
    """Algorithms for small regret: m K/eps^2 l, whatever the sparsity.

    For m = 1 this paper's introduction says that the regret bounds of Auer et al. (2002), Dudik et
    al. (2011) and Agarwal et al. (2014) imply O(K/eps^2 l). For slates it is what the regret of
    order sqrt(m K T ln|Pi|), of Kale et al. (2010) and Krishnamurthy et al. (2016) in its related
    work, gives on average over rounds.
    """
    size = problem.slate_size * problem.n_actions
    return size / problem.epsilon**2 * _log_term(problem, log_n_policies)


@_checked
def rate_log_barrier(problem: Problem, log_n_policies: float) -> float | None:
    """Log-barrier design: K^9/m^8 + s m/eps^2 l.

    Erez and Koren (2025), as this paper's appendix on slates compares with it; for m = 1 its
    introduction has (s/eps^2 + K^9) l, up to logarithms. None for unknown sparsity.
    """
    s, m = problem.sparsity, problem.slate_size
    log_term = _log_term(problem, log_n_policies)
    if s is None:
        return None
    return problem.n_actions**9 / m**8 + s * m / problem.epsilon**2 * log_term


@_checked
def rate_multiclass(problem: Problem, log_n_policies: float) -> float | None:
    """One right label: (1/eps^2 + K^7) l.

    Erez and Koren (2025), as a footnote of this paper's introduction has it. None for slates, and
    unless s = 1.
    """
    log_term = _log_term(problem, log_n_policies)
    if problem.slate_size > 1 or problem.sparsity != 1:
        return None
    return (1 / problem.epsilon**2 + problem.n_actions**7) * log_term


@_checked
def rate_sparse(problem: Problem, log_n_policies: float) -> float | None:
    """Sparse rewards: (s mu/eps^2 + K mu/(m eps)) l, for m = 1 (s/eps^2 + K/eps) l if s >= 1.

    This paper's theorems on low-variance exploration, for single actions and for slates, and on
    exploration by optimization, for single actions. The two terms are equal at eps = s m/K. For one
    right label and a class of Natarajan dimension d its corollary is this with d for ln|Pi|. None
    for unknown sparsity.
    """
    s, m, mu = problem.sparsity, problem.slate_size, problem.reward_cap
    log_term = _log_term(problem, log_n_policies)
    if s is None:
        return None
    return (s * mu / problem.epsilon**2 + problem.n_actions * mu / (m * problem.epsilon)) * log_term


@_checked
def rate_lower_bound(problem: Problem, log_n_policies: float) -> float | None:
    """Lower bound of this paper: K/eps + s/eps^2, for success with probability 3/4.

    It has no logarithm of the class, whose size is a power of K. None for slates and unless s >= 1
    is known.
    """
    if problem.slate_size > 1 or problem.sparsity is None or problem.sparsity < 1:
        return None
    return problem.n_actions / problem.epsilon + problem.sparsity / problem.epsilon**2


BOUNDS = (
    Bound(
        "uniform exploration",
        "upper",
        "explicit",
        "Bernstein's inequality, docs/maths.md",
        rounds_uniform,
    ),
    Bound(
        "low-variance exploration",
        "upper",
        "explicit",
        "this paper, Algorithms 2 and 3; constants of docs/maths.md",
        rounds_low_variance,
    ),
    Bound(
        "exploration by optimization",
        "upper",
        "explicit",
        "this paper, Algorithm 1; constants of docs/maths.md",
        rounds_by_optimization,
    ),
    Bound(
        "lower bound, rare context",
        "lower",
        "explicit",
        "this paper's lower bound; constants of docs/maths.md",
        lower_bound_rare_context,
    ),
    Bound(
        "lower bound, hidden arm",
        "lower",
        "explicit",
        "Erez and Koren (2025), Theorem 5; constants and slates of docs/maths.md",
        lower_bound_hidden_arm,
    ),
    Bound("uniform", "upper", "rate", "Bernstein's inequality", rate_uniform),
    Bound(
        "small regret",
        "upper",
        "rate",
        "Auer et al. (2002), Dudik et al. (2011), Agarwal et al. (2014); slates: Kale et al. "
        "(2010), Krishnamurthy et al. (2016)",
        rate_regret,
    ),
    Bound("Erez and Koren", "upper", "rate", "Erez and Koren (2025)", rate_log_barrier),
    Bound("Erez and Koren, one label", "upper", "rate", "Erez and Koren (2025)", rate_multiclass),
    Bound("this paper", "upper", "rate", "this paper's main theorems", rate_sparse),
    Bound("lower bound", "lower", "rate", "this paper's lower bound", rate_lower_bound),
)
"""The results on the number of rounds that this package knows: this paper's, and those it names."""


def figure(problem: Problem, log_n_policies: float) -> "Figure":
    """Draw every bound of `BOUNDS` that applies against epsilon, around the problem's own.

    Parameters
    ----------
    problem : Problem
    log_n_policies : float
        ln|Pi|, not |Pi|: log(1000) for 1,000 policies.

    Returns
    -------
    Figure
        Guarantees on the left and rates on the right, which do not compare with each other; lower
        bounds are dashed, and a thin line on the right marks eps = s m/K, where this paper's two
        terms are equal.

    Examples
    --------
    >>> from math import log
    >>> import policysieve as ps
    >>> problem = ps.Problem(n_actions=100, epsilon=0.05, delta=0.05)
    >>> len(ps.theory.figure(problem, log(1000)).axes)
    2
    """
    from policysieve.report.theory_plots import bounds_figure

    check_problem(problem)
    return bounds_figure(problem, log_of_size("log_n_policies", log_n_policies))


def _positive(rounds: float) -> float | None:
    return rounds if rounds > 0 else None


def _log_term(problem: Problem, log_n_policies: float) -> float:
    return log_n_policies - log(problem.delta)
