"""How many rounds it takes, with explicit constants (docs/maths.md, "Explicit sizes")."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import atanh, ceil, exp, inf, log, log1p, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from policysieve.checks import flag, integer, log_of_size
from policysieve.errors import InvalidArgumentError
from policysieve.measured import MeasuredTask, similar_tasks
from policysieve.problem import Problem, check_problem

__all__ = ["CONTEXT_SHARE", "Guarantee", "Plan", "plan"]

CONTEXT_SHARE = 0.05  # of delta: that the contexts seen by exploration by optimization mislead


class Guarantee(NamedTuple):
    """Rounds after which a method keeps epsilon and delta in every world.

    Attributes
    ----------
    method : str
    recommends : {"deterministic policy", "randomised policy"}
        A candidate, or a mixture that draws one of them for each context.
    rounds : int
    """

    method: str
    recommends: Literal["deterministic policy", "randomised policy"]
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes that guarantee the problem's epsilon and delta before any data is seen.

    They are those of the worst case: enough in every world, for every class of that size.

    Attributes
    ----------
    problem : Problem
    log_n_policies : float
        ln|Pi|.
    explore_rounds, estimate_rounds, total_rounds : int
        Low-variance exploration: T rounds to find the design, n rounds to estimate with it.
    mixing : float
        Share gamma of uniform exploration in the second phase.
    learning_rate : float
        Step eta of Hedge in the first phase.
    variance_bound : float
        V: with probability at least 1 - 2 delta / 3 the design estimates every policy with at most
        this variance term, of rewards in [0, 1].
    uniform_rounds : int
        Rounds for uniform exploration with the same argument.
    by_optimization_rounds : int or None
        Rounds for exploration by optimization and its average policy; None for slates, which it
        does not cover, and for unknown sparsity.
    lower_bound_rounds : int
        No method can do with fewer on every problem of this size.
    """

    problem: Problem
    log_n_policies: float
    explore_rounds: int
    estimate_rounds: int
    total_rounds: int
    mixing: float
    learning_rate: float
    variance_bound: float
    uniform_rounds: int
    by_optimization_rounds: int | None
    lower_bound_rounds: int

    @property
    def worst_case(self) -> tuple[Guarantee, ...]:
        """What each method recommends and after how many rounds it is within epsilon, surely."""
        found = [
            Guarantee("uniform exploration", "deterministic policy", self.uniform_rounds),
            Guarantee("low-variance exploration", "deterministic policy", self.total_rounds),
        ]
        if self.by_optimization_rounds is not None:
            rounds = self.by_optimization_rounds
            found.append(Guarantee("exploration by optimization", "randomised policy", rounds))
        return tuple(found)

    @property
    def similar_tasks(self) -> tuple[MeasuredTask, ...]:
        """What the Sieve needed to certify epsilon on the tasks of the race that are most alike.

        Those with the nearest number of actions, at their own epsilon and delta; not scaled.
        """
        return similar_tasks(self.problem)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain values."""
        return {
            **asdict(self),
            "worst_case": [one._asdict() for one in self.worst_case],
            "similar_tasks": [one.to_dict() for one in self.similar_tasks],
        }

    def explain(self) -> str:
        """The numbers as sentences."""
        q = self.problem
        slate = f", slates of {q.slate_size}" if q.slate_size > 1 else ""
        spread = self.log_n_policies / log(10)
        size = f"{np.exp(self.log_n_policies):,.0f}" if spread < 9 else f"about 10^{spread:.0f}"
        sparse = (
            "unknown sparsity" if q.sparsity is None else f"rewards summing to <= {q.sparsity:g}"
        )
        lines = [
            f"To find a policy within {q.epsilon:g} of the best of {size} with probability "
            f"{1 - q.delta:g} ({q.n_actions} actions{slate}, {sparse}), in the worst case:",
            f"- Low-variance exploration needs {self.total_rounds:,} rounds for a deterministic "
            f"policy, one of the candidates: {self.explore_rounds:,} uniform ones to design the "
            f"exploration and {self.estimate_rounds:,} to estimate, {self.mixing:.0%} of them "
            "uniform.",
            f"- Its design estimates every policy with a variance term of at most "
            f"{self.variance_bound:.3g}; uniform exploration has up to "
            f"{q.n_actions * q.unit.reward_cap / q.slate_size:.3g}.",
            f"- Uniform exploration needs {self.uniform_rounds:,} rounds for a deterministic "
            f"policy, {_times(self.uniform_rounds / self.total_rounds)} as many.",
        ]
        if self.by_optimization_rounds is not None:
            lines.append(
                f"- Exploration by optimization needs {self.by_optimization_rounds:,} rounds for "
                "a randomised policy, which draws a candidate for each context (output='average'); "
                "it promises nothing about any one of them."
            )
        lines.append(
            f"- Some problems of this size need at least {self.lower_bound_rounds:,} rounds."
        )
        if q.sparsity is None:
            lines.append(
                "- The sparsity is not known: the numbers of low-variance exploration are a first "
                f"guess, for rewards that sum to {q.reward_cap:g}; the learner sets its estimation "
                "rounds from the variance it observes."
            )
        if self.similar_tasks:
            lines.append(_measured(self))
        return "\n".join(lines)


def plan(
    problem: Problem,
    n_policies: int | None = None,
    *,
    log_n_policies: float | None = None,
    sampled: bool = False,
) -> Plan:
    """Sizes for a class of `n_policies`, or of exp(`log_n_policies`) when that is too many.

    Parameters
    ----------
    sampled : bool
        Sizes for the variant that draws one policy per round, as in the paper, instead of
        averaging over the draw.

    Examples
    --------
    >>> from policysieve import Problem
    >>> sizes = plan(Problem(n_actions=100, epsilon=0.05, delta=0.05), n_policies=1000)
    >>> sizes.total_rounds < sizes.uniform_rounds
    True
    """
    check_problem(problem)
    if problem.traffic < 1:
        raise InvalidArgumentError(
            f"traffic must be 1 for a plan, got {problem.traffic:g}: its sizes are proved for "
            "exploring in all rounds; plan without it, or let the Sieve say when it has a proof"
        )
    flag("sampled", sampled)
    log_size, unit = _log_size(n_policies, log_n_policies), problem.unit
    explore, estimate, mixing, rate, variance = _low_variance(unit, log_size, sampled)
    return Plan(
        problem=problem,
        log_n_policies=log_size,
        explore_rounds=explore,
        estimate_rounds=estimate,
        total_rounds=explore + estimate,
        mixing=mixing,
        learning_rate=rate,
        variance_bound=variance,
        uniform_rounds=uniform_rounds(unit, log_size),
        by_optimization_rounds=by_optimization_rounds(unit, log_size),
        lower_bound_rounds=_lower_bound(unit, log_size),
    )


def uniform_rounds(problem: Problem, log_size: float) -> int:
    """Rounds for uniform exploration: V = K mu / m, range K mu / m, all of delta for Bernstein.

    If only a share of the rounds explores, no propensity is below the share of m/K, so V and the
    range are larger by one over the share at most.
    """
    most = problem.n_actions * problem.reward_cap / (problem.slate_size * problem.traffic)
    second_moment = problem.reward_cap * most
    return _bernstein_rounds(problem, second_moment, most, log_size - log(problem.delta))


def estimation_rounds(problem: Problem, variance: float, largest: float, log_term: float) -> int:
    """Rounds of phase 2 for a design with variance term `variance` and estimates up to `largest`.

    For slates E R^2 <= mu V by Cauchy-Schwarz, whether the term weighs r or, where mu = m, r^2; for
    single actions E R^2 = V, because it always weighs r^2 then.
    """
    factor = problem.reward_cap if problem.slate_size > 1 else 1.0
    return _bernstein_rounds(problem, factor * variance, largest, log_term)


def _bernstein_rounds(
    problem: Problem, second_moment: float, largest: float, log_term: float
) -> int:
    """One-sided Bernstein for R(best) - R(pi), whose second moment is at most twice R's."""
    eps = problem.epsilon
    return _counted(
        (4 * second_moment / eps / eps + 2 * largest / 3 / eps + 2 / 3) * log_term, problem
    )


