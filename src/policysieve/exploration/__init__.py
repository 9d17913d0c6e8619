"""How to act: one learner, one file."""

from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designing import design
from policysieve.exploration.low_variance import LowVarianceExploration
from policysieve.exploration.mixture import Exploration
from policysieve.exploration.uniform import Uniform

__all__ = [
    "Decisions",
    "Exploration",
    "Explorer",
    "LowVarianceExploration",
    "Recommendation",
    "Uniform",
    "design",
]
