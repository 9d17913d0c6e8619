"""Outcomes, guardrails and segments, with arguments that are right."""

from functools import cache
from typing import Any

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import Call, K, a_log, a_problem, a_table, log_state

__all__ = ["OUTCOME_CALLS"]

_PROBLEM: dict[str, Any] = {
    "against": 0,
    "outcomes": {"sale": (0, 1), "cost": ps.Outcome(0, 9, "minimize")},
    "guardrails": {"sale": 0.1},
}


@cache
def _selection() -> ps.Selection:
    return ps.select(a_log(), a_table(), a_problem())


def _learner() -> tuple[Any, Any]:
    """One that was told the rewards of some rounds, and those."""
    learner = ps.Sieve(a_table(), a_problem(**_PROBLEM), rng=0)
    decisions = learner.ask(np.array([0, 5, 2]))
    learner.tell(decisions, np.zeros(3))
    return learner, decisions


def _state(made: tuple[Any, Any]) -> Any:
    learner, _ = made
    return log_state(learner.log), learner.open_outcomes


OUTCOME_CALLS: dict[str, Call] = {
    "Outcome": Call(
        lambda _, **how: ps.Outcome(**how),
        lambda: {"low": 0.0, "high": 60.0, "objective": "maximize", "late": 1.0},
    ),
    "Problem with guardrails": Call(
        lambda _, **asked: ps.Problem(n_actions=K, epsilon=0.1, delta=0.1, **asked),
        lambda: dict(_PROBLEM),
    ),
    "Explorer.tell_outcomes": Call(
        lambda made, outcomes: made[0].tell_outcomes(made[1], outcomes),
        lambda: {"outcomes": {"sale": np.array([0.0, 1.0, 1.0])}},
        _learner,
        _state,
    ),
    "Explorer.tell_outcomes of values": Call(
        lambda made, sale, cost: made[0].tell_outcomes(made[1], {"sale": sale, "cost": cost}),
        lambda: {"sale": np.array([0.0, 1.0, 1.0]), "cost": np.array([0.0, 9.0, 1.0])},
        _learner,
        _state,
    ),
    "Explorer.expire_outcomes": Call(
        lambda made, older_than: made[0].expire_outcomes(older_than=older_than),
        lambda: {"older_than": 0},
        _learner,
        _state,
    ),
    "Selection.by_segment": Call(
        lambda selection, segment, **how: selection.by_segment(segment, **how),
        lambda: {"segment": 0, "every_policy": False, "outcome": None, "most": 2},
        _selection,
    ),
    "Selection.by_segment of labels": Call(
        lambda selection, segment: selection.by_segment(segment),
        lambda: {"segment": np.array(["a", "b", "a", "c"])},
        _selection,
    ),
}
"""Of outcomes, by their names."""
