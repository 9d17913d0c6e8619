"""What a log proves: importance-weighted estimates and the bounds around them."""

from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import Events, rewarded_events
from policysieve.evidence.intervals import ValueIntervals, empirical_bernstein

__all__ = ["Estimates", "Events", "ValueIntervals", "empirical_bernstein", "rewarded_events"]
