"""The most memory that learners take with a million policies, each in a new process."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.bench.speed.playing import make_class, play
from policysieve.bench.speed.yardsticks import run_code
from policysieve.exploration.learners import LowVarianceExploration, Sieve
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["peak_memory", "sieve_memory"]


def peak_memory() -> dict[str, Any]:
    """Megabytes beyond the table for a million rounds with a million policies, in a new process.

    Read from the kernel's own account, which only Linux keeps.
    """
    return _in_new_process("_measure_memory()")


def sieve_memory(
    *, n_policies: int = 1_000_000, n_contexts: int = 32, rounds: int = 200
) -> dict[str, Any]:
    """Megabytes beyond the table, and beyond what the Sieve's evidence keeps.

    Policies of close values, epsilon 0.01, batches of 100 and a recommendation at the end; read as
    by `peak_memory`.

    Returns
    -------
    dict
        ``evidence_megabytes`` is the largest ``learner.evidence.nbytes`` after a batch, and
        ``megabytes_beyond`` what was needed besides it and the table.
    """
    return _in_new_process(f"_measure_sieve({n_policies}, {n_contexts}, {rounds})")


def _in_new_process(call: str) -> dict[str, Any]:
    """What a function of this module prints."""
    if not sys.platform.startswith("linux"):
        return {"skipped": "only measured on Linux"}
    result: dict[str, Any] = json.loads(
        run_code(f"from policysieve.bench.speed import memory; memory.{call}")
    )
    return result


def _measure_memory(n_policies: int = 1_000_000, rounds: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 100, 16)

    def run(table: PolicyTable, n: int) -> None:
        problem = Problem(n_actions=100, epsilon=0.05, delta=0.05)
        learner = LowVarianceExploration(
            table, problem, explore_rounds=n - n // 100, estimate_rounds=n // 100, rng=0
        )
        while not learner.finished:
            contexts = rng.integers(0, 16, min(10_000, learner.ask_limit))
            decisions = learner.ask(contexts)
            learner.tell(decisions, decisions.actions[:, 0] == labels[contexts])
        learner.recommend()

    run(PolicyTable(rng.integers(0, 100, (16, 10), dtype=np.uint8), 100), 10_000)
    table = PolicyTable(rng.integers(0, 100, (16, n_policies), dtype=np.uint8), 100)
    before = _restart_peak()
    run(table, rounds)
    result = {
        "n_policies": n_policies,
        "rounds": rounds,
        "table_megabytes": table.table.nbytes / 1e6,
        "megabytes_beyond_the_table": (_peak_kilobytes() - before) * 1024 / 1e6,
    }
    print(json.dumps(result))


def _measure_sieve(n_policies: int, n_contexts: int, rounds: int) -> None:
    _sieve_megabytes(n_policies // 10, n_contexts, rounds)  # compiles
    print(json.dumps(_sieve_megabytes(n_policies, n_contexts, rounds)))


def _sieve_megabytes(n_policies: int, n_contexts: int, rounds: int) -> dict[str, Any]:
    world, policies = make_class("close", n_policies, n_contexts=n_contexts)
    before, kept = _restart_peak(), 0
    learner = Sieve(policies, world.problem(epsilon=0.01, delta=0.05), rng=0)
    for number in range(rounds // 100):
        play(learner, world, 100, rng=number)
        kept = max(kept, learner.evidence.nbytes)
    learner.recommend()
    beyond = (_peak_kilobytes() - before) * 1024 / 1e6
    return {
        "n_policies": n_policies,
        "rounds": rounds,
        "table_megabytes": policies.table.nbytes / 1e6,
        "megabytes_beyond_the_table": beyond,
        "evidence_megabytes": kept / 1e6,
        "megabytes_beyond": beyond - kept / 1e6,
    }


def _restart_peak() -> int:
    """Forget the process's peak memory so far (Linux); return what it holds now, in kilobytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak_kilobytes()


def _peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
