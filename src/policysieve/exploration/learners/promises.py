"""What can be said after a number of rounds that was fixed in advance."""

from typing import Any

from policysieve.evidence import Evidence, Record, ValueIntervals, anytime_intervals
from policysieve.evidence.verdicts import AMONG, guardrails_in_words
from policysieve.exploration.decisions import Recommendation
from policysieve.policies import PolicyClass
from policysieve.problem import Problem

__all__ = [
    "anytime_recommendation",
    "certificate_recommendation",
    "fixed_size_recommendation",
    "promise_of_class",
    "promise_of_size",
]


def fixed_size_recommendation(
    intervals: ValueIntervals,
    problem: Problem,
    *,
    rounds: int,
    planned: int,
    complete: bool,
    promise: str,
    policy: Any = None,
    bound: float | None = None,
    against: int | None = None,
) -> Recommendation:
    """Recommend a policy from intervals that hold at the planned number of rounds.

    Parameters
    ----------
    intervals : ValueIntervals
        Of rewards in [0, 1]. The recommendation is in the user's units.
    problem : Problem
    rounds, planned : int
        Rounds so far, and rounds declared in advance.
    complete : bool
        Whether the planned rounds are done; the intervals are a proof only then.
    promise : str
        What holds when they are.
    policy : int, Policy, RandomizedPolicy or MarginalPolicy, optional
        By default the one with the largest estimate.
    bound : float, optional
        On its suboptimality, for rewards in [0, 1]; by default from the intervals.
    against : int, optional
        The policy that runs today: all intervals hold at once, so they also bound the gain.
    """
    if not complete:
        promise = (
            f"Nothing is guaranteed at {rounds:,} rounds: the intervals are proofs only at the "
            f"{planned:,} rounds that were planned in advance."
        )
    chosen, value, lower, upper, gap = intervals.about(policy)
    bound = gap if bound is None else bound
    return Recommendation(
        policy=chosen,
        value=value,
        lower=lower,
        upper=upper,
        suboptimality_bound=bound,
        certified=complete and bound <= problem.unit.epsilon,
        rounds=rounds,
        guarantee=promise,
        gain=None if against is None or not complete else _gain(intervals, chosen, lower, against),
    ).in_units(problem.scale)


def _gain(intervals: ValueIntervals, chosen: Any, lower: float, against: int) -> float:
    """How much better a policy with this lower limit is at least than another."""
    same = isinstance(chosen, int) and chosen == against
    return 0.0 if same else lower - float(intervals.upper[against])


def anytime_recommendation(
    record: Record, problem: Problem, *, rounds: int, remark: str, policy: Any = None
) -> Recommendation:
    """Recommend a policy, by default the leader, from intervals that hold at any time."""
    sure = f"with probability at least {1 - problem.delta:g}"
    return fixed_size_recommendation(
        anytime_intervals(record, policy),
        problem,
        rounds=rounds,
        planned=rounds,
        complete=True,
        promise=f"All intervals hold {sure}; {remark}",
        policy=policy,
        against=record.policies.against(problem),
    )


def certificate_recommendation(evidence: Evidence, *, rounds: int) -> Recommendation:
    """Recommend the surviving policy with the largest estimate, and the certificate about it."""
    evidence = evidence.now()
    proof = evidence.certificate()
    value, lower, upper = evidence.interval(proof.leader)
    bound = proof.suboptimality_bound
    sure = f"with probability at least {1 - evidence.problem.delta:g}"
    guardrails, best = None, "the best policy"
    if evidence.problem.guardrails is not None:
        guardrails, best = evidence.guardrails(), f"{best}{AMONG}"
    close = f"Within {bound:.3g} of" if bound > 0 else "As good as"
    said = [f"{close} {best} {sure}, whenever you look."]
    said += guardrails_in_words(guardrails, proof.barred)
    return Recommendation(
        policy=proof.leader,
        value=value,
        lower=lower,
        upper=upper,
        suboptimality_bound=bound,
        certified=proof.certified,
        rounds=rounds,
        guarantee=" ".join(said) if rounds else "Nothing is known yet: no round was told.",
        gain=proof.gain,
        guardrails=guardrails,
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


def promise_of_class(policies: PolicyClass, problem: Problem) -> str | None:
    """What to say of a class for which sizes guarantee nothing, else None."""
    if policies.exact and policies.log_size is not None:
        return None
    found = "Nothing is guaranteed about the best policy of this class, which is searched for"
    if policies.log_size is None:
        return f"{found}; nor do intervals hold, because its size is not known: give log_size."
    return (
        f"{found}; the interval holds with probability at least {1 - problem.delta:g} if ln|Pi| is "
        f"at most {policies.log_size:.4g}."
    )
