"""From a log to the values of policies in segments: the rounds with one value of a column."""

from collections.abc import Callable, Sequence
from functools import partial
from math import log as log_of
from typing import Any

from policysieve.arrays import shown
from policysieve.checks import flag, integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.deciders import Decider
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.outcomes import of_one_outcome
from policysieve.evidence.paired import known_scores
from policysieve.evidence.segment_labels import OTHERS, grouped, in_words, labels_of
from policysieve.evidence.segment_rounds import CappedRounds, SegmentRounds, ShownRounds
from policysieve.evidence.segments import MOST, Segment, Segments
from policysieve.log import Log, LogFile, in_unit
from policysieve.log.returning import chosen_rounds, first_rows
from policysieve.outcome import Outcome
from policysieve.policies import AnyPolicies, Policies
from policysieve.policies.pair import PolicyPair
from policysieve.problem import Problem

__all__ = ["pair_to_show", "segments_finder", "values_by_segment"]


def values_by_segment(
    log: Log | LogFile,
    policies: Policies,
    problem: Problem,
    segment: Any,
    *,
    pair: tuple[int, int],
    every_policy: bool = False,
    outcome: str | None = None,
    most: int = MOST,
    exploration: Decider | None = None,
    by: str | None = None,
) -> Segments:
    """Values of two policies, or of all, by segments of the rounds of a log.

    The rounds of a segment are a log of their own. The j-th to appear has delta/(j(j+1)), split
    over all policies, because the data may have chosen these (docs/maths.md, "Segments").

    Parameters
    ----------
    log, policies, problem
    segment : str, int, callable or sequence
        Name or number of a column of the contexts, a function from contexts to labels, or labels of
        all rounds.
    pair : pair of int
        The policies that are compared.
    every_policy : bool
        Whether to say what all others are worth, too.
    outcome : str, optional
        Of which the values are; by default of the reward.
    most : int
        Segments that have rows of their own, the first to appear; later ones are pooled.
    exploration : Exploration, optional
        What decided all rounds.
    by : str, optional
        What makes the segments, in words.
    """
    most, of = integer("most", most, low=1), _outcome_of(problem, outcome)
    asked = problem.unit.of_rewards if of is None else of_one_outcome(problem)
    part: Policies = policies if flag("every_policy", every_policy) else PolicyPair(policies, pair)
    places = pair if every_policy else (0, 1)
    full = exploration is not None or log.has_distributions
    found: dict[str, SegmentRounds] = {}
    start, met, counted = 0, None, 0
    for piece in log.pieces():
        labels = labels_of(segment, piece.contexts, start, len(log))
        start += len(piece)
        first, met = first_rows(piece, met, counted)
        if first is not None:
            piece, labels = chosen_rounds(piece, first), labels[first]
        counted += len(piece)
        told = _scored(piece, problem, outcome)
        slates = part.answers(told.contexts, told.available)
        for label, rows in grouped(labels[: len(told)], found, most):
            if label not in found:
                kind = CappedRounds if full else ShownRounds
                found[label] = kind(part, asked, places, exploration)
            found[label].add(chosen_rounds(told, rows), slates.take(rows))
        if len(told) < len(piece):
            break
    rest = [p for p in range(policies.n_policies) if p not in pair] if every_policy else []
    numbers, columns = (*pair, *rest), [*places, *rest]
    n = policies.n_policies
    pairs = n - 1 if policies.against(problem) in pair else n * (n - 1) // 2
    segments = {
        label: _judged(
            label, one, columns, log_of(2 * (n + pairs) * j * (j + 1) / problem.delta), problem, of
        )
        for j, (label, one) in enumerate(found.items(), start=1)
    }
    return Segments(
        by=in_words(segment) if by is None else by,
        outcome=outcome,
        policies=numbers,
        names=tuple(policies.name_of(p) for p in numbers),
        segments=tuple(segments[label] for label in sorted(found, key=OTHERS.__eq__)),
        delta=problem.delta,
        minimize=problem.scale.minimize if of is None else of.objective == "minimize",
    )


def pair_to_show(
    policies: Policies, problem: Problem, intervals: ValueIntervals, leader: int
) -> tuple[int, int]:
    """A leader, and the policy that runs today, or else the one of the next best estimate."""
    against = policies.against(problem)
    if against is not None and against != leader:
        return leader, against
    return leader, intervals.best_but(leader)


def segments_finder(
    log: Log | LogFile,
    policies: AnyPolicies,
    problem: Problem,
    intervals: ValueIntervals,
    leader: Any,
    exploration: Decider | None,
) -> Callable[..., Segments] | None:
    """`values_by_segment` of a log and its leader; None if policies have no numbers."""
    if not isinstance(policies, Policies):
        return None
    pair = pair_to_show(policies, problem, intervals, leader)
    return partial(values_by_segment, log, policies, problem, pair=pair, exploration=exploration)


def _judged(
    label: str,
    rounds: SegmentRounds,
    columns: Sequence[int],
    log_term: float,
    problem: Problem,
    of: Outcome | None,
) -> Segment:
    """What the rounds of a segment say, in the units of the reward or of the outcome."""
    limits = rounds.limits(log_term)
    least, most = rounds.difference(log_term)
    first, second = limits[0][list(columns[:2])]
    middle = float(first - second)
    if of is not None:
        limits = of.in_units(*limits, rounds.slate_size)
        scale = -of.width if of.objective == "minimize" else of.width
    else:
        units = problem.scale
        limits = (units.value(limits[0]), *units.limits(*limits[1:]))
        scale = -units.span if units.minimize else units.span
    lower, upper = sorted((scale * least, scale * most))
    values, low, high = (tuple(map(float, array[list(columns)])) for array in limits)
    return Segment(
        label=label,
        rounds=rounds.rounds,
        values=values,
        lower=low,
        upper=high,
        difference=(scale * middle, lower, upper),
    )


def _outcome_of(problem: Problem, outcome: str | None) -> Outcome | None:
    if outcome is None:
        return None
    declared = problem.outcomes or {}
    if not isinstance(outcome, str) or outcome not in declared:
        known = ", ".join(map(repr, declared)) or "none"
        raise InvalidArgumentError(
            f"outcome must be one that the problem declares, {known}, got {shown(outcome)}"
        )
    found: Outcome = declared[outcome]
    return found


def _scored(piece: Log, problem: Problem, outcome: str | None) -> Log:
    """The rounds, or the first ones in which an outcome is known, with its scores as rewards."""
    if outcome is None:
        return in_unit(piece, problem.scale)
    scores = known_scores(problem, outcome, piece)
    part = piece[: len(scores)]
    return Log.trusted(
        part.contexts,
        part.actions,
        part.propensities,
        scores,
        distributions=part.distributions,
        action_names=part.action_names,
        beside=part.beside,
    )
