"""Certificates that count on a floor: with a true one, and with the smallest propensity met.

A floor is a premise. The two logs here had propensities so small that they were hardly ever met,
and the best policy is the best because of what was explored with them.
"""

from typing import get_args

import numpy as np

from policysieve.bench.certificates.watching import (
    CLOSE,
    DELTA,
    Array,
    Small,
    Verdict,
    Watch,
    arms,
    feed,
    greedy,
    played,
    uniform,
)
from policysieve.evidence import Evidence, FloorEvidence, select
from policysieve.evidence.floored import FloorMethod
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["EXPLORERS", "FLOOR_METHODS", "UNMET", "WAYS", "with_true_floor", "with_unmet"]

FLOOR_METHODS: tuple[FloorMethod, ...] = tuple(
    method
    for method in get_args(FloorMethod)
    if method != "fixed"  # which holds at one number of rounds
)
EXPLORERS = {"uniform": (uniform, 0.25), "greedy": (greedy(0.6), 0.1)}
"""How to explore four arms, and the smallest propensity that an arm then has."""

WAYS = {
    "nothing": "the propensities of shown actions",
    "smallest": "the smallest of them as floor",
    "all": "the propensities of all actions",
}
"""What is known of a log."""

_RARE = 0.07  # share of the contexts that were hardly explored
_ROUNDS, _BATCH = 1500, 100


def with_true_floor(method: FloorMethod, explorer: str, seed: int) -> Verdict:
    """Four arms, the best ahead by a little more than epsilon, and a floor that is kept."""
    rng, (explore, floor) = np.random.default_rng(seed), EXPLORERS[explorer]
    small = arms(CLOSE, epsilon=0.1)
    evidence = FloorEvidence(small.policies, small.problem, method=method)
    watch = Watch(small.values, small.problem.epsilon)
    for _ in range(15):
        x = small.draw(60, rng)
        evidence.add(played(small, x, explore(small, watch)[x], rng), floor=floor)
        evidence.eliminate()
        watch.see(evidence)
    return watch.verdict


def _hardly_explored(n_actions: int, usual: float, rare: float) -> tuple[Small, Array]:
    """Two policies that differ at rare contexts, and propensities at common and rare ones.

    There the best shows an action that always earns, but was shown with propensity `rare`, as all
    but the first were. Elsewhere their propensity was `usual`.
    """
    table = np.zeros((2, 2), dtype=np.int64)
    table[1, 1] = 1  # by the second policy, which is the best
    means = np.full((2, n_actions), 0.3)
    means[1, :2] = (0.2, 1.0)
    w = np.array([np.full(n_actions, usual), np.full(n_actions, rare)])
    w[:, 0] = 1 - w[:, 1:].sum(axis=1)
    problem = Problem(n_actions=n_actions, sparsity=None, epsilon=0.05, delta=DELTA)
    chances = np.array([1 - _RARE, _RARE])
    return Small(PolicyTable(table, n_actions), problem, means, chances), w


UNMET = {
    "two actions, 7% explored with 1e-5": _hardly_explored(2, 0.1, 1e-5),
    "ten actions, 7% explored with 1e-4": _hardly_explored(10, 0.03, 1e-4),
}
"""Logs with propensities that were hardly ever met."""


def with_unmet(log: str, way: str, seed: int) -> Verdict:
    """What is certified of one of the logs, at its end and, if all is known, on the way."""
    (small, w), rng = UNMET[log], np.random.default_rng(seed)
    watch = Watch(small.values, small.problem.epsilon)
    if way == "all":
        evidence = Evidence(small.policies, small.problem)
        while evidence.rounds < _ROUNDS:
            x = small.draw(_BATCH, rng)
            feed(evidence, played(small, x, w[x], rng), w[x])
            watch.see(evidence)
        return watch.verdict
    x = small.draw(_ROUNDS, rng)
    rounds = played(small, x, w[x], rng)
    floor = float(rounds.propensities.min()) if way == "smallest" else None
    watch.see_selection(select(rounds, small.policies, small.problem, floor=floor))
    return watch.verdict
