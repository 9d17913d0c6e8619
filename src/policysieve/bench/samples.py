"""The race: the rounds that each learner needs to be right, and to prove it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.tasks import Task
from policysieve.evidence import Evidence
from policysieve.exploration.learners import (
    EpsilonGreedy,
    Exp4,
    ExplorationByOptimization,
    ListWeights,
    LogBarrier,
    LowVarianceExploration,
    PolicyElimination,
    Sieve,
    Uniform,
)
from policysieve.planning import plan
from policysieve.policies import PolicyTable
from policysieve.problem import Problem
from policysieve.worlds import World

__all__ = ["PROVERS", "RACERS", "SHARE", "picking", "proving", "rounds_needed"]

SHARE = 0.95  # of the seeds that have to be right
DELTA = 0.05
_FIRST, _GROWTH = 20, 1.5  # of the budgets
_BATCH = 50  # a batch is at most this part of the rounds so far
_SETTLED = 3  # budgets in a row at which enough seeds have to be right
_LOOK = 1.05  # growth of the rounds between looks at the evidence of uniform exploration

Array = npt.NDArray[np.float64]
Make = Callable[[PolicyTable, Problem, int, int], Any]


@dataclass(frozen=True)
class Racer:
    """How a learner is made for a number of rounds and a seed, at its best settings.

    Attributes
    ----------
    make : callable
        From policies, problem, rounds and seed to a learner.
    planned : bool
        Whether it has to know the number of rounds in advance: then each budget is a run of its
        own. Others are asked for a recommendation on the way.
    most : int or None
        Rounds after which it is given up earlier than others, because it is slow.
    """

    make: Make
    planned: bool
    most: int | None = None


def _thirds(learner: type, **settings: float) -> Make:
    """A learner of two phases: a third of the rounds to find its design, the rest to use it."""

    def make(policies: PolicyTable, problem: Problem, rounds: int, seed: int) -> Any:
        explore = max(1, rounds // 3)
        return learner(
            policies,
            problem,
            explore_rounds=explore,
            estimate_rounds=rounds - explore,
            rng=seed,
            **settings,
        )

    return make


def _given(learner: type) -> Make:
    return lambda policies, problem, rounds, seed: learner(
        policies, problem, rounds=rounds, rng=seed
    )


def _vowpal_wabbit(policies: PolicyTable, problem: Problem, rounds: int, seed: int) -> Any:
    from policysieve.bench.vowpal import VowpalWabbit

    return VowpalWabbit(policies, problem, rng=seed)


RACERS = {
    "Sieve": Racer(lambda p, q, rounds, seed: Sieve(p, q, goal="best", rng=seed), planned=False),
    "LowVarianceExploration": Racer(_thirds(LowVarianceExploration), planned=True),
    "ExplorationByOptimization": Racer(_given(ExplorationByOptimization), planned=True),
    "Exp4": Racer(_given(Exp4), planned=True),
    "EpsilonGreedy": Racer(_given(EpsilonGreedy), planned=False),
    "LogBarrier": Racer(_thirds(LogBarrier, mixing=0.1), planned=True),
    "ListWeights": Racer(_thirds(ListWeights), planned=True),
    "PolicyElimination": Racer(
        lambda p, q, rounds, seed: PolicyElimination(p, q, rng=seed), planned=False
    ),
    "Uniform": Racer(_given(Uniform), planned=False),
    "VowpalWabbit": Racer(_vowpal_wabbit, planned=False, most=1000),
}
"""Who races to be right, by name."""

PROVERS = ("Sieve", "PolicyElimination", "Uniform")
"""Who races to a certificate, which is the same for all."""

ONE_ACTION_ONLY = ("ExplorationByOptimization", "Exp4", "VowpalWabbit")


def budgets(most: int) -> list[int]:
    """Numbers of rounds at which recommendations are looked at."""
    count = int(log(most / _FIRST) / log(_GROWTH) + 1e-9) + 1 if most >= _FIRST else 0
    return [round(_FIRST * _GROWTH**i) for i in range(count)]


def picking(
    task: Task, learner: str, made: Callable[[int], Any], *, seeds: int, most: int
) -> dict[str, Any]:
    """True suboptimality of what a learner recommends, for each budget and seed.

    Returns
    -------
    dict
        ``budgets``; ``suboptimality``, one row per budget, one column per seed; ``right``, the
        share of the seeds that are within epsilon at each budget.
    """
    racer = RACERS[learner]
    stops = budgets(min(most, racer.most or most))
    rows: list[list[float]] = []
    if racer.planned:
        right = 0
        for stop in stops:
            rows.append([_play(task, racer, made, seed, [stop])[0] for seed in range(seeds)])
            right = right + 1 if _share(rows[-1], task.epsilon) >= SHARE else 0
            if right == _SETTLED:
                break
    else:
        each = [_play(task, racer, made, seed, stops) for seed in range(seeds)]
        rows = [list(row) for row in zip(*each, strict=True)]
    return {
        "budgets": stops[: len(rows)],
        "suboptimality": rows,
        "right": [_share(row, task.epsilon) for row in rows],
    }


def rounds_needed(stops: list[int], shares: list[float]) -> float | None:
    """Rounds at which 95% of the seeds are right, at that budget and the next two that were tried.

    Between budgets the share is interpolated linearly in the logarithm of the rounds.

    Returns
    -------
    float or None
        None if there is no such budget.
    """
    enough = np.asarray(shares) >= SHARE
    for first in range(len(stops)):
        if enough[first : first + _SETTLED].all():
            break
    else:
        return None
    if first == 0:
        return float(stops[0])
    low, high = shares[first - 1], shares[first]
    part = (SHARE - low) / (high - low)
    return exp(log(stops[first - 1]) + part * (log(stops[first]) - log(stops[first - 1])))


def proving(
    task: Task, learner: str, made: Callable[[int], Any], *, seeds: int, most: int
) -> dict[str, Any]:
    """Rounds until epsilon is certified, for each seed (None beyond `most`), and the plan's."""
    rounds, wrong = [], 0
    planned = 0
    for seed in range(seeds):
        world, policies = made(seed)
        problem = world.problem(epsilon=task.epsilon, delta=DELTA)
        planned = plan(problem, policies.n_policies).total_rounds
        values = world.values(policies)
        leader, needed = _certify(learner, world, policies, problem, seed, most)
        rounds.append(needed)
        wrong += needed is not None and values.max() - values[leader] > task.epsilon
    median = float(np.median([np.inf if n is None else n for n in rounds]))
    return {
        "rounds": rounds,
        "median": None if median == np.inf else median,
        "false": int(wrong),
        "planned": planned,
    }


