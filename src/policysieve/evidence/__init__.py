"""What a log proves: importance-weighted estimates and the bounds around them."""

from policysieve.evidence.certificate import Certificate, Evidence
from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import Events, rewarded_events
from policysieve.evidence.intervals import ValueIntervals, empirical_bernstein
from policysieve.evidence.selecting import Selection, select

__all__ = [
    "Certificate",
    "Estimates",
    "Events",
    "Evidence",
    "Selection",
    "ValueIntervals",
    "empirical_bernstein",
    "rewarded_events",
    "select",
]