def _counted(rounds: float, problem: Problem) -> int:
    """Whole rounds, or raise if they are too many for a float."""
    if not rounds < inf:
        raise InvalidArgumentError(
            f"epsilon and the number of policies must be such that their rounds can be counted: "
            f"epsilon {problem.epsilon:g} takes more than 10^308 of them here; ask for a larger "
            "epsilon, or choose among fewer policies"
        )
    return ceil(rounds)


def _low_variance(
    problem: Problem, log_size: float, sampled: bool
) -> tuple[int, int, float, float, float]:
    """Minimise T + n over mixing and the free constants theta, on a grid.

    V = A + C / T, and T = sqrt(4 mu C ln(|Pi|/delta')) / eps minimises the sum.
    """
    K, m, mu = problem.n_actions, problem.slate_size, problem.reward_cap
    s = mu if problem.sparsity is None else problem.sparsity
    parts = 4 if sampled else 3
    log_delta = log(parts) - log(problem.delta)  # delta in equal parts
    log_term = log_size + log_delta

    coarse = 2 if sampled else 1  # theta3 adds an axis, so the others are thinned
    gamma, theta1, theta2, theta3 = np.ix_(
        np.linspace(0.02, 0.98, 97)[::coarse],
        np.linspace(0.05, 1, 39)[::coarse],
        np.linspace(0.05, 2, 40)[::coarse],
        np.geomspace(0.02, 1, 20) if sampled else np.ones(1),
    )
    B = mu * K / (gamma * m)
    phi, psi = np.expm1(theta1) / theta1, -np.expm1(-theta2) / theta2
    fixed = s * np.log1p((1 - gamma) * K * mu / (gamma * m * s)) / (1 - gamma)
    falling = s * K / (gamma * m)
    if sampled:
        psi3 = -np.expm1(-theta3) / theta3
        falling = (falling + mu * K * log_delta / (gamma * m * theta3)) / psi3
        fixed = fixed / psi3
    A = phi / psi * fixed
    factor = mu if m > 1 else 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # too many rounds are refused below
        C = phi / psi * falling + K * B / (m * psi) * log_term * (1 / theta1 + 1 / theta2)
        T = np.sqrt(4 * factor * C * log_term) / problem.epsilon
        n = 4 * factor * (A + C / T) / problem.epsilon / problem.epsilon
        n = (n + 2 * B / 3 / problem.epsilon) * log_term
        best = np.unravel_index((T + n).argmin(), T.shape)

    explore = _counted(float(T[best]), problem)
    variance = float(A[best] + C[best] / explore)
    largest = float(B[best[0], 0, 0, 0])
    estimate = estimation_rounds(problem, variance, largest, log_term)
    rate = float(theta1[0, best[1], 0, 0]) / largest
    return explore, estimate, float(gamma[best[0], 0, 0, 0]), rate, variance


