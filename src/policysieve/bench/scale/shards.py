"""Candidates in shards: slow ones, many of them, those that are left, and the evidence of all."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration.learners import Sieve
from policysieve.policies import FunctionPolicies, Policies, PolicyTable
from policysieve.problem import Problem
from policysieve.scale import RayEngine, ShardedPolicies

__all__ = ["central_evidence", "dealt_anew", "shards", "slow_candidates", "table_lookups"]

Row = dict[str, Any]

_CONTEXTS = 32  # of tables whose learners are measured
_ACTIONS = 50


def shards(
    *,
    workers: int,
    slow: tuple[int, float],
    slow_shards: Sequence[int],
    table: tuple[int, int],
    evidence_policies: Sequence[int],
) -> Row:
    """Everything about candidates in shards, on one cluster.

    Parameters
    ----------
    workers : int
        Of the cluster.
    slow : tuple
        How many candidates are slow, and how long each takes for a batch.
    slow_shards : sequence of int
        Among how many shards they are dealt.
    table : tuple of int
        Policies and contexts.
    evidence_policies : sequence of int
    """
    candidates, seconds = slow
    with RayEngine(workers=workers) as engine:
        return {
            "slow": [
                slow_candidates(engine, shards=n, candidates=candidates, seconds=seconds)
                for n in slow_shards
            ],
            "dealt_anew": dealt_anew(engine, candidates=max(4, candidates // 10), seconds=seconds),
            "table": table_lookups(engine, policies=table[0], contexts=table[1]),
            "evidence": [
                row for n in evidence_policies for row in central_evidence(engine, policies=n)
            ],
        }


class _Slow:
    """A candidate that takes so long for a batch, however large."""

    def __init__(self, number: int, seconds: float) -> None:
        self.number, self.seconds = number, seconds

    def __call__(self, contexts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        time.sleep(self.seconds)
        return np.asarray((contexts + self.number) % _ACTIONS)


def _slow(candidates: int, seconds: float) -> FunctionPolicies:
    return FunctionPolicies([_Slow(n, seconds) for n in range(candidates)], n_actions=_ACTIONS)


def slow_candidates(
    engine: RayEngine, *, shards: int, candidates: int, seconds: float, contexts: int = 100
) -> Row:
    """The time of a batch, and how many times the ideal for so many shards that is.

    Actors run before the clock does: they start once. The ideal is that of candidates that wait.
    """
    sharded = ShardedPolicies(_slow(candidates, seconds), shards=shards, engine=engine)
    x = np.arange(contexts)
    sharded.actions(x[:1], range(shards))
    took, ideal = _seconds(partial(sharded.actions, x)), candidates * seconds / shards
    return {
        "shards": shards,
        "candidates": candidates,
        "seconds_each": seconds,
        "contexts": contexts,
        "seconds": took,
        "ideal": ideal,
        "ratio": took / ideal,
    }


def dealt_anew(engine: RayEngine, *, candidates: int, seconds: float, batches: int = 4) -> Row:
    """Batches with those that are left of slow candidates, all of which one shard of two holds.

    The first is answered by one shard; before one of the next the candidates are dealt anew.
    """
    sharded = ShardedPolicies(_slow(candidates, seconds), shards=2, engine=engine)
    x, left = np.arange(100), np.arange(0, candidates, 2)
    sharded.actions(x[:1], [0, 1])
    each = [_seconds(partial(sharded.actions, x, left)) for _ in range(batches)]
    return {"left": len(left), "batches": each, "ideal": len(left) * seconds / 2}


def table_lookups(engine: RayEngine, *, policies: int, contexts: int, repeats: int = 3) -> Row:
    """All answers of a table in shards, and of the table itself, in seconds; and of one context."""
    made = np.random.default_rng(0).integers(0, _ACTIONS, (contexts, policies), dtype=np.uint8)
    table, x = PolicyTable(made, _ACTIONS), np.arange(contexts)
    began = time.perf_counter()
    sharded = ShardedPolicies(table, engine=engine)
    dealing = time.perf_counter() - began
    sharded.actions(x[:1])
    found = [_seconds(partial(sharded.actions, x)) for _ in range(repeats)]
    few = PolicyTable(made[:, :100], _ACTIONS)
    small = ShardedPolicies(few, engine=engine)
    small.actions(x[:1])
    calls = [_seconds(partial(small.actions, x[:1])) for _ in range(50)]
    return {
        "policies": policies,
        "contexts": contexts,
        "evaluations": policies * contexts,
        "bytes_moved": policies * contexts,  # one for each slate of one of 256 actions at most
        "shards": sharded.shards,
        "dealing_seconds": dealing,
        "seconds": min(found),
        "plain_seconds": min(_seconds(partial(table.actions, x)) for _ in range(repeats)),
        "call_milliseconds": 1e3 * median(calls),
    }


def central_evidence(
    engine: RayEngine, *, policies: int, rounds: int = 60, batch: int = 20
) -> list[Row]:
    """What a Sieve costs with a table, with it in shards, and with its evidence in shards as well.

    Seconds of ask and tell for each round, and bytes of evidence in this process, with almost all
    in the race.
    """
    made = np.random.default_rng(0).integers(0, _ACTIONS, (_CONTEXTS, policies), dtype=np.uint8)
    table, rows = PolicyTable(made, _ACTIONS), []
    kinds = {
        "plain": table,
        "sharded": ShardedPolicies(table, engine=engine),
        "divided": ShardedPolicies(table, engine=engine, evidence="shards"),
    }
    for name, which in kinds.items():
        which.actions(np.arange(1))
        rows.append({"policies": policies, "kind": name, **_played(which, rounds, batch)})
    return rows


def _played(policies: Policies, rounds: int, batch: int) -> Row:
    """Rounds without any reward, by which hardly anybody is eliminated."""
    learner = Sieve(policies, Problem(n_actions=_ACTIONS, epsilon=0.01, delta=0.05), rng=0)
    asking = telling = 0.0
    for start in range(0, rounds, batch):
        x = np.arange(start, start + batch) % _CONTEXTS
        began = time.perf_counter()
        decisions = learner.ask(x)
        asked = time.perf_counter()
        learner.tell(decisions, np.zeros(batch))
        if start:  # kernels are compiled in the first batch
            asking, telling = asking + asked - began, telling + time.perf_counter() - asked
    counted = max(1, rounds - batch)
    return {
        "rounds": rounds,
        "ask_seconds_per_round": asking / counted,
        "tell_seconds_per_round": telling / counted,
        "evidence_bytes": learner.evidence.nbytes,
        "survivors": len(learner.survivors),
    }


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
