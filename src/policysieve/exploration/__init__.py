"""How to act: explorations, which are values, and learners, which publish them."""

from policysieve.exploration.costs import ExploringCost, Loss
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs import Exploration, design
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.forecast import Forecast
from policysieve.exploration.learners import LEARNERS
from policysieve.exploration.status import Status

__all__ = [
    "LEARNERS",
    "Decisions",
    "Exploration",
    "Explorer",
    "ExploringCost",
    "Forecast",
    "Loss",
    "Recommendation",
    "Status",
    "design",
]
