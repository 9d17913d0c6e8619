"""How to act: one learner, one file."""

from policysieve.exploration.base import Explorer
from policysieve.exploration.by_optimization import ExplorationByOptimization
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designing import design
from policysieve.exploration.elimination import PolicyElimination
from policysieve.exploration.epsilon_greedy import EpsilonGreedy
from policysieve.exploration.exp4 import Exp4
from policysieve.exploration.list_weights import ListWeights
from policysieve.exploration.log_barrier import LogBarrier
from policysieve.exploration.low_variance import LowVarianceExploration
from policysieve.exploration.mixture import Exploration
from policysieve.exploration.sieve import Sieve
from policysieve.exploration.uniform import Uniform

__all__ = [
    "LEARNERS",
    "Decisions",
    "EpsilonGreedy",
    "Exp4",
    "Exploration",
    "ExplorationByOptimization",
    "Explorer",
    "ListWeights",
    "LogBarrier",
    "LowVarianceExploration",
    "PolicyElimination",
    "Recommendation",
    "Sieve",
    "Uniform",
    "design",
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
