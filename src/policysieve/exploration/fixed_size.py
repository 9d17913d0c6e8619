"""What can be said after a number of rounds that was fixed in advance."""

from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Recommendation
from policysieve.problem import Problem

__all__ = ["fixed_size_recommendation"]


def fixed_size_recommendation(
    intervals: ValueIntervals, problem: Problem, *, rounds: int, planned: int, sufficient: int
) -> Recommendation:
    """Recommend the leader of intervals that hold at the planned number of rounds.

    Parameters
    ----------
    intervals : ValueIntervals
    problem : Problem
    rounds : int
        Rounds behind the intervals.
    planned : int
        Rounds declared in advance; the intervals are a proof at this number only.
    sufficient : int
        Rounds after which epsilon and delta hold before any data is seen.
    """
    leader, bound = intervals.leader, intervals.suboptimality_bound()
    sure = f"with probability at least {1 - problem.delta:g}"
    if rounds != planned:
        guarantee = (
            f"Nothing is guaranteed at {rounds:,} rounds: the intervals are proofs only at the "
            f"{planned:,} rounds that were planned in advance."
        )
    elif rounds >= sufficient:
        guarantee = (
            f"Within {problem.epsilon:g} of the best policy {sure}: the planned {planned:,} rounds "
            "were sized to guarantee it."
        )
    else:
        guarantee = (
            f"All intervals hold {sure}; {planned:,} rounds are fewer than the {sufficient:,} that "
            f"guarantee epsilon {problem.epsilon:g} in advance, so that guarantee does not apply."
        )
    return Recommendation(
        policy=leader,
        value=float(intervals.values[leader]),
        lower=float(intervals.lower[leader]),
        upper=float(intervals.upper[leader]),
        suboptimality_bound=bound,
        certified=rounds == planned and bound <= problem.epsilon,
        rounds=rounds,
        guarantee=guarantee,
    )