def by_optimization_rounds(problem: Problem, log_size: float, *, binary: bool = True) -> int | None:
    """Smallest T with s/(G - K + 2) + G l/T <= eps at the best G, l = `information_limit`.

    For rewards that are not 0 or 1, the first term is s/(G - K).
    """
    s = problem.sparsity
    if problem.slate_size > 1 or s is None:
        return None
    log_term = information_limit(problem, log_size)

    def gap(rounds: int) -> float:
        price = information_price(problem.n_actions, s, rounds, log_term)
        room = price - problem.n_actions + (2 if binary else 0)
        return s / room + price * log_term / rounds

    high = 1
    while gap(high) > problem.epsilon:
        high *= 2
        _counted(inf if high >> 1000 else high, problem)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gap(middle) <= problem.epsilon else (middle, high)
    return high


def information_limit(problem: Problem, log_size: float) -> float:
    """How much exploration by optimization can ever learn: l = ln(|Pi|/(0.95 delta)).

    The rest of delta is for the contexts, so that promise and run-time bound are one event.
    """
    return log_size - log(1 - CONTEXT_SHARE) - log(problem.delta)


def information_price(n_actions: int, sparsity: float, rounds: int, log_term: float) -> float:
    """The best G for T rounds, K - 2 + sqrt(s T / l), and at least 1.2 K.

    docs/maths.md, "Exploration by optimization".
    """
    return max(1.2 * n_actions, n_actions - 2 + sqrt(sparsity * rounds / log_term))


def _lower_bound(problem: Problem, log_size: float) -> int:
    """The larger of the two lower bounds (docs/maths.md, "Lower bounds"), as whole rounds."""
    bounds = rare_context_bound(problem, log_size), hidden_arm_bound(problem, log_size)
    return max(1, *(_counted(bound, problem) for bound in bounds))


