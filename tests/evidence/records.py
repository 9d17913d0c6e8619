"""Records from logs."""

from policysieve.evidence import rewarded_events


def plus(record, log, **arguments):
    """The record with the rounds of a log."""
    return record.plus(rewarded_events(log, record.policies), **arguments)
