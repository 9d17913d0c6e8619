"""What a log proves: importance-weighted estimates and the bounds around them."""

from policysieve.evidence.accuracy import Accuracy, accuracy_from, accuracy_gain
from policysieve.evidence.certificate import Certificate
from policysieve.evidence.change import Change
from policysieve.evidence.change_sums import Watched
from policysieve.evidence.comparing import Comparison
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import Events, rewarded_events
from policysieve.evidence.evidence import Evidence
from policysieve.evidence.floored import FloorEvidence
from policysieve.evidence.implicit import ImplicitEstimates, ImplicitEvidence, LeaderIntervals
from policysieve.evidence.kinds import anytime_intervals, estimates_of, evidence_of
from policysieve.evidence.outcomes import OutcomeValue
from policysieve.evidence.record import Record
from policysieve.evidence.segments import Segment, Segments
from policysieve.evidence.selecting import select
from policysieve.evidence.selection import Selection
from policysieve.evidence.verdicts import Guardrail
from policysieve.evidence.voting import fit_votes

__all__ = [
    "Accuracy",
    "Certificate",
    "Change",
    "Comparison",
    "Estimates",
    "Events",
    "Evidence",
    "FloorEvidence",
    "Guardrail",
    "ImplicitEstimates",
    "ImplicitEvidence",
    "LeaderIntervals",
    "OutcomeValue",
    "Record",
    "Segment",
    "Segments",
    "Selection",
    "ValueIntervals",
    "Watched",
    "accuracy_from",
    "accuracy_gain",
    "anytime_intervals",
    "estimates_of",
    "evidence_of",
    "fit_votes",
    "rewarded_events",
    "select",
]