def rare_context_bound(problem: Problem, log_size: float) -> float:
    """K/(m eps) term: finding one good slate among K/m at a context of probability 2 eps.

    Below sparsity 1 the hidden reward is s, and the context has probability 2 eps/s.
    """
    reward = 1.0 if problem.sparsity is None else min(problem.sparsity, 1.0)
    if 2 * problem.epsilon >= reward:
        return 0.0
    slates = min(problem.n_actions // problem.slate_size, exp(min(log_size, 40.0)))
    return ((1 - problem.delta) * slates - 1) * reward / (2 * problem.epsilon)


def hidden_arm_bound(problem: Problem, log_size: float) -> float:
    """S mu / eps^2 term: telling biased coins from fair ones; 0 where the instance does not fit."""
    m, eps, delta = problem.slate_size, problem.epsilon, problem.delta
    s = int(problem.reward_cap if problem.sparsity is None else problem.sparsity)
    if m == 1 and s >= 2:
        arms = int(min(s, exp(min(log_size, 40.0))))
        return _best_of_arms(arms, 2 * eps, 1 - delta)
    if m == 1 and s == 1 and problem.n_actions >= 2 and log_size >= log(2) and eps < 0.5:
        # Bretagnolle-Huber for label probabilities 1/2 +- eps against 1/2 -+ eps.
        return -log(4 * delta) / (2 * eps) / (2 * atanh(2 * eps))
    if 2 * m <= s and log_size >= m * log(s // m):
        return _best_of_arms(s // m, 4 * eps / m, 0.75 * (1 - delta))
    if m >= s >= 1 and problem.n_actions >= m + s and log_size >= s * log(2) and 4 * eps < s:
        bias = 2 * eps / s
        return 2 * max(0.0, 0.5 - 1.5 * delta) ** 2 / (2 * bias) / (2 * atanh(2 * bias))
    return 0.0


def _best_of_arms(arms: int, bias: float, success: float) -> float:
    """Pinsker's bound for finding the one coin of bias 1/2 + `bias` with probability `success`."""
    if bias >= 0.5 or arms < 2:
        return 0.0
    divergence = -0.5 * log1p(-4 * bias**2)
    return 2 * arms * max(0.0, success - 1 / arms) ** 2 / divergence if divergence else inf


def _log_size(n_policies: int | None, log_n_policies: float | None) -> float:
    if (n_policies is None) == (log_n_policies is None):
        raise InvalidArgumentError("give exactly one of n_policies and log_n_policies")
    if n_policies is not None:
        return log(integer("n_policies", n_policies, low=1, high=None))
    return log_of_size("log_n_policies", log_n_policies)


def _times(ratio: float) -> str:
    return "about" if 0.95 < ratio < 1.05 else f"{ratio:.2g} times"


def _measured(sizes: Plan) -> str:
    """What the Sieve needed on similar tasks, and at which numbers that was measured."""
    tasks, q = sizes.similar_tasks, sizes.problem
    problems = [one.problem for one in tasks]
    slate = "" if q.slate_size == 1 else f" and slates of {_span([p.slate_size for p in problems])}"
    most, many = tasks[0].given_up_after, "s" if len(tasks) > 1 else ""
    medians = _span([one.median for one in tasks], most)
    runs = _span([n for one in tasks for n in one.rounds], most)
    text = (
        f"- Measured, not guaranteed: on {len(tasks)} task{many} of the race with "
        f"{_span([p.n_actions for p in problems])} actions{slate} the Sieve needed {medians} "
        f"rounds (median{many} of {len(tasks[0].rounds)} runs, single runs {runs}) to certify one "
        f"policy within {_span([p.epsilon for p in problems])} of the best of "
        f"{_span([one.n_policies for one in tasks])} with probability "
        f"{_span([1 - p.delta for p in problems])}."
    )
    units = "" if q.unit is q else " for rewards in [0, 1]"
    other = [
        f"{name} {mine:g}{of}"
        for name, mine, of, theirs in [
            ("epsilon", q.unit.epsilon, units, {p.epsilon for p in problems}),
            ("delta", q.delta, "", {p.delta for p in problems}),
        ]
        if any(abs(mine - one) > 1e-9 for one in theirs)
    ]
    return f"{text} This is not scaled to your {' and '.join(other)}." if other else text


def _span(numbers: Sequence[float | None], most: int = 0) -> str:
    """From the smallest to the largest; None stands for more than `most`."""
    known = sorted(n for n in numbers if n is not None)
    ends = [f"{n:,.10g}" for n in (known[0], known[-1])] if known else []
    if len(known) < len(numbers):
        ends = [*ends[:1], f"over {most:,}"]
    return " to ".join(dict.fromkeys(ends))
