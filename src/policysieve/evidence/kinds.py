"""What differs between lists and classes that cannot be listed, chosen here and nowhere else."""

from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.certificate import Evidence, Method
from policysieve.evidence.classical import value_intervals
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.implicit import ImplicitEstimates, ImplicitEvidence, leader_intervals
from policysieve.evidence.record import Record
from policysieve.policies import ImplicitPolicies, Policies, PolicyClass
from policysieve.problem import Problem

__all__ = ["anytime_intervals", "estimates_of", "evidence_of"]


def estimates_of(policies: PolicyClass) -> Estimates | ImplicitEstimates:
    """Estimates before the first round."""
    if isinstance(policies, Policies):
        return Estimates(policies.n_policies)
    assert isinstance(policies, ImplicitPolicies)
    return ImplicitEstimates(policies)


def evidence_of(
    policies: PolicyClass,
    problem: Problem,
    *,
    method: Method = "betting",
    declared_rounds: int | None = None,
) -> Evidence | ImplicitEvidence:
    """Evidence before the first round."""
    if isinstance(policies, Policies):
        return Evidence(policies, problem, method=method, declared_rounds=declared_rounds)
    if method != "betting":
        raise InvalidArgumentError(
            f'method must be "betting" for a class that cannot be listed, got {method!r}'
        )
    assert isinstance(policies, ImplicitPolicies)
    return ImplicitEvidence(policies, problem)


def anytime_intervals(record: Record, policy: Any = None) -> ValueIntervals:
    """Limits that hold at any time: of all policies of a list, else of one, by default the leader.

    (docs/maths.md, "Intervals at any time".)
    """
    if isinstance(record.policies, Policies):
        return value_intervals(record, record.problem.delta)
    return leader_intervals(record, policy)
