"""Rounds per second of the Sieve, its longest pauses, and what a recommendation takes."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from policysieve.bench.speed.playing import KINDS, Played, make_class, play
from policysieve.bench.speed.yardsticks import best_seconds
from policysieve.exploration.learners import Sieve, Uniform
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = ["Case", "recommending", "sieve"]

_WARM_UP = 10  # calls
_COPIED = 100  # rows at once, at most


class Case(NamedTuple):
    """A run of the Sieve that is timed.

    Attributes
    ----------
    kind, n_policies
        The class, as for `make_class`.
    epsilon : float
    batch : int
    until_certified : bool
        Whether to stop at the certificate. Otherwise all rounds are played, also beyond it.
    repeats : int
        Runs, of which the quickest counts.
    """

    kind: str
    n_policies: int
    epsilon: float
    batch: int = 100
    until_certified: bool = False
    repeats: int = 1


_CASES = (
    Case("clusters", 1_000, 0.05, until_certified=True, repeats=3),
    Case("clusters", 1_000, 0.01, repeats=3),
    Case("clusters", 1_000, 0.01, batch=1, repeats=3),
    Case("clusters", 100_000, 0.05, until_certified=True),
    Case("clusters", 100_000, 0.01),
    Case("close", 1_000, 0.01),
    Case("close", 100_000, 0.01),
)
"""Rounds get cheaper as policies are eliminated: both until a certificate and long runs tell.

In the runs of close values nearly all policies stay for thousands of rounds.
"""


def sieve(*, cases: Sequence[Case] = _CASES, rounds: int = 20_000) -> dict[str, Any]:
    """Rounds per second of ask and tell, against Uniform and against a copy of the rows.

    Uniform plays as many rounds in the same batches. The copy is of what a round has to read at
    least once: what all policies show at its context.

    Returns
    -------
    dict
        ``rounds`` at most, and a list ``cases``. ``ratio`` is rounds per second over those of
        Uniform, ``share`` is the time of the copy over the time of the rounds.
    """
    made: dict[tuple[str, int], tuple[SparseSynthetic, PolicyTable]] = {}
    results = []
    for case in cases:
        key = case.kind, case.n_policies
        if key not in made:
            made = {key: make_class(*key)}  # the classes before are not needed any more
        results.append(_measure(case, *made[key], rounds))
    return {"rounds": rounds, "cases": results}


def recommending(
    *, n_policies: int = 1_000, rounds: int = 60_000, calls: int = 5
) -> dict[str, dict[str, Any]]:
    """Seconds of `recommend` after many rounds, against telling a batch of 100 rounds."""
    results = {}
    for kind in KINDS:
        world, policies = make_class(kind, n_policies)
        learner = Sieve(policies, world.problem(epsilon=0.01, delta=0.05), rng=0)
        played = play(learner, world, rounds)
        learner.recommend()  # compiles
        seconds = []
        for _ in range(calls):
            started = time.perf_counter()
            learner.recommend()
            seconds.append(time.perf_counter() - started)
        results[kind] = {
            "n_policies": n_policies,
            "rounds": rounds,
            "survivors": len(learner.survivors),
            "median_seconds": float(np.median(seconds)),
            "longest_seconds": max(seconds),
            "ratio": float(np.median(seconds) / np.median(played.tell_seconds)),
        }
    return results


def _measure(
    case: Case, world: SparseSynthetic, policies: PolicyTable, rounds: int
) -> dict[str, Any]:
    problem = world.problem(epsilon=case.epsilon, delta=0.05)

    def ours(most: int) -> tuple[Sieve, Played]:
        learner = Sieve(policies, problem, rng=0)
        return learner, play(
            learner, world, most, batch=case.batch, until_finished=case.until_certified
        )

    def uniform(n: int) -> Played:
        return play(Uniform(policies, problem, rounds=n, rng=0), world, n, batch=case.batch)

    ours(_WARM_UP * case.batch)
    uniform(_WARM_UP * case.batch)
    pairs = []
    for _ in range(case.repeats):  # in turn, so that noise meets both
        learner, played = ours(rounds)
        pairs.append((played, uniform(played.rounds)))
    best = min((played for played, _ in pairs), key=lambda played: played.seconds)
    other = min(played.seconds_per_round for _, played in pairs)
    return {
        **case._asdict(),
        "rounds": best.rounds,
        "certified": learner.finished,
        "survivors": len(learner.survivors),
        "rounds_per_second": 1 / best.seconds_per_round,
        "uniform_rounds_per_second": 1 / other,
        "ratio": other / best.seconds_per_round,
        "share": _copy_seconds(policies.table, case.batch) / best.seconds_per_round,
        "longest_ask_seconds": float(best.ask_seconds.max()),
        "longest_tell_seconds": float(best.tell_seconds.max()),
    }


def _copy_seconds(table: Any, batch: int) -> float:
    """Seconds to copy the row of one context out of the table, for some rows at once."""
    n = min(batch, _COPIED)
    contexts = np.random.default_rng(0).integers(len(table), size=(10, n))
    target = np.empty((n, *table.shape[1:]), table.dtype)

    def copy() -> None:
        for rows in contexts:
            table.take(rows, axis=0, out=target, mode="clip")  # without a copy in between

    return best_seconds(copy) / contexts.size
