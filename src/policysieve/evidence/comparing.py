"""How far apart two policies are: limits on the difference of their values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import flag
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import log_factors, log_factors_of_few, shrinkage
from policysieve.evidence.pace import times_as_long
from policysieve.evidence.past import Past
from policysieve.evidence.standing import Standing
from policysieve.evidence.values import policy_interval
from policysieve.kernels.capped import SLACK
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = [
    "Comparison",
    "capped_difference",
    "chosen_among",
    "compared",
    "gain_over",
    "least_difference",
    "log_wealth_of_difference",
    "pair_of",
    "times_to_gain",
]

Array = npt.NDArray[np.float64]

_STEPS, _ZOOMS = 40, 3  # differences that are tried at once, and how often between two of them
_BY_BETS = 0.9  # of a level, for bets on the difference; the rest is for limits on the two values
_WAYS = 4  # two policies, and two kinds of limits of each


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How far apart two policies are, in expected reward per round.

    Attributes
    ----------
    first, second : str
        The policies in words.
    value : float
        Estimate of the value of the first less that of the second; NaN before the first round.
    lower, upper : float
        Interval for that difference.
    rounds : int
        Rounds behind these numbers.
    guarantee : str
        What holds, and with which probability, in one sentence.
    """

    first: str
    second: str
    value: float
    lower: float
    upper: float
    rounds: int
    guarantee: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: NaN becomes None."""
        return {**self.__dict__, "value": None if math.isnan(self.value) else self.value}


def compared(
    policies: Policies,
    problem: Problem,
    first: int | str,
    second: int | str,
    *,
    estimate_of: Callable[[int], float],
    least: Callable[[int, int, float], float],
    rounds: int,
    among: int,
    when: str,
    pairs: float | None = None,
) -> Comparison:
    """Compare two policies, by number or name.

    Each side of an interval has half of delta, divided by the number of pairs from which the data
    may have chosen this one (docs/maths.md, "Differences").

    Parameters
    ----------
    policies, problem
    first, second : int or str
    estimate_of : callable
        From the number of a policy to the estimate of its value.
    least : callable
        From two numbers and ln(1/d) to a lower limit on the difference of their values that fails
        with probability at most d.
    rounds : int
    among : int
        Policies from which the data may have chosen the two; 2 if they were named beforehand.
    when : str
        When and on what condition the interval holds, in words.
    pairs : float, optional
        Into how many parts delta is split; by default the number of pairs of these policies.
    """
    (a, b), cap = pair_of(policies, first, second), problem.unit.reward_cap
    if policies.same_as(a, np.array([b]))[0]:
        lower = upper = 0.0
    else:
        pairs = among * (among - 1) / 2 if pairs is None else pairs
        log_term = log(2 / problem.delta) + log(pairs)
        lower = max(least(a, b, log_term), -cap)
        upper = min(max(-least(b, a, log_term), lower), cap)
    better = float(estimate_of(a) - estimate_of(b))
    lower, upper = problem.scale.differences(lower, upper)
    names = policies.name_of(a), policies.name_of(b)
    of = "of this pair, named beforehand" if among == 2 else "of all pairs at once"
    return Comparison(
        first=names[0],
        second=names[1],
        value=problem.scale.differences(better, better)[0],
        lower=lower,
        upper=upper,
        rounds=rounds,
        guarantee=f"With probability at least {1 - problem.delta:g}, "
        f"{_verdict(*names, lower, upper, problem)}; that holds {of}, {when}.",
    )


def pair_of(policies: Policies, first: int | str, second: int | str) -> tuple[int, int]:
    """The numbers of two different policies, by number or name, or raise."""
    a, b = policies.number_of(first), policies.number_of(second)
    if a == b:
        raise InvalidArgumentError(
            f"compare takes two different policies, got {policies.name_of(a)!r} twice"
        )
    return a, b


def chosen_among(policies: Policies, named_beforehand: bool) -> int:
    """From how many policies the data may have chosen the two that are compared."""
    return 2 if flag("named_beforehand", named_beforehand) else policies.n_policies


def gain_over(
    policies: Policies,
    problem: Problem,
    leader: int,
    least: Callable[[int, int, float], float],
    leaders: int | None = None,
) -> float | None:
    """Lower limit on what a leader gains over the policy that runs today; None if none is named.

    It is that of rewards in [0, 1], as the problem is.
    Any of the others could have been chosen to lead by the same data, so half of delta is split
    over them, or into as many parts as `leaders` says. `least` is as for `compared`.
    """
    against = policies.against(problem)
    if against is None:
        return None
    if leader == against or policies.same_as(leader, np.array([against]))[0]:
        return 0.0
    leaders = policies.n_policies - 1 if leaders is None else leaders
    return max(least(leader, against, _log_gain(leaders, problem)), -problem.reward_cap)


def _log_gain(leaders: int, problem: Problem) -> float:
    return log(2 * leaders / problem.delta)


def times_to_gain(standing: Standing, past: Past, leader: int, today: int) -> float | None:
    """How many times the rounds of the past it takes until the leader is proved to be better.

    As `times_as_long` has it, for the bets behind `gain_over`.
    """
    problem, cohorts, rival = standing.problem, standing.cohorts, np.array([today])
    since = int(cohorts.since_both(leader, rival)[0])
    bets = log_factors(problem, past, leader, rival, np.zeros(1), len(past) - since)
    return times_as_long(bets[:, 0], _log_gain(cohorts.leaders(leader), problem) - log(_BY_BETS))


def _verdict(first: str, second: str, lower: float, upper: float, problem: Problem) -> str:
    if lower == upper == 0:
        return f"{first} and {second} have the same value: they are the same policy"
    if problem.scale.minimize and lower > 0:
        return f"{first} costs more than {second} by {lower:.4g} to {upper:.4g}"
    if problem.scale.minimize and upper < 0:
        return f"{first} costs less than {second} by {-upper:.4g} to {-lower:.4g}"
    if lower > 0:
        return f"{first} is better than {second} by {lower:.4g} to {upper:.4g}"
    if upper < 0:
        return f"{first} is worse than {second} by {-upper:.4g} to {-lower:.4g}"
    return f"the value of {first} less that of {second} lies between {lower:.4g} and {upper:.4g}"


def least_difference(log_wealth: Callable[[Array], Array], cap: float, log_term: float) -> float:
    """The largest difference up to which all are ruled out, by zooming in from [-cap, cap].

    `log_wealth`, of bets that the difference is larger than each of some, falls in them.
    """
    low, high = -cap, cap
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, _STEPS + 1)
        passed = np.logical_and.accumulate(log_wealth(grid) >= log_term)
        count = int(passed.sum())
        low, high = grid[max(count - 1, 0)], grid[min(count, _STEPS)]
    return float(low)


def capped_difference(
    standing: Standing,
    past: Past,
    kept: npt.NDArray[np.intp],
    first: int,
    second: int,
    log_term: float,
) -> float:
    """Lower limit on value(first) - value(second) at level exp(-log_term), at any time.

    By bets on capped scores in all rounds that count for both. If one of the two is not among the
    policies whose answers are `kept`, or rounds were forgotten, from limits on their single values.
    """
    problem = standing.problem
    if len(past) == standing.rounds and np.isin([first, second], kept).all():
        since = int(standing.cohorts.since_both(first, np.array([second]))[0])
        if len(past) == since:
            return -problem.reward_cap
        return least_difference(
            partial(log_wealth_of_difference, problem, past, first, second, since=since),
            problem.reward_cap,
            log_term - log(_BY_BETS),
        )
    each = log_term + log(_WAYS / (1 - _BY_BETS))
    lower = policy_interval(standing, past, first, each)[1]
    return lower - policy_interval(standing, past, second, each)[2]


def log_wealth_of_difference(
    problem: Problem, past: Past, first: int, second: int, differences: Array, *, since: int = 0
) -> Array:
    """Log-wealth of bets, in the later rounds, that the first is better by more than each g.

    They are ln mean prod (1 + lam (Z - g)). For g > 0 stakes are lam/(1 + lam g/.99), so that a
    score of -.99/lam does not lose everything, and as 1 + lam Z/.99 >= 0 they still fall in g. The
    factors are (1 + lam (Z + g/.99 - g))/(1 + lam g/.99) then: the same scores as of certificates.
    """
    gains = np.maximum(differences, 0.0)
    distances = np.where(differences > 0, gains / SLACK - gains, -differences)
    wealth = log_factors_of_few(problem, past, first, np.array([second]), distances[None], since)
    return log_mean_exp((wealth[0] - shrinkage(past, problem.slate_size, gains, since)).T)
