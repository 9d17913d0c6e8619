"""What differs between lists and classes that cannot be listed, chosen here and nowhere else."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.classical import value_intervals
from policysieve.evidence.deciders import Decider
from policysieve.evidence.divided import DividedEvidence
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.evidence import MEMORY_LIMIT, Evidence
from policysieve.evidence.floored import FloorEvidence, FloorMethod
from policysieve.evidence.implicit import ImplicitEstimates, ImplicitEvidence, leader_intervals
from policysieve.evidence.record import Record
from policysieve.evidence.unproved import UnprovedEvidence
from policysieve.log import Log, LogFile
from policysieve.policies import ImplicitPolicies, Policies, PolicyClass
from policysieve.problem import Problem

__all__ = [
    "METHODS",
    "AnyEvidence",
    "Method",
    "anytime_intervals",
    "capped_evidence",
    "default_method",
    "estimates_of",
    "evidence_of",
]

Method = Literal["capped"] | FloorMethod
"""How to prove: by capped scores, or with a floor under all propensities."""

METHODS: tuple[Method, ...] = ("capped", *get_args(FloorMethod))

AnyEvidence = Evidence | FloorEvidence | ImplicitEvidence | UnprovedEvidence


def estimates_of(policies: PolicyClass) -> Estimates | ImplicitEstimates:
    """Estimates before the first round."""
    if isinstance(policies, Policies):
        return Estimates(policies.n_policies)
    assert isinstance(policies, ImplicitPolicies)
    return ImplicitEstimates(policies)


def capped_evidence(
    policies: Policies, problem: Problem, *, memory_limit: int = MEMORY_LIMIT, additions: int = 0
) -> Evidence:
    """Evidence of capped scores before the first round, for a learner.

    With the shares of a class that has any, unless something is asked for that needs all policies
    in one place: a policy that runs today, outcomes, candidates that join, or a limit of memory.
    """
    simple = problem.against is None and problem.outcomes is None and problem.guardrails is None
    if policies.holders is not None and simple and not additions and memory_limit == MEMORY_LIMIT:
        return DividedEvidence(policies, problem)
    return Evidence(policies, problem, memory_limit=memory_limit, additions=additions)


def default_method(
    log: Log | LogFile, policies: PolicyClass, floor: float | None, exploration: Decider | None
) -> Method | None:
    """The sharpest proof that what is known of the propensities allows, if there is one."""
    full = exploration is not None or log.has_distributions
    if full and isinstance(policies, Policies):
        return "capped"
    return None if floor is None else "betting"


def evidence_of(
    policies: PolicyClass,
    problem: Problem,
    *,
    method: Method | None,
    floor: float | None,
    exploration: Decider | None,
    declared_rounds: int,
    memory_limit: int,
) -> tuple[AnyEvidence, Callable[[Log], None]]:
    """Evidence before the first round, and how to add rounds of which so much is known.

    Parameters
    ----------
    policies, problem
    method : str or None
        How to prove; None to prove nothing.
    floor, exploration
        Of all rounds, if known.
    declared_rounds : int
        For ``"fixed"``.
    memory_limit : int
        For ``"capped"``.
    """
    if isinstance(policies, ImplicitPolicies):
        if method not in (None, "betting"):
            raise InvalidArgumentError(
                f'method must be "betting" for a class that cannot be listed, got {method!r}'
            )
        implicit = ImplicitEvidence(policies, problem)
        return implicit, partial(implicit.add, floor=floor)
    assert isinstance(policies, Policies)
    if method is None:
        unproved = UnprovedEvidence(policies, problem)
        return unproved, unproved.add
    if method == "capped":
        evidence = Evidence(policies, problem, memory_limit=memory_limit)
        return evidence, partial(evidence.add, exploration=exploration)
    if floor is None:
        raise InvalidArgumentError(
            f"method={method!r} needs floor, the smallest propensity that any action could have "
            "had in any round: one that was possible and not met would make its proof false"
        )
    declared = declared_rounds if method == "fixed" else None
    floored = FloorEvidence(policies, problem, method=method, declared_rounds=declared)
    return floored, partial(floored.add, floor=floor)


def anytime_intervals(record: Record, policy: Any = None) -> ValueIntervals:
    """Limits that hold at any time: of all policies of a list, else of one, by default the leader.

    (docs/maths.md, "Intervals at any time".)
    """
    if isinstance(record.policies, Policies):
        return value_intervals(record, record.problem.delta)
    return leader_intervals(record, policy)
