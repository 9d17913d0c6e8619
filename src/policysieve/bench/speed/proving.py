"""What a certificate takes where only a floor of propensities is known, and on two cores."""

import json
from contextlib import nullcontext
from typing import Any

import numpy as np

from policysieve.bench.speed.yardsticks import best_seconds, busy_processes, run_code
from policysieve.evidence import FloorEvidence
from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["certificate", "two_cores"]

_CODE = "import sys; from policysieve.bench.speed.proving import _child; _child(*sys.argv[1:])"


def certificate(*, n_policies: int = 100_000, n_events: int = 10_000) -> dict[str, Any]:
    """One betting certificate from scratch, against one pass over the actions it has to read.

    K = 100, 1,000 contexts, one good policy; the pass is priced at the bandwidth of a copy between
    arrays larger than the caches.
    """
    evidence = _evidence(n_policies, n_events)
    seconds = best_seconds(evidence.certificate, repeats=3)
    proof = evidence.certificate()
    source = np.ones(1 << 28, dtype=np.uint8)
    target = np.empty_like(source)
    bandwidth = len(source) / best_seconds(lambda: np.copyto(target, source), repeats=5)
    read = evidence.record.n_events * n_policies
    return {
        "n_policies": n_policies,
        "n_events": evidence.record.n_events,
        "seconds": seconds,
        "events_times_policies_per_second": read / seconds,
        "share": read / bandwidth / seconds,
        "certified": proof.certified,
        "n_eliminated": int(proof.eliminated.sum()),
    }


def two_cores(
    *, n_policies: int = 100_000, n_events: int = 2_000, repeats: int = 3
) -> dict[str, Any]:
    """The same certificate on all cores and with one thread, alone and next to busy processes.

    It is the only work that is cut into one piece for each core; all other work has one thread, so
    that nothing waits. They have processes of their own, because threads are counted once.

    Parameters
    ----------
    n_policies, n_events : int
    repeats : int
        Processes of each, in turn; the quickest certificate counts.

    Returns
    -------
    dict
        A list ``cases``; ``ratio`` is the time with one thread over the time on all cores.
    """
    cases = []
    for competing in (False, True):
        with busy_processes() if competing else nullcontext():
            pairs = [
                [
                    json.loads(run_code(_CODE, str(n_policies), str(n_events), environment=threads))
                    for threads in ({}, {"NUMBA_NUM_THREADS": "1"})
                ]
                for _ in range(repeats)
            ]
        every, one = np.min(pairs, axis=0).tolist()
        cases.append(
            {
                "n_policies": n_policies,
                "n_events": n_events,
                "competing": competing,
                "seconds": every,
                "one_thread_seconds": one,
                "ratio": one / every,
            }
        )
    return {"cases": cases}


def _child(n_policies: str, n_events: str) -> None:
    """In a process of its own: print the seconds of one certificate."""
    print(best_seconds(_evidence(int(n_policies), int(n_events)).certificate, repeats=3))


def _evidence(n_policies: int, n_events: int) -> FloorEvidence:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 100, (1_000, n_policies), dtype=np.uint8)
    labels = rng.integers(0, 100, 1_000)
    table[:, 0] = np.where(rng.random(1_000) < 0.8, labels, table[:, 0])
    policies = PolicyTable(table, n_actions=100)
    contexts = rng.integers(0, 1_000, 100 * n_events)
    actions = rng.integers(0, 100, len(contexts))
    log = Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(len(contexts), 0.01),
        rewards=actions == labels[contexts],
    )
    evidence = FloorEvidence(policies, Problem(n_actions=100, epsilon=0.05, delta=0.05))
    evidence.add(log, floor=0.01)
    return evidence
