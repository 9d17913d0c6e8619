"""What is proved of a policy and a guardrail, in numbers and in words."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from policysieve.evidence.outcomes import OutcomeValue
from policysieve.outcome import Outcome
from policysieve.problem import Problem

__all__ = [
    "AMONG",
    "Guardrail",
    "guardrail_of",
    "guardrails_in_words",
    "open_in_words",
    "outcomes_to_dict",
    "scaled_amount",
]

Verdict = Literal["holds", "not proved"]

AMONG = " that is not proved to break a guardrail"
"""Of whom the best is meant where there are guardrails."""


@dataclass(frozen=True, kw_only=True)
class Guardrail:
    """Whether a policy keeps an outcome from getting worse than with the one that runs today.

    Attributes
    ----------
    outcome : str
    amount : float
        By how much it may be worse per round, in its own units.
    value, lower, upper : float
        Estimate of the policy's outcome less that of the one that runs today, and its limits.
    verdict : {"holds", "not proved"}
        What is proved. A policy that is proved to break one is out of the race.
    rounds : int
        Rounds in which the outcome is known.
    """

    outcome: str
    amount: float
    value: float
    lower: float
    upper: float
    verdict: Verdict
    rounds: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: NaN becomes None."""
        return {**self.__dict__, "value": None if np.isnan(self.value) else self.value}

    def __str__(self) -> str:
        what = "is proved to hold" if self.verdict == "holds" else "is not proved to hold"
        return f"the guardrail on {self.outcome} ({self.amount:g}) {what}"


def guardrails_in_words(guardrails: Sequence[Guardrail] | None, barred: Sized | None) -> list[str]:
    """What is proved of the recommended policy, and how many were barred; nothing if there is none.

    Parameters
    ----------
    guardrails : sequence of Guardrail, or None
    barred : integer array, or None
        Policies that are proved to break one.
    """
    if not guardrails:
        return []
    said = [f"Of the same policy, {'; '.join(map(str, guardrails))}."]
    n = 0 if barred is None else len(barred)
    if n:
        said.append(f"{n:,} {'policy is' if n == 1 else 'policies are'} proved to break one.")
    return said


def open_in_words(guardrails: Sequence[Guardrail] | None, missing: Mapping[str, int]) -> str:
    """Which guardrails are not proved yet, and how many outcomes they wait for; empty if none.

    Parameters
    ----------
    guardrails : sequence of Guardrail, or None
    missing : dict of int
        In how many rounds each outcome is not known yet.
    """
    names = [one.outcome for one in guardrails or () if one.verdict == "not proved"]
    if not names:
        return ""
    waits = [
        f"{missing[name]:,} outcome{' is' if missing[name] == 1 else 's are'} open of {name}"
        for name in names
        if missing.get(name)
    ]
    many = len(names) > 1
    said = f"Guardrail{'s' if many else ''} {', '.join(names)} {'are' if many else 'is'} not proved"
    return f"{said} yet{': ' * bool(waits)}{', '.join(waits)}."


def outcomes_to_dict(
    outcomes: Mapping[str, OutcomeValue] | None,
    against: Mapping[str, OutcomeValue] | None,
    guardrails: Sequence[Guardrail] | None,
) -> dict[str, Any]:
    """Outcomes of a policy and of today's, and what is proved of guardrails, for JSON."""
    both = {"outcomes": outcomes, "outcomes_against": against}
    found: dict[str, Any] = {
        key: {name: one.to_dict() for name, one in values.items()}
        for key, values in both.items()
        if values is not None
    }
    if guardrails is not None:
        found["guardrails"] = [one.to_dict() for one in guardrails]
    return found


def scaled_amount(problem: Problem, name: str) -> float:
    """The amount of a guardrail in units of scores, which lie in [0, 1]."""
    of: Outcome = (problem.outcomes or {})[name]
    return float((problem.guardrails or {})[name] / of.width)


def guardrail_of(
    problem: Problem,
    name: str,
    *,
    difference: float,
    least: float,
    most: float,
    rounds: int,
) -> Guardrail:
    """What limits on a policy's score less that of today's say of a guardrail.

    The difference is an estimate in the outcome's own units already.
    """
    of: Outcome = (problem.outcomes or {})[name]
    lower, upper = of.width * least, of.width * most
    if of.objective == "minimize":
        lower, upper = -upper, -lower
    holds = least >= -scaled_amount(problem, name)
    return Guardrail(
        outcome=name,
        amount=float((problem.guardrails or {})[name]),
        value=0.0 if least == most == 0 else difference,
        lower=lower,
        upper=upper,
        verdict="holds" if holds else "not proved",
        rounds=rounds,
    )
