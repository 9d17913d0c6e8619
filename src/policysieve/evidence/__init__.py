"""What a log proves: importance-weighted estimates and the bounds around them."""

from policysieve.evidence.accuracy import Accuracy, accuracy_from
from policysieve.evidence.certificate import Certificate, Evidence
from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import ContextEvents, Events, rewarded_events
from policysieve.evidence.implicit import ImplicitEstimates, LeaderIntervals, estimates_of
from policysieve.evidence.implicit_evidence import ImplicitEvidence
from policysieve.evidence.intervals import ValueIntervals, empirical_bernstein
from policysieve.evidence.selecting import Selection, select

__all__ = [
    "Accuracy",
    "Certificate",
    "ContextEvents",
    "Estimates",
    "Events",
    "Evidence",
    "ImplicitEstimates",
    "ImplicitEvidence",
    "LeaderIntervals",
    "Selection",
    "ValueIntervals",
    "accuracy_from",
    "empirical_bernstein",
    "estimates_of",
    "rewarded_events",
    "select",
]
