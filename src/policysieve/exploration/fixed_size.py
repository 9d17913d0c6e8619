"""What can be said after a number of rounds that was fixed in advance."""

from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Recommendation
from policysieve.problem import Problem

__all__ = ["fixed_size_recommendation"]


def fixed_size_recommendation(
    intervals: ValueIntervals,
    problem: Problem,
    *,
    rounds: int,
    planned: int,
    complete: bool,
    sufficient: int,
    guaranteed: bool,
) -> Recommendation:
    """Recommend the leader of intervals that hold at the planned number of rounds.

    Parameters
    ----------
    intervals : ValueIntervals
    problem : Problem
    rounds, planned : int
        Rounds so far, and rounds declared in advance.
    complete : bool
        Whether the planned rounds are done; the intervals are a proof only then.
    sufficient : int
        Rounds after which epsilon and delta hold before any data is seen.
    guaranteed : bool
        Whether the plan has as many, phase by phase.
    """
    leader, bound = intervals.leader, intervals.suboptimality_bound()
    sure = f"with probability at least {1 - problem.delta:g}"
    if not complete:
        guarantee = (
            f"Nothing is guaranteed at {rounds:,} rounds: the intervals are proofs only at the "
            f"{planned:,} rounds that were planned in advance."
        )
    elif guaranteed:
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
        certified=complete and bound <= problem.epsilon,
        rounds=rounds,
        guarantee=guarantee,
    )
