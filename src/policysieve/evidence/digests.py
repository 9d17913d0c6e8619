"""What evidence needs of a piece of a log, worked out where the piece is read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from policysieve.evidence.events import check_log_fits, load_unit, rewarded_events
from policysieve.evidence.floored import FloorEvidence
from policysieve.evidence.kinds import AnyEvidence
from policysieve.evidence.record import check_floor
from policysieve.evidence.unproved import UnprovedEvidence, earned_and_missed
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Digest", "digest_of"]


@dataclass(frozen=True)
class Digest:
    """Of so many rounds of a log without units, what evidence of some kind `takes`."""

    rounds: int
    parts: tuple[Any, ...]

    def __len__(self) -> int:
        return self.rounds


def digest_of(
    evidence: AnyEvidence, floor: float | None
) -> tuple[Callable[[Log], Digest], Callable[[Digest], None]] | None:
    """From a piece to its digest, anywhere, and how the evidence takes digests in order.

    None if it takes only rounds: what it makes of them depends on those before.
    """
    if isinstance(evidence, FloorEvidence):
        assert floor is not None
        policies = evidence.record.policies
        take = partial(evidence.take, floor=floor)
        return (
            partial(_rewarded, policies, evidence.problem, floor),
            lambda digest: take(*digest.parts),
        )
    if isinstance(evidence, UnprovedEvidence):
        told = partial(_summed, evidence.policies, evidence.problem)
        return told, lambda digest: evidence.take(*digest.parts)
    return None


def _rewarded(policies: Policies, problem: Problem, floor: float, piece: Log) -> Digest:
    log = load_unit(piece, policies, problem)
    check_floor(log, floor)
    return Digest(len(log), (rewarded_events(log, policies).sent(),))


def _summed(policies: Policies, problem: Problem, piece: Log) -> Digest:
    log = load_unit(piece, policies, problem)
    check_log_fits(log, policies)
    return Digest(len(log), earned_and_missed(log, policies))
