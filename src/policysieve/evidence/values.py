"""Limits on the values of single policies, by betting on capped scores and from their sums."""

from math import log

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import sparsity_of
from policysieve.evidence.classical import value_limits
from policysieve.evidence.cohorts import Cohort
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.past import Past
from policysieve.evidence.standing import Standing
from policysieve.kernels.capped_values import ABOVE, BELOW, add_value_factors
from policysieve.kernels.threads import in_pieces
from policysieve.problem import Problem

__all__ = [
    "best_survivors",
    "betting_limits",
    "limits_from_sums",
    "policy_interval",
    "policy_intervals",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_STAKES = np.array([0.001, 0.003, 0.01, 0.025, 0.06, 0.12, 0.25, 0.5, 0.75])
_NO_SHARES = np.empty(0)  # of propensities: all stakes are fixed
_BET_ON = 32  # policies of the largest estimates whose limits are found by betting
_POINTS, _ZOOMS = 40, 2  # values that are tried at once, and how often between two of them
_MANY = 1 << 14  # rounds from which on threads pay
_WAYS = 4  # two sides and two kinds of limits


def policy_intervals(standing: Standing, past: Past) -> ValueIntervals:
    """Estimates of all policies, with limits that hold for all at once and at any time.

    Of every policy from the sums of what it earned and of what it missed: neither is negative, so
    each is bounded from below without a range, and the lower limit of one is the upper limit of the
    other. Of the survivors of the largest estimates also by betting, which is sharper. Each of the
    four limits has its part of delta (docs/maths.md, "Values of single policies").

    Parameters
    ----------
    standing : Standing
    past : Past
        The rounds behind it; nothing is bet on if they were forgotten.
    """
    bet_on = best_survivors(standing)
    sums, counted, found = standing.sums, standing.counted, []
    for one in standing.cohorts.every:
        mine = slice(one.first, one.first + one.size)
        here = bet_on[(bet_on >= mine.start) & (bet_on < mine.stop)]
        limits = _limits(
            standing,
            past,
            sums[:, mine],
            counted[mine],
            bet_on=here,
            places=here - one.first,
            since=one.since,
            log_term=_log_term(standing, one),
        )
        found.append(limits)
    lower, upper = (np.concatenate(part) for part in zip(*found, strict=True))
    return ValueIntervals(standing.values, lower, upper)


def best_survivors(standing: Standing) -> Numbers:
    """Survivors whose limits are found by betting, too: those of the largest estimates."""
    order = np.argsort(-standing.estimates, kind="stable")
    return standing.survivors[order[:_BET_ON]]


def policy_interval(
    standing: Standing, past: Past, policy: int, log_term: float | None = None
) -> tuple[float, float, float]:
    """Estimate and limits of one policy; by betting, too, if it is a survivor.

    Each limit of either kind is at level exp(-log_term), by default as for all policies at once.
    """
    cohort = standing.cohorts.of(policy)
    log_term = _log_term(standing, cohort) if log_term is None else log_term
    value, sums, counted = standing.of_one(policy)
    bet_on = standing.survivors[standing.survivors == policy]
    lower, upper = _limits(
        standing,
        past,
        sums[:, None],
        np.array([counted]),
        bet_on=bet_on,
        places=np.zeros(len(bet_on), np.intp),
        since=cohort.since,
        log_term=log_term,
    )
    return value, float(lower[0]), float(upper[0])


def _log_term(standing: Standing, cohort: Cohort) -> float:
    """Ln(1/level) for a cohort, so that all limits of all policies hold at once."""
    return log(_WAYS * standing.cohorts.parts(cohort) / standing.problem.delta)


def _limits(
    standing: Standing,
    past: Past,
    sums: Array,
    counted: npt.NDArray[np.int64],
    *,
    bet_on: Numbers,
    places: Numbers,
    since: int,
    log_term: float,
) -> tuple[Array, Array]:
    """Limits from sums of shape (7, n), and sharper ones at the places of policies to bet on.

    The first `since` rounds do not count.
    """
    problem = standing.problem
    if standing.rounds == since:
        return np.zeros(len(counted)), np.full(len(counted), problem.reward_cap)
    weight = counted.astype(np.float64)
    lower, upper = limits_from_sums(
        problem, (sums[2], sums[3]), (sums[4], sums[5]), weight, log_term
    )
    if len(past) == standing.rounds and len(bet_on):
        below, above = betting_limits(problem, past, bet_on, log_term, since)
        lower[places] = np.maximum(lower[places], below)
        upper[places] = np.minimum(upper[places], above)
    return lower, np.maximum(lower, upper)


def limits_from_sums(
    problem: Problem,
    earned: tuple[Array, Array],
    missed: tuple[Array, Array],
    weight: Array,
    log_term: float,
) -> tuple[Array, Array]:
    """Limits of values, each at level exp(-log_term), that need to know of no range.

    Parameters
    ----------
    problem : Problem
    earned, missed : pairs of arrays
        Sums over rounds of r/W and of (1-r)/W of a policy's shown items, and of their squares.
    weight : array
        Rounds.
    log_term : float
    """
    (lower, _), (least_missed, _) = (
        value_limits(*sums, weight, log_term) for sums in (earned, missed)
    )
    cap = problem.reward_cap
    lower = np.clip(lower, 0.0, cap)
    return lower, np.maximum(lower, np.clip(problem.slate_size - least_missed, 0.0, cap))


def betting_limits(
    problem: Problem, past: Past, which: Numbers, log_term: float, since: int = 0
) -> tuple[Array, Array]:
    """Limits of some policies' values, each at level exp(-log_term), from the later rounds.

    For a value v above the true one, mean over stakes of prod (1 + lam (h_i - v)) is a
    supermartingale from one, so v is a lower limit once that reaches exp(log_term); likewise from
    above. The wealth is monotone in v: the last v that passes is found by zooming in.
    """
    cap, found = problem.reward_cap, []
    for above in (False, True):
        low, high = np.zeros(len(which)), np.full(len(which), cap)
        for _ in range(_ZOOMS):
            steps = np.linspace(0.0, 1.0, _POINTS)
            grid = low[:, None] + (high - low)[:, None] * steps
            kind = ABOVE if above else BELOW
            wealth = _log_wealth(problem, past, which, since=since, kind=kind, grid=grid)
            passed = log_mean_exp(wealth.swapaxes(1, 2)) >= log_term  # up to, or from some v on
            count = passed.sum(axis=1)
            rows = np.arange(len(which))
            if above:
                low = grid[rows, np.clip(_POINTS - 1 - count, 0, _POINTS - 1)]
                high = grid[rows, np.clip(_POINTS - count, 0, _POINTS - 1)]
            else:
                high = grid[rows, np.clip(count, 0, _POINTS - 1)]
                low = grid[rows, np.clip(count - 1, 0, _POINTS - 1)]
        found.append(high if above else low)
    return found[0], found[1]


def _log_wealth(
    problem: Problem, past: Past, which: Numbers, *, since: int, kind: int, grid: Array
) -> Array:
    """Log-wealth of bets on values of a grid (n, V), a row for each policy: (n, G, V)."""
    stakes = _STAKES / problem.slate_size
    wealth = np.zeros((len(which), len(stakes), grid.shape[1]))

    def bet(first: int, last: int) -> None:
        add_value_factors(
            *past.arrays(which[first:last], since),
            past.scales(since),
            0,
            sparsity_of(problem),
            problem.reward_cap,
            stakes,
            _NO_SHARES,
            kind,
            grid[first:last],
            past.room,
            wealth[first:last],
        )

    if len(past) >= _MANY:
        in_pieces(bet, len(which))  # no policy's wealth depends on the others
    else:
        bet(0, len(which))
    return wealth
