"""How fast: always next to something else that is measured in the same run."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.speed.class_size import growth, memory_bandwidth
from policysieve.bench.speed.first_use import first_use
from policysieve.bench.speed.latency import latency
from policysieve.bench.speed.memory import peak_memory, sieve_memory
from policysieve.bench.speed.proving import certificate, two_cores
from policysieve.bench.speed.sieve import recommending, sieve
from policysieve.bench.speed.sieve_growth import sieve_growth
from policysieve.bench.speed.yardsticks import best_seconds, naive_low_variance
from policysieve.exploration import Explorer
from policysieve.exploration.learners import Exp4, ExplorationByOptimization, LowVarianceExploration
from policysieve.kernels.by_optimization import closed_forms
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = ["measure_speed"]


def measure_speed(progress: SayStep = lambda _step: None) -> dict[str, Any]:
    """Measure speed; `progress` hears the name of each step.

    Returns
    -------
    dict
        Plain values for JSON: the ``code`` that measured, and one entry for each step.
    """
    steps: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("low_variance_against_naive", against_naive),
        ("memory_bandwidth", memory_bandwidth),
        ("growth", growth),
        ("exploration_by_optimization", by_optimization),
        ("certificate", certificate),
        ("peak_memory", peak_memory),
        ("sieve", sieve),
        ("recommend", recommending),
        ("latency", latency),
        ("two_cores", two_cores),
        ("sieve_growth", sieve_growth),
        ("sieve_memory", sieve_memory),
        ("first_use", first_use),
    ]
    results: dict[str, Any] = {"code": code_version()}
    for name, measure in steps:
        progress(name)
        results[name] = measure()
    return results


def against_naive(
    *, n_policies: int = 1_000, rounds: int = 2_000_000, naive_rounds: int = 8_000
) -> dict[str, Any]:
    """Rounds per second of both phases, end to end, against the per-round numpy twin.

    K = 100, 0/1 rewards, a quarter of the rounds in phase 1 as `plan` advises, the same problem,
    rate and mixing for both.
    """
    world = SparseSynthetic(
        n_actions=100, n_contexts=1_000, n_policies=n_policies, profile="one_good"
    )
    labels = world._rewarded[:, 0]
    policies = PolicyTable(world.pool, n_actions=100)
    problem = world.problem(epsilon=0.05, delta=0.05)
    contexts = np.random.default_rng(0).integers(0, 1_000, rounds)

    def ours(n: int) -> tuple[float, Any]:
        learner = LowVarianceExploration(
            policies, problem, explore_rounds=n // 4, estimate_rounds=n - n // 4, rng=0
        )
        started = time.perf_counter()
        position = 0
        while not learner.finished:
            batch = contexts[position : position + min(50_000, learner.ask_limit)]
            decisions = learner.ask(batch)
            learner.tell(decisions, decisions.actions[:, 0] == labels[batch])
            position += len(batch)
        return time.perf_counter() - started, learner.recommend().policy

    learner = LowVarianceExploration(policies, problem)

    def naive() -> float:
        started = time.perf_counter()
        naive_low_variance(
            world.pool,
            contexts[:naive_rounds],
            labels,
            n_actions=100,
            explore_rounds=naive_rounds // 4,
            mixing=learner.mixing,
            learning_rate=learner.learning_rate,
            rng=np.random.default_rng(0),
        )
        return time.perf_counter() - started

    ours(1_000)  # compile
    pairs = [(ours(rounds), naive()) for _ in range(5)]  # in turn, so that noise meets both
    seconds, chosen = min(own for own, _ in pairs)
    naive_seconds = min(other for _, other in pairs)
    fast, slow = rounds / seconds, naive_rounds / naive_seconds
    return {
        "n_actions": 100,
        "n_policies": n_policies,
        "rounds_per_second": fast,
        "naive_rounds_per_second": slow,
        "ratio": fast / slow,
        "found_the_best": bool(world.values(policies).argmax() == chosen),
    }


def by_optimization(*, rounds: int = 100_000, batch: int = 1_000) -> dict[str, Any]:
    """Microseconds of one closed form, and rounds per second of the learner against EXP4.

    K = 100, 1,000 policies, 1,000 contexts, batches of 1,000; both learners share all code but the
    distribution that is played and the step of the weights.
    """
    micros = {}
    for n_actions in (10, 100, 1_000):
        w = np.random.default_rng(0).dirichlet(np.ones(n_actions), size=1_000)
        q, kappa = np.empty_like(w), np.empty(1_000)
        rows = np.arange(1_000)
        micros[str(n_actions)] = 1e3 * best_seconds(
            partial(closed_forms, w, rows, 2.0 * n_actions, q, kappa)
        )
    world = SparseSynthetic(n_actions=100, n_contexts=1_000, n_policies=1_000, profile="close")
    labels = world._rewarded[:, 0]
    policies = PolicyTable(world.pool, n_actions=100)
    problem = world.problem(epsilon=0.05, delta=0.05)
    contexts = np.random.default_rng(0).integers(0, 1_000, rounds)

    def seconds(make: Callable[..., Explorer]) -> float:
        learner = make(policies, problem, rounds=rounds, rng=0)
        started = time.perf_counter()
        for start in range(0, rounds, batch):
            here = contexts[start : start + batch]
            decisions = learner.ask(here)
            learner.tell(decisions, decisions.actions[:, 0] == labels[here])
        learner.recommend()
        return time.perf_counter() - started

    makers: tuple[Any, Any] = (ExplorationByOptimization, Exp4)
    for make in makers:
        seconds(make)  # compile
    pairs = [[seconds(make) for make in makers] for _ in range(3)]
    ours, exp4 = np.min(pairs, axis=0)
    return {
        "closed_form_microseconds": micros,
        "rounds_per_second": rounds / ours,
        "exp4_rounds_per_second": rounds / exp4,
        "ratio": exp4 / ours,
    }
