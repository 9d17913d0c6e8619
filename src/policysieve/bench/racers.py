"""Who is measured: our learners, each at its best settings, and Vowpal Wabbit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policysieve.bench.vowpal_votes import VowpalVotes
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
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["ONE_ACTION_ONLY", "PROVERS", "RACERS", "Racer"]

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
    "VowpalWabbit": Racer(
        lambda p, q, rounds, seed: VowpalVotes(p, q, rng=seed), planned=False, most=1000
    ),
}
"""Who races to be right, by name."""

PROVERS = ("Sieve", "PolicyElimination", "Uniform")
"""Who races to a certificate, which is the same for all."""

ONE_ACTION_ONLY = ("ExplorationByOptimization", "Exp4", "VowpalWabbit")
"""Who cannot show slates of several items."""
