"""How the seconds of a round of the Sieve grow: with policies, actions, contexts and rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from policysieve.bench.speed.playing import KINDS, make_class, play
from policysieve.exploration.learners import Sieve

__all__ = ["sieve_growth"]

_POLICIES = 1_000  # where something else grows
_EPSILON = 0.01


def sieve_growth(
    *,
    n_policies: Sequence[int] = (300, 1_000, 3_000, 10_000, 30_000),
    n_actions: Sequence[int] = (10, 30, 100, 300, 1_000),
    n_contexts: Sequence[int] = (100, 300, 1_000, 3_000, 10_000),
    n_rounds: Sequence[int] = (2_500, 5_000, 10_000, 20_000, 40_000),
    rounds: int = 2_000,
    repeats: int = 2,
) -> dict[str, dict[str, Any]]:
    """Seconds per round in batches of 100, and slopes on log axes, of both kinds of classes.

    Parameters
    ----------
    n_policies, n_actions, n_contexts : sequences of int
        Sizes at which the first `rounds` are timed.
    n_rounds : sequence of int
        The rounds up to each of them, from the one before, are timed.
    rounds : int
    repeats : int
        Runs, of which the quickest counts.

    Returns
    -------
    dict
        By kind and by what grows: ``sizes``, ``seconds`` per round, and ``slope``.
    """
    results = {}
    for kind in KINDS:
        grown: dict[str, Any] = {}
        grown["policies"] = _slope(
            n_policies, [_first_rounds(kind, n, rounds, repeats) for n in n_policies]
        )
        grown["actions"] = _slope(
            n_actions,
            [_first_rounds(kind, _POLICIES, rounds, repeats, n_actions=n) for n in n_actions],
        )
        grown["contexts"] = _slope(
            n_contexts,
            [_first_rounds(kind, _POLICIES, rounds, repeats, n_contexts=n) for n in n_contexts],
        )
        further = [_further_rounds(kind, n_rounds) for _ in range(repeats)]
        grown["rounds"] = _slope(n_rounds, np.min(further, axis=0).tolist())
        results[kind] = grown
    return results


def _first_rounds(kind: str, n_policies: int, rounds: int, repeats: int, **sizes: int) -> float:
    """Seconds per round of the quickest run, after one that warms up."""
    world, policies = make_class(kind, n_policies, **sizes)
    problem = world.problem(epsilon=_EPSILON, delta=0.05)

    def seconds(n: int) -> float:
        return play(Sieve(policies, problem, rng=0), world, n).seconds_per_round

    seconds(rounds // 10)
    return min(seconds(rounds) for _ in range(repeats))


def _further_rounds(kind: str, stops: Sequence[int]) -> list[float]:
    """Seconds of each round up to each stop, from the one before."""
    world, policies = make_class(kind, _POLICIES)
    learner = Sieve(policies, world.problem(epsilon=_EPSILON, delta=0.05), rng=0)
    parts = np.diff(stops, prepend=0).tolist()
    return [
        play(learner, world, part, rng=number).seconds_per_round
        for number, part in enumerate(parts)
    ]


def _slope(sizes: Sequence[int], seconds: list[float]) -> dict[str, Any]:
    return {
        "sizes": list(sizes),
        "seconds": seconds,
        "slope": float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]),
    }
