"""How to learn: one learner, one file, and its line here."""

from policysieve.exploration.explorer import Explorer
from policysieve.exploration.learners.by_optimization import ExplorationByOptimization
from policysieve.exploration.learners.elimination import PolicyElimination
from policysieve.exploration.learners.epsilon_greedy import EpsilonGreedy
from policysieve.exploration.learners.exp4 import Exp4
from policysieve.exploration.learners.list_weights import ListWeights
from policysieve.exploration.learners.log_barrier import LogBarrier
from policysieve.exploration.learners.low_variance import LowVarianceExploration
from policysieve.exploration.learners.sieve import Sieve
from policysieve.exploration.learners.uniform import Uniform

__all__ = [
    "LEARNERS",
    "EpsilonGreedy",
    "Exp4",
    "ExplorationByOptimization",
    "ListWeights",
    "LogBarrier",
    "LowVarianceExploration",
    "PolicyElimination",
    "Sieve",
    "Uniform",
]

LEARNERS: dict[str, type[Explorer]] = {
    learner.__name__: learner
    for learner in (
        Sieve,
        LowVarianceExploration,
        ExplorationByOptimization,
        Exp4,
        EpsilonGreedy,
        LogBarrier,
        ListWeights,
        PolicyElimination,
        Uniform,
    )
}
"""Every learner by its name: where a new one is registered."""