def _share(suboptimalities: list[float], epsilon: float) -> float:
    return float(np.mean(np.asarray(suboptimalities) <= epsilon + 1e-12))


def _play(
    task: Task, racer: Racer, made: Callable[[int], Any], seed: int, stops: list[int]
) -> list[float]:
    """True suboptimality of the recommendation at the stops."""
    world, policies = made(seed)
    problem = world.problem(epsilon=task.epsilon, delta=DELTA)
    values = world.values(policies)
    learner = racer.make(policies, problem, stops[-1], seed)
    rng = np.random.default_rng(1000 + seed)
    found = []
    for stop in stops:
        _advance(learner, world, stop, rng)
        found.append(float(values.max() - _value(learner, world, values)))
    return found


def _value(learner: Any, world: World, values: Array) -> float:
    policy = learner.recommend().policy
    if isinstance(policy, int):
        return float(values[policy])
    if isinstance(policy, PolicyTable):  # not of the class
        return float(world.values(policy)[0])
    return float(policy.average(values))


def _advance(learner: Any, world: World, stop: int, rng: np.random.Generator) -> None:
    """Play up to a number of rounds, in batches that grow with the rounds."""
    while learner.rounds < stop and not learner.finished:
        size = min(stop - learner.rounds, max(1, learner.rounds // _BATCH))
        if learner.ask_limit is not None:
            size = max(1, min(size, learner.ask_limit))
        draw = world.draw(size, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))


def _certify(
    learner: str, world: World, policies: PolicyTable, problem: Problem, seed: int, most: int
) -> tuple[int, int | None]:
    """The certified leader and the rounds it took, None beyond `most`."""
    rng = np.random.default_rng(1000 + seed)
    if learner == "Uniform":
        return _certify_uniform(world, policies, problem, seed, most, rng)
    player = {"Sieve": Sieve, "PolicyElimination": PolicyElimination}[learner](
        policies, problem, rounds=most, rng=seed
    )
    _advance(player, world, most, rng)
    proof = player.evidence.certificate()
    return proof.leader, proof.rounds if proof.certified else None


def _certify_uniform(
    world: World,
    policies: PolicyTable,
    problem: Problem,
    seed: int,
    most: int,
    rng: np.random.Generator,
) -> tuple[int, int | None]:
    player = Uniform(policies, problem, rounds=most, rng=seed)
    evidence = Evidence(policies, problem)
    stop = _FIRST
    while True:
        seen = player.rounds
        _advance(player, world, min(stop, most), rng)
        floor = problem.slate_size / problem.n_actions
        evidence.add(player.log[seen:], floor=floor)
        proof = evidence.eliminate()
        if proof.certified or player.rounds >= most:
            return proof.leader, proof.rounds if proof.certified else None
        stop = int(_LOOK * stop) + 1
