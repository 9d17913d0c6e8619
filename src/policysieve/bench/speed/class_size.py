"""What a round costs as the class grows: memory bandwidth and growth."""

from typing import Any

import numpy as np

from policysieve.bench.speed.yardsticks import best_seconds
from policysieve.evidence import Events
from policysieve.exploration.designs.hedge import AveragedHedge, HedgeSettings
from policysieve.exploration.learners import LowVarianceExploration
from policysieve.kernels.hits import find_hits
from policysieve.policies import PolicyTable, Slates
from policysieve.problem import Problem

__all__ = ["growth", "memory_bandwidth"]

_CACHE_LINE = 64
_SIZES = (1_000, 10_000, 100_000, 1_000_000)


def memory_bandwidth(*, n_policies: int = 1_000_000, n_contexts: int = 64) -> dict[str, Any]:
    """Bytes that a rewarded round must move, against a copy of as many bytes.

    A rewarded round reads its context's row of actions and, for each policy that shows the rewarded
    action, reads and writes the cache line of its state. The share is the time of a copy of as many
    bytes, between arrays larger than the caches, divided by the time of the round.
    """
    table, events = _random_events(n_policies, n_contexts, n_events=4 * n_contexts)
    hits = np.mean(
        [(table[row] == a).sum() for row, a in zip(events.rows, events.actions[:, 0], strict=True)]
    )
    moved = int(n_policies * table.itemsize + 2 * _CACHE_LINE * hits)
    event_seconds = _seconds_per_event(n_policies, events)

    source = np.ones((max(2, (1 << 28) // moved), moved), dtype=np.uint8)
    target = np.empty_like(source)

    def copy() -> None:
        for k in range(len(source)):
            np.copyto(target[k], source[k])

    copy_seconds = best_seconds(copy) / len(source)
    buffer = np.empty(n_policies, np.int32)

    def scan() -> None:
        for row in range(n_contexts):
            find_hits(table[row, :, 0], np.int32(row), 1, 0, buffer, 0)

    return {
        "n_policies": n_policies,
        "bytes_per_event": moved,
        "event_seconds": event_seconds,
        "copy_seconds": copy_seconds,
        "copy_bytes_per_second": moved / copy_seconds,
        "share": copy_seconds / event_seconds,
        "one_core_scan_seconds": best_seconds(scan) / n_contexts,
    }


def growth() -> dict[str, Any]:
    """Seconds per rewarded and per unrewarded round against the number of policies."""
    rewarded, unrewarded = [], []
    for n_policies in _SIZES:
        table, events = _random_events(n_policies, max(4, 16_000_000 // n_policies), n_events=256)
        rewarded.append(_seconds_per_event(n_policies, events))
        unrewarded.append(_seconds_per_unrewarded_round(table))
    logs = np.log10(_SIZES)
    return {
        "n_policies": list(_SIZES),
        "rewarded_seconds": rewarded,
        "unrewarded_seconds": unrewarded,
        "rewarded_slope": float(np.polyfit(logs, np.log10(rewarded), 1)[0]),
        "unrewarded_slope": float(np.polyfit(logs, np.log10(unrewarded), 1)[0]),
    }


def _random_events(n_policies: int, n_contexts: int, n_events: int) -> tuple[Any, Events]:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 100, (n_contexts, n_policies, 1), dtype=np.uint8)
    events = Events(
        n_rounds=100 * n_events,
        rounds=np.arange(n_events) * 100,
        answers=Slates(table, np.resize(rng.permutation(n_contexts), n_events)),
        actions=rng.integers(0, 100, (n_events, 1)).astype(np.int32),
        propensities=np.full((n_events, 1), 0.01),
        rewards=np.ones((n_events, 1)),
        n_actions=100,
    )
    return table, events


def _seconds_per_event(n_policies: int, events: Events) -> float:
    hedge = AveragedHedge(
        HedgeSettings(
            n_policies=n_policies,
            n_actions=100,
            slate_size=1,
            mixing=0.5,
            learning_rate=0.005,
            horizon=10**9,
        )
    )
    return best_seconds(lambda: hedge.add(events)) / len(events.rounds)


def _seconds_per_unrewarded_round(table: Any, rounds: int = 100_000) -> float:
    problem = Problem(n_actions=100, epsilon=0.05, delta=0.05)
    policies = PolicyTable(table, n_actions=100)
    learner = LowVarianceExploration(policies, problem, explore_rounds=10**9, rng=0)
    contexts, nothing = np.zeros(rounds, dtype=np.int64), np.zeros(rounds)
    return best_seconds(lambda: learner.tell(learner.ask(contexts), nothing)) / rounds
