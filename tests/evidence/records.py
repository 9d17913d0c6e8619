"""Records from logs, and the wealth they make."""

from policysieve.evidence import rewarded_events
from policysieve.evidence.betting import Betting


def plus(record, log, **arguments):
    """The record with the rounds of a log."""
    return record.plus(rewarded_events(log, record.policies), **arguments)


def wealth(record, leader):
    """Log-wealth of bets on a leader, at the problem's epsilon and at 0."""
    betting = Betting(record.problem, record.policies.n_policies)
    return betting.after(record, leader).log_wealth()
