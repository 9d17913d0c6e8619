"""From any log with propensities to the best policy, with a certificate."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from policysieve.checks import number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.comparing import Comparison, chosen_among, pair_of
from policysieve.evidence.covering import Coverage
from policysieve.evidence.deciders import Decider, check_decider
from policysieve.evidence.evidence import MEMORY_LIMIT, Evidence
from policysieve.evidence.implicit import ImplicitEvidence
from policysieve.evidence.kinds import (
    METHODS,
    AnyEvidence,
    Method,
    default_method,
    evidence_of,
)
from policysieve.evidence.reading import LogReader
from policysieve.evidence.segmenting import segments_finder
from policysieve.evidence.selection import Selection
from policysieve.log import AnyLog, Log, LogFile, open_for
from policysieve.log.returning import Met, chosen_rounds, first_rows
from policysieve.policies import AnyPolicies, check_class
from policysieve.policies.pair import PolicyPair
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem

__all__ = ["select"]


def select(
    log: AnyLog,
    policies: AnyPolicies,
    problem: Problem,
    *,
    method: Method | None = None,
    floor: float | None = None,
    exploration: Decider | None = None,
    since: int = 0,
    segment: Any = None,
    memory_limit: int = MEMORY_LIMIT,
    track: Callable[[Iterable[Log]], Iterable[Log]] = iter,
) -> Selection:
    """Choose the best policy from a log whose propensities were fixed before each round.

    What is proved depends on what is known of the propensities: of all actions, from the log's
    distributions or from the exploration that decided (the sharpest, by capped scores); at least of
    shown ones, with a declared floor under all; or neither, and then policies are estimated, and
    nothing is certified.

    Where the log names its units, the users or sessions, only the first round of each counts,
    because rounds of one user are not independent (docs/maths.md, "One round of each unit").

    Parameters
    ----------
    log : Log, LogFile, path or paths
        Rounds in the order of their decisions. Files may be of any format, and are read in pieces,
        so they may be larger than memory.
    policies, problem
        They must fit the log; at least two policies.
    method : str, optional
        By default ``"capped"`` where all propensities are known, else ``"betting"`` with a floor;
        or one of ``"empirical_bernstein"``, ``"stitched"``, ``"fixed"`` and ``"checkpoints"``, as
        for `FloorEvidence`. ``"fixed"`` takes the number of rounds that count as the declared
        one. A class that cannot be listed has ``"betting"`` only.
    floor : float, optional
        Smallest propensity that any item could have had in any round.
    exploration : Exploration, optional
        What decided all rounds of the log, or all that count.
    since : int
        Rounds before this number do not count. It must have been fixed beforehand, or be the
        `alarm` of a change that was found in the rounds before it: a start chosen by a look at the
        rounds that count makes what is said of them wrong.
    segment : str, int, callable or sequence, optional
        Also say for whom the selected policy is better, as `Selection.by_segment` does.
    memory_limit : int
        Bytes of rounds to keep for ``"capped"``, as `Evidence` has it.
    track : callable
        Wraps the loop over pieces, for instance to show progress.

    Raises
    ------
    InvalidArgumentError
        If the log is empty, does not fit, shows no exploration at all, or has propensities that
        cannot be probabilities of being shown, or not those of the exploration.
    FileNotFoundError, FileFormatError
        As `LogFile` has it, and if a reward is missing.
    """
    check_class(policies)
    policies.check_fits(problem)
    names = names_of_actions(policies, problem)
    log = open_for(log, names, problem.scale.range)
    if not len(log):
        raise InvalidArgumentError("log must have at least one round, got none")
    log, played = _from(log, since)
    if policies.fitted_on > since:
        raise InvalidArgumentError(
            f"since must be at least {policies.fitted_on:,}, got {since:,}: the votes among the "
            "policies were fitted on so many rounds, in which they look better than they are. If "
            "these were of another log, VotePolicies(policies, votes.weights) says so"
        )
    if floor is not None:
        floor = number("floor", floor, above=0, below=1, closed=True)
    if method is not None:
        one_of("method", method, METHODS)
    check_decider(exploration)
    method = method or default_method(log, policies, floor, exploration)
    evidence, add = evidence_of(
        policies,
        problem,
        method=method,
        floor=floor,
        exploration=exploration,
        declared_rounds=_counted(log) if method == "fixed" else len(log),
        memory_limit=memory_limit,
    )
    coverage = Coverage(policies, floor)
    check = partial(coverage.check, names, problem.delta, covers=method != "capped")
    reader = LogReader(evidence, add, policies, problem)
    if policies.called:  # what a call costs is not spent on a log that cannot be right
        for looked in log.mapped(coverage.of, "policies"):
            coverage.take(looked)
        check()
        reader.read(log, floor, exploration, track)
    else:
        reader.read(log, floor, exploration, track, coverage)
        check()
    reader.bar()
    certificate, intervals = evidence.certificate(), evidence.intervals()
    leader = certificate.leader
    guardrails = reader.guardrails(leader, log)
    if guardrails is not None and certificate.cleared is None:
        cleared = all(one.verdict == "holds" for one in guardrails)
        certificate = replace(certificate, cleared=cleared)
    selection = Selection(
        policy=leader,
        value=float(intervals.values[intervals.place_of(leader)]),
        intervals=intervals,
        certificate=certificate,
        problem=problem,
        floor=None if method == "capped" else floor,
        returning=played - evidence.rounds if log.has_units else None,
        outcomes=reader.outcomes(log),
        guardrails=guardrails,
        find_comparison=partial(_compared, evidence, log, exploration),
        find_segments=segments_finder(log, policies, problem, intervals, leader, exploration),
    )
    if segment is None:
        return selection
    return replace(selection, segments=selection.by_segment(segment))


def _from(log: Log | LogFile, since: int) -> tuple[Log | LogFile, int]:
    """The rounds from a number on, and how many they are.

    Of units that had come before it none: then the log is held in memory.
    """
    later = log.since(since)
    if not since or not log.has_units:
        return later, len(later)
    whole = log if isinstance(log, Log) else Log.concatenate(log.whole())
    rows, _ = first_rows(whole, None, 0)
    rows = np.arange(len(whole)) if rows is None else rows
    if rows[-1] < since:
        raise InvalidArgumentError(
            f"since must leave the first round of a unit, got {since:,}, before which all units "
            "had come"
        )
    return chosen_rounds(whole, rows[rows >= since]), len(later)


def _counted(log: Log | LogFile) -> int:
    """How many rounds count: all, or the first of each unit."""
    if not log.has_units:
        return len(log)
    met = Met()
    for piece in log.pieces():
        assert piece.units is not None
        met = met.plus(piece.units)
    return len(met)


def _compared(
    evidence: AnyEvidence,
    log: Log | LogFile,
    exploration: Decider | None,
    first: int | str,
    second: int | str,
    named_beforehand: bool,
) -> Comparison:
    """Compare two policies, after a second look at the log if it has let go of policies."""
    if isinstance(evidence, ImplicitEvidence):
        raise InvalidArgumentError(
            "policies must be numbered to be compared, and those of this class cannot be listed; "
            "select among a list of the two"
        )
    if not isinstance(evidence, Evidence):
        return evidence.compare(first, second, named_beforehand=named_beforehand)
    among = chosen_among(evidence.policies, named_beforehand)
    pair = PolicyPair(evidence.policies, pair_of(evidence.policies, first, second))
    problem = evidence.problem.of_rewards
    of_two = Evidence(pair, problem, memory_limit=evidence.memory_limit, keep=(0, 1))
    for piece in log.pieces():
        of_two.add(piece, exploration)
    return of_two.compare_among(0, 1, among)
