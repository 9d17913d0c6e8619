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
from policysieve.evidence.past import Past
from policysieve.evidence.standing import FIXED_STAKES, STAKE_SHARES, Standing, sparsity_of
from policysieve.evidence.values import policy_interval
from policysieve.kernels.capped import AGAINST, SLACK, add_value_factors
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
    "shrinkage",
]

Array = npt.NDArray[np.float64]

_STEPS, _ZOOMS = 40, 3  # differences that are tried at once, and how often between two of them
_BY_BETS = 0.9  # of a level, for bets on the difference; the rest is for limits on the two values
_WAYS = 4  # two policies, and two kinds of limits of each


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How much better one policy is than another, in expected reward per round.

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
    """
    (a, b), cap = pair_of(policies, first, second), problem.reward_cap
    if policies.same_as(a, np.array([b]))[0]:
        lower = upper = 0.0
    else:
        log_term = log(2 / problem.delta) + log(among * (among - 1) / 2)
        lower = max(least(a, b, log_term), -cap)
        upper = min(max(-least(b, a, log_term), lower), cap)
    names = policies.name_of(a), policies.name_of(b)
    of = "of this pair, named beforehand" if among == 2 else "of all pairs at once"
    return Comparison(
        first=names[0],
        second=names[1],
        value=float(estimate_of(a) - estimate_of(b)),
        lower=lower,
        upper=upper,
        rounds=rounds,
        guarantee=f"With probability at least {1 - problem.delta:g}, "
        f"{_verdict(*names, lower, upper)}; that holds {of}, {when}.",
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
    policies: Policies, problem: Problem, leader: int, least: Callable[[int, int, float], float]
) -> float | None:
    """Lower limit on what a leader gains over the policy that runs today; None if none is named.

    Any of the others could have been chosen to lead by the same data, so half of delta is split
    over them. `least` is as for `compared`.
    """
    against = policies.against(problem)
    if against is None:
        return None
    if leader == against or policies.same_as(leader, np.array([against]))[0]:
        return 0.0
    log_term = log(2 * (policies.n_policies - 1) / problem.delta)
    return max(least(leader, against, log_term), -problem.reward_cap)


def _verdict(first: str, second: str, lower: float, upper: float) -> str:
    if lower == upper == 0:
        return f"{first} and {second} have the same value: they are the same policy"
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

    By bets on capped scores in all rounds. If one of the two is not among the policies whose
    answers are `kept`, or rounds were forgotten, from limits on their single values.
    """
    problem = standing.problem
    if len(past) == standing.rounds and np.isin([first, second], kept).all():
        if not len(past):
            return -problem.reward_cap
        return least_difference(
            partial(log_wealth_of_difference, problem, past, first, second),
            problem.reward_cap,
            log_term - log(_BY_BETS),
        )
    each = log_term + log(_WAYS / (1 - _BY_BETS))
    lower = policy_interval(standing, past, first, each)[1]
    return lower - policy_interval(standing, past, second, each)[2]


def log_wealth_of_difference(
    problem: Problem, past: Past, first: int, second: int, differences: Array
) -> Array:
    """Of bets that the first is better than the second by more than each difference g.

    They are ln mean prod (1 + lam (Z - g)). For g > 0 stakes are lam/(1 + lam g/.99), so that a
    score of -.99/lam does not lose everything, and as 1 + lam Z/.99 >= 0 they still fall in g. The
    factors are (1 + lam (Z + g/.99 - g))/(1 + lam g/.99) then: the same scores as of certificates.
    """
    m = problem.slate_size
    gains = np.maximum(differences, 0.0)
    distances = np.where(differences > 0, gains / SLACK - gains, -differences)
    wealth = np.zeros((1, len(FIXED_STAKES) + len(STAKE_SHARES), len(differences)))
    add_value_factors(
        *past.arrays(np.array([second])),
        past.scales(),
        past.column(first),
        sparsity_of(problem),
        problem.reward_cap,
        FIXED_STAKES / m,
        STAKE_SHARES / m,
        AGAINST,
        distances[None],
        past.room,
        wealth,
    )
    return log_mean_exp((wealth[0] - shrinkage(past, m, gains)).T)


def shrinkage(past: Past, slate_size: int, gains: Array) -> Array:
    """Sums over rounds of ln(1 + lam g/.99), shape (n_stakes, n_gains)."""
    scales, counts = np.unique(past.scales(), return_counts=True)
    shares = np.minimum(np.outer(scales, STAKE_SHARES), FIXED_STAKES[-1])
    stakes = np.hstack([np.tile(FIXED_STAKES, (len(scales), 1)), shares]) / slate_size
    shrunk = np.log1p(stakes[:, :, None] * gains / SLACK)
    return np.asarray(np.tensordot(counts, shrunk, axes=1))
