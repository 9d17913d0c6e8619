"""How a log is read into evidence, outcomes and guardrails: policies are asked once for all."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.covering import Coverage, Looked
from policysieve.evidence.deciders import Decider
from policysieve.evidence.digests import Digest, Digests, digests_for
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.evidence import Evidence
from policysieve.evidence.kinds import AnyEvidence
from policysieve.evidence.outcomes import Outcomes, check_outcomes
from policysieve.evidence.paired import PairedGuards
from policysieve.evidence.verdicts import Guardrail
from policysieve.log import Log, LogFile
from policysieve.log.returning import Met, all_first_rounds, first_rounds
from policysieve.naming import meant
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem

__all__ = ["LogReader"]


class LogReader:
    """Adds pieces of a log to evidence, and to the sums of outcomes if any are declared.

    Parameters
    ----------
    evidence : Evidence, FloorEvidence, ImplicitEvidence or UnprovedEvidence
    add : callable
        How it takes pieces.
    policies, problem
    """

    def __init__(
        self,
        evidence: AnyEvidence,
        add: Callable[..., None],
        policies: AnyPolicies,
        problem: Problem,
    ) -> None:
        check_outcomes(policies, problem)
        self._evidence, self._add, self._problem = evidence, add, problem
        self._policies = cast(Any, policies)  # listed ones, if outcomes are declared
        self._outcomes: Outcomes | None = None
        self._guards: PairedGuards | None = None
        self._met: Met | None = None
        if problem.outcomes is not None:
            self._outcomes = Outcomes(self._policies, problem)
        if problem.guardrails is not None and not isinstance(evidence, Evidence):
            self._guards = PairedGuards(self._policies, problem)

    def add(self, piece: Log) -> None:
        """Take in the next rounds."""
        if self._outcomes is None:
            self._add(piece)
        elif isinstance(self._evidence, Evidence):
            self._add(piece)
            self._outcomes = self._evidence.outcomes
        else:
            piece, self._met = first_rounds(piece, self._met, self._outcomes.rounds)
            answers = self._policies.answers(piece.contexts, piece.available)
            self._outcomes = self._outcomes.plus(piece, answers)
            if self._guards is not None:
                self._guards = self._guards.plus(piece, answers)
            self._add(piece, answers=answers)

    def read(
        self,
        log: Log | LogFile,
        floor: float | None,
        exploration: Decider | None,
        track: Callable[[Iterable[Any]], Iterable[Any]],
        coverage: Coverage | None = None,
    ) -> None:
        """Take in all rounds; what can be worked out of each piece alone, where it is read.

        With `coverage`, which looks at the same pieces.
        """
        digests = None
        if self._outcomes is None and not log.has_units:
            digests = digests_for(self._evidence, floor, exploration)
        if digests is None:
            for piece in track(log.pieces()):
                if coverage is not None:
                    coverage.take(coverage.of(piece))
                self.add(piece)
            return
        for digest in track(_digested(log, digests, coverage)):
            digests.take(digest)

    def bar(self) -> None:
        """Let go of what the rounds so far prove to break a guardrail."""
        if self._guards is not None:
            self._evidence.bar(self._guards.barred)  # type: ignore[union-attr]

    def outcomes(self, log: Log | LogFile) -> dict[str, ValueIntervals] | None:
        """Values of all policies in all outcomes, if any are declared, or raise if none is there.

        Raises
        ------
        InvalidArgumentError
            If a declared outcome is known in no round.
        """
        if self._outcomes is None:
            return None
        for name in self._problem.outcomes or {}:
            if not len(self._outcomes.known(name)):
                has = log.layout.outcomes if isinstance(log, LogFile) else tuple(log.outcomes)
                if name not in has:
                    raise InvalidArgumentError(
                        f"log must have the outcome {name!r} that the problem declares, it has "
                        f"{', '.join(map(repr, has)) or 'none'}{meant(name, has)}"
                    )
                raise InvalidArgumentError(
                    f"log must have the outcome {name!r} that the problem declares, at least in "
                    f"its first rounds, got none in {len(log):,} rounds; an outcome counts up to "
                    "the first round in which it is not known"
                )
        return self._outcomes.intervals()

    def guardrails(self, leader: Any, log: Log | LogFile) -> tuple[Guardrail, ...] | None:
        """What is proved of the leader and each guardrail, if there are any."""
        if self._problem.guardrails is None:
            return None
        if isinstance(self._evidence, Evidence):
            return self._evidence.guardrails()
        assert self._guards is not None
        assert self._outcomes is not None
        return self._guards.about(leader, all_first_rounds(log.pieces()), self._outcomes)


def _digested(log: Log | LogFile, digests: Digests, coverage: Coverage | None) -> Iterator[Digest]:
    """Digests of the pieces, of which coverage hears first."""
    if coverage is None:
        yield from log.mapped(digests.of, "policies", digests.now)
        return
    both = partial(_both, coverage.of, digests.of)
    for looked, digest in log.mapped(both, "policies", digests.now):
        coverage.take(looked)
        yield digest


def _both(
    look: Callable[[Log], Looked], digest: Callable[..., Digest], piece: Log, *now: Any
) -> tuple[Looked, Digest]:
    return look(piece), digest(piece, *now)
