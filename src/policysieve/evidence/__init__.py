"""What a log proves: importance-weighted estimates and the bounds around them."""

from policysieve.evidence.estimates import Estimates
from policysieve.evidence.intervals import ValueIntervals, empirical_bernstein

__all__ = ["Estimates", "ValueIntervals", "empirical_bernstein"]
