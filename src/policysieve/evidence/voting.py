"""Votes of the candidates, with weights from rounds that judge nothing."""

from collections.abc import Sequence
from math import inf

import numpy as np

from policysieve.arrays import as_list
from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.estimates import Estimates
from policysieve.evidence.events import check_comparable, check_rewards, rewarded_events
from policysieve.log import AnyLog, in_unit, open_for
from policysieve.policies import Policies, VotePolicies
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem

__all__ = ["LEAST_WEIGHT", "TEMPERATURES", "fit_votes"]

TEMPERATURES = (0.02, 0.1)
LEAST_WEIGHT = 1e-3  # of the largest: who counts less is not worth asking


def fit_votes(
    log: AnyLog,
    policies: Policies,
    problem: Problem,
    *,
    temperatures: Sequence[float] = TEMPERATURES,
) -> VotePolicies:
    """Votes in which candidates count by how well they did in a log, one for each temperature.

    The weight of a candidate is exp(-gap / max(temperature, error)), its gap to the best estimate
    and the standard error of that gap, both importance-weighted (docs/maths.md, "Votes"). Who has
    less than a thousandth of the largest weight is left out.

    **The rounds of this log must not judge the votes**, which look better in them than they are.
    ``learner.add(fit_votes(learner.log, policies, problem))`` is right: only later rounds count for
    who joins. So is a new learner or study with ``policies + votes``, and ``select(log, policies +
    votes, problem, since=n)`` for votes that were fitted on ``log[:n]``.

    Parameters
    ----------
    log : Log, LogFile, path or paths
        At least two rounds.
    policies, problem
        They must fit the log; at least two policies. They are asked at rewarded rounds alone.
    temperatures : sequence of float
        Gaps that hardly count, as shares of what a round can earn; positive. The smaller, the fewer
        voters decide.

    Raises
    ------
    InvalidArgumentError
        If the log is too short or does not fit, or a temperature is no such number.
    FileNotFoundError, FileFormatError
        As `LogFile` has it, and if a reward is missing.
    """
    check_comparable(policies, problem)
    given = as_list("temperatures", temperatures, "a sequence of numbers")
    degrees = [number("temperatures", one, above=0, below=inf) for one in given]
    if not degrees or len(set(degrees)) < len(degrees):
        raise InvalidArgumentError(
            f"temperatures must be different numbers, at least one, got {degrees}"
        )
    sums = Estimates(policies.n_policies)
    for piece in open_for(log, names_of_actions(policies, problem), problem.scale.range).pieces():
        check_rewards(piece, problem)
        sums = sums.plus(rewarded_events(in_unit(piece, problem.scale), policies))
    if sums.rounds < 2:
        raise InvalidArgumentError(f"log must have at least two rounds, got {sums.rounds}")
    gaps = sums.values[sums.leader] - sums.values
    errors = np.sqrt((sums.variances + sums.variances[sums.leader]) / sums.rounds)
    cap = problem.unit.reward_cap
    weights = [np.exp(-gaps / np.maximum(one * cap, errors)) for one in degrees]
    kept = [np.where(one >= LEAST_WEIGHT, one, 0.0) for one in weights]
    names = [
        f"vote of {np.count_nonzero(one):,} after {sums.rounds:,} rounds (temperature {degree:g})"
        for one, degree in zip(kept, degrees, strict=True)
    ]
    return VotePolicies(
        policies,
        kept,
        fitted_on=sums.rounds,
        names=None if policies.names is None else names,
    )
