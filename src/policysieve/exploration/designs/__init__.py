"""How explorations are made, and what they are: one kind, one file."""

from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.designs.designing import design
from policysieve.exploration.designs.listed import ListExploration
from policysieve.exploration.designs.mixture import MixedExploration, MixtureExploration
from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.designs.optimized import OptimizedExploration
from policysieve.exploration.designs.today import TodayExploration
from policysieve.exploration.designs.uniform import UniformExploration
from policysieve.exploration.designs.unlisted import MarginalExploration

__all__ = [
    "Exploration",
    "ListExploration",
    "MarginalExploration",
    "MixedExploration",
    "MixtureExploration",
    "NeedExploration",
    "OptimizedExploration",
    "TodayExploration",
    "UniformExploration",
    "design",
]
