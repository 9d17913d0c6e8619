"""A plan: how many rounds it takes before any data is seen, in numbers and in sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np

from policysieve.checks import flag, integer, log_of_size
from policysieve.errors import InvalidArgumentError
from policysieve.measured import MeasuredTask, similar_tasks
from policysieve.problem import Problem, check_problem
from policysieve.sizes import (
    by_optimization_rounds,
    low_variance_sizes,
    lower_bound,
    uniform_rounds,
)

__all__ = ["Guarantee", "Plan", "plan"]


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
    explore, estimate, mixing, rate, variance = low_variance_sizes(unit, log_size, sampled)
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
        lower_bound_rounds=lower_bound(unit, log_size),
    )


def _log_size(n_policies: int | None, log_n_policies: float | None) -> float:
    if (n_policies is None) == (log_n_policies is None):
        got = "neither" if n_policies is None else "both"
        raise InvalidArgumentError(
            f"exactly one of n_policies and log_n_policies must be given, got {got}"
        )
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
