"""How to act: one learner, one file."""

from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.uniform import Uniform

__all__ = ["Decisions", "Explorer", "Recommendation", "Uniform"]
