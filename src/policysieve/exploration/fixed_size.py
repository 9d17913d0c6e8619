"""What can be said after a number of rounds that was fixed in advance."""

from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Recommendation
from policysieve.policies import AnyPolicies, Policies, RandomizedPolicy
from policysieve.problem import Problem

__all__ = ["fixed_size_recommendation", "promise_of_class", "promise_of_size"]


def fixed_size_recommendation(
    intervals: ValueIntervals,
    problem: Problem,
    *,
    rounds: int,
    planned: int,
    complete: bool,
    promise: str,
    policy: int | RandomizedPolicy | None = None,
    bound: float | None = None,
) -> Recommendation:
    """Recommend a policy from intervals that hold at the planned number of rounds.

    Parameters
    ----------
    intervals : ValueIntervals
    problem : Problem
    rounds, planned : int
        Rounds so far, and rounds declared in advance.
    complete : bool
        Whether the planned rounds are done; the intervals are a proof only then.
    promise : str
        What holds when they are.
    policy : int or RandomizedPolicy, optional
        By default the one with the largest estimate.
    bound : float, optional
        On its suboptimality; by default from the intervals.
    """
    chosen = intervals.leader if policy is None else policy
    if not complete:
        promise = (
            f"Nothing is guaranteed at {rounds:,} rounds: the intervals are proofs only at the "
            f"{planned:,} rounds that were planned in advance."
        )
    value, lower, upper = (
        float(column[chosen]) if isinstance(chosen, int) else chosen.average(column)
        for column in (intervals.values, intervals.lower, intervals.upper)
    )
    if bound is None:
        bound = intervals.suboptimality_bound(chosen if isinstance(chosen, int) else None, lower)
    return Recommendation(
        policy=intervals.policy(chosen) if isinstance(chosen, int) else chosen,
        value=value,
        lower=lower,
        upper=upper,
        suboptimality_bound=bound,
        certified=complete and bound <= problem.epsilon,
        rounds=rounds,
        guarantee=promise,
    )


def promise_of_size(problem: Problem, *, planned: int, sufficient: int, guaranteed: bool) -> str:
    """What a plan guarantees once it is done, before any data is seen.

    `sufficient` rounds guarantee epsilon and delta; `guaranteed` says whether the plan has as many,
    phase by phase.
    """
    sure = f"with probability at least {1 - problem.delta:g}"
    if guaranteed:
        return (
            f"Within {problem.epsilon:g} of the best policy {sure}: the planned {planned:,} rounds "
            "were sized to guarantee it."
        )
    return (
        f"All intervals hold {sure}; the planned {planned:,} rounds were not sized to guarantee "
        f"epsilon {problem.epsilon:g} in advance, which takes {sufficient:,} in their right "
        "proportion, so that guarantee does not apply."
    )


def promise_of_class(policies: AnyPolicies, problem: Problem) -> str | None:
    """What to say of a class for which sizes guarantee nothing, else None."""
    if isinstance(policies, Policies) or (policies.exact and policies.log_size is not None):
        return None
    found = "Nothing is guaranteed about the best policy of this class, which is searched for"
    if policies.log_size is None:
        return f"{found}; nor do intervals hold, because its size is not known: give log_size."
    return (
        f"{found}; the interval holds with probability at least {1 - problem.delta:g} if ln|Pi| is "
        f"at most {policies.log_size:.4g}."
    )
