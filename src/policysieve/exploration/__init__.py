"""How to act: explorations, which are values, and learners, which publish them."""

from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs import Exploration, design
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.forecast import Forecast
from policysieve.exploration.learners import LEARNERS

__all__ = [
    "LEARNERS",
    "Decisions",
    "Exploration",
    "Explorer",
    "Forecast",
    "Recommendation",
    "design",
]
