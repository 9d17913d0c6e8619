"""What evidence needs of a piece of a log, worked out where the piece is read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from policysieve.evidence.deciders import Decider
from policysieve.evidence.events import check_log_fits, load_unit, rewarded_events
from policysieve.evidence.evidence import Evidence
from policysieve.evidence.floored import FloorEvidence
from policysieve.evidence.kinds import AnyEvidence
from policysieve.evidence.record import check_floor
from policysieve.evidence.unproved import UnprovedEvidence, earned_and_missed
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Digest", "Digests", "digests_for"]


@dataclass(frozen=True)
class Digest:
    """What evidence takes in of a piece of a log without units, and how many rounds it has."""

    rounds: int
    parts: tuple[Any, ...]

    def __len__(self) -> int:
        return self.rounds


class Digests(NamedTuple):
    """How pieces are digested, in any process, and taken in by the evidence, in order.

    Attributes
    ----------
    of : callable
        From a piece to its digest. If there is a `now`, it is also given what that returned at some
        time before.
    take : callable
        Lets the evidence have a digest.
    now : callable, optional
    """

    of: Callable[..., Digest]
    take: Callable[[Digest], None]
    now: Callable[[], Any] | None = None


def digests_for(
    evidence: AnyEvidence, floor: float | None, exploration: Decider | None
) -> Digests | None:
    """How evidence takes digests of a log without units; None if it takes whole rounds only."""
    if isinstance(evidence, Evidence):
        take_answered = partial(evidence.take_answered, exploration=exploration)
        known = exploration is None or exploration.policies is evidence.policies
        return Digests(
            partial(_answered, evidence.policies, known),
            lambda digest: take_answered(*digest.parts),
            # Policies that leave the race meanwhile were asked in vain, which changes nothing.
            lambda: evidence.survivors if exploration is None else None,
        )
    if isinstance(evidence, FloorEvidence):
        assert floor is not None
        policies = evidence.record.policies
        take = partial(evidence.take, floor=floor)
        return Digests(
            partial(_rewarded, policies, evidence.problem, floor),
            lambda digest: take(*digest.parts),
        )
    if isinstance(evidence, UnprovedEvidence):
        told = partial(_summed, evidence.policies, evidence.problem)
        return Digests(told, lambda digest: evidence.take(*digest.parts))
    return None


def _answered(policies: Policies, known: bool, piece: Log, which: Any) -> Digest:
    """The rounds, with what policies say in place of their contexts if that is all one needs."""
    check_log_fits(piece, policies)
    contexts = policies.check_contexts(piece.contexts)
    allowed = policies.check_available(piece.available, len(contexts))
    answers = policies.answers_at(contexts, which, allowed).sent(which)
    return Digest(len(piece), (piece.without_contexts() if known else piece, answers, which))


def _rewarded(policies: Policies, problem: Problem, floor: float, piece: Log) -> Digest:
    log = load_unit(piece, policies, problem)
    check_floor(log, floor)
    return Digest(len(log), (rewarded_events(log, policies).sent(),))


def _summed(policies: Policies, problem: Problem, piece: Log) -> Digest:
    log = load_unit(piece, policies, problem)
    check_log_fits(log, policies)
    return Digest(len(log), earned_and_missed(log, policies))
