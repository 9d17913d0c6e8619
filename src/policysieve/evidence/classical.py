"""Classical bounds on how far policies are apart, and intervals that hold at any time.

Four methods of one shape: `method(record, leader, delta_each)` returns, for every policy pi, a
lower limit on value(leader) - value(pi) = E Z_i with Z_i = R_i(leader) - R_i(pi). For each pair of
policies it fails with probability at most `delta_each`. With delta_each = delta/(|Pi| - 1), no
policy is better than the leader by more than the largest -lower, with probability 1 - delta and
however the leader was chosen: only the pairs (other policy, best policy) have to hold. Limits are
at least -reward_cap, and 0 for the leader itself.

`empirical_bernstein` and `stitched` hold at all times at once, whatever the exploration learns: the
propensities of a round and the range of a block only have to be fixed before it. `fixed` and
`checkpoints` need independent rounds: an exploration that was fixed before the first of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number
from policysieve.evidence.estimates import ValueIntervals, sum_gains
from policysieve.evidence.record import Block, Record
from policysieve.kernels.importance import add_differences

__all__ = [
    "checkpoints",
    "empirical_bernstein",
    "fixed",
    "limit_of_sum",
    "milestones",
    "stitched",
    "stitched_boundary",
    "value_intervals",
    "value_limits",
]

Array = npt.NDArray[np.float64]

_FIRST_MILESTONE = 64
_BOLDEST = 0.4  # largest bet, as a share of what could lose everything in one round
_ETA = 2.0  # ratio of the stitched boundary's epochs
_POWER = 1.4  # epoch k gets 1/(zeta(_POWER) (k + 1)**_POWER) of delta
_LOG_ZETA = 1.133189956851613  # ln zeta(_POWER)
_START = 10.0  # intrinsic time at which its first epoch begins, where only later ones matter,
_EARLY_START = 0.01  # and where rewards are small for their range


def milestones(n_rounds: int) -> list[int]:
    """Round numbers up to n_rounds at which things are updated: 64, and then a quarter more."""
    numbers, n = [], _FIRST_MILESTONE
    while n <= n_rounds:
        numbers.append(n)
        n += n // 4
    return numbers


def empirical_bernstein(record: Record, leader: int, delta_each: float) -> Array:
    """Lower limits by the predictable plug-in empirical Bernstein method, valid at any time.

    Waudby-Smith and Ramdas (2024), Theorem 2, one-sided, with plug-ins that change at `milestones`
    only, so that a round without reward costs nothing (docs/maths.md, "Empirical Bernstein"): with
    beta = lambda/c, c = B + max(q, 0) and psi(lambda) = -ln(1 - lambda) - lambda,

        (sum beta Z - ln(1/delta_each) - sum psi(lambda) ((Z - q)/c)^2) / sum beta.

    The prediction q and the bet beta of a round come from rounds before its stretch; the range B
    is that of pi alone.
    """
    level = _check(record, leader, delta_each)
    if not record.rounds:
        return _nothing_known(record, leader)
    cap, n_policies = record.problem.reward_cap, record.policies.n_policies
    log_term = log(1 / level)
    gain, weight, total, square = np.zeros((4, n_policies))
    seen, mean, squares = 0, np.zeros(n_policies), np.zeros(n_policies)  # as the stretch began
    cuts = milestones(record.rounds)
    for part in _parts(record, cuts):
        if part.first in cuts:
            seen = part.first
            mean = np.clip(total / seen, -cap, cap)
            squares = np.maximum(square - total**2 / seen, 0.0)
        largest = part.largest
        # As if one reward of the largest kind had been seen, in the time that it takes to see one.
        variance = (largest**2 + squares) / (seen + largest / cap)
        end = (seen + seen // 4) or _FIRST_MILESTONE
        scale = largest + np.maximum(mean, 0.0)
        bet = np.sqrt(8 * log_term / (variance * end * log1p(end)))
        bet = np.minimum(bet, _BOLDEST / scale)
        cost = (-np.log1p(-bet * scale) - bet * scale) / scale**2
        z, zz = part.differences(leader)
        gain += bet * z - cost * (zz - 2 * mean * z + part.n_rounds * mean**2)
        weight += bet * part.n_rounds
        total += z
        square += zz
    return _limited(record, leader, (gain - log_term) / weight)


def stitched_boundary(v: Array, delta: float, *, scale: float, start: float) -> Array:
    """Boundary that a sub-gamma process crosses with probability at most delta, ever.

    Howard, Ramdas, McAuliffe and Sekhon (2021), Theorem 1 with the polynomial h
    (docs/maths.md, "Stitched"): v is the intrinsic time, `scale` their c (0 for sub-Gaussian),
    `start` their m, and eta = 2, s = 1.4.
    """
    return _boundary(v, log(1 / delta), scale=scale, start=start)


def _boundary(v: Array, log_term: float, *, scale: float, start: float) -> Array:
    """`stitched_boundary` at delta = exp(-log_term), which may be too small for a float."""
    v = np.maximum(v, start)
    epoch = np.log(v / start) / log(_ETA)
    length = _POWER * np.log1p(epoch) + _LOG_ZETA + log_term
    k1 = (_ETA**0.25 + _ETA**-0.25) / np.sqrt(2)
    k2 = scale * (np.sqrt(_ETA) + 1) / 2
    return np.asarray(np.sqrt(k1**2 * v * length + (k2 * length) ** 2) + k2 * length)


def limit_of_sum(total: float, square: float, largest: float, delta: float) -> float:
    """Upper limit, at all times, on the sum of the means of X_i, none of which is over `largest`.

    From the sums of X_i and of their squares. -X/largest >= -1, so it is the stitched boundary of
    scale 1 (docs/maths.md, "Stitched").
    """
    time = np.array(square / largest**2)
    return total + largest * float(stitched_boundary(time, delta, scale=1.0, start=_START))


def stitched(record: Record, leader: int, delta_each: float) -> Array:
    """Lower limits by the stitched empirical Bernstein boundary, valid at any time.

    With Y = Z/B >= -1 (docs/maths.md, "Stitched"): (sum Y - S(sum Y^2)) / sum 1/B, S the
    `stitched_boundary` of scale 1. Each block counts with its own range B of pi.
    """
    level = _check(record, leader, delta_each)
    if not record.rounds:
        return _nothing_known(record, leader)
    total, square, weight = np.zeros((3, record.policies.n_policies))
    for part in _parts(record, []):
        z, zz = part.differences(leader)
        total += z / part.largest
        square += zz / part.largest**2
        weight += part.n_rounds / part.largest
    boundary = stitched_boundary(square, level, scale=1.0, start=_START)
    return _limited(record, leader, (total - boundary) / weight)


def fixed(record: Record, leader: int, delta_each: float) -> Array:
    """Lower limits at one number of rounds that was declared before the first.

    Maurer and Pontil (2009), Theorem 11, for variables of range w = B(leader) + B(pi), the largest
    over blocks (docs/maths.md, "Maurer-Pontil and checkpoints"): with V the sample variance of n
    rounds and l = ln(2/delta_each), mean Z - sqrt(2 V l/n) - 7 w l/(3 (n-1)). For independent
    rounds: neither propensities nor ranges may be learnt from the rounds that count.
    """
    return _maurer_pontil(record, leader, _check(record, leader, delta_each), record.rounds)


def checkpoints(record: Record, leader: int, delta_each: float) -> Array:
    """Lower limits of the last milestone, valid at any time: `fixed` with delta_each/(k(k+1)).

    k numbers the `milestones` from 1; later rounds do not count until the next one
    (docs/maths.md, "Maurer-Pontil and checkpoints"). For independent rounds, like `fixed`.
    """
    level, passed = _check(record, leader, delta_each), milestones(record.rounds)
    if not passed:
        return _nothing_known(record, leader)
    k = len(passed)
    return _maurer_pontil(record, leader, level / (k * (k + 1)), passed[-1])


def value_intervals(record: Record, delta: float) -> ValueIntervals:
    """Intervals for the values of all policies at once, valid at any time.

    With Y = R/B in [0, 1] (docs/maths.md, "Intervals at any time"), at level delta/(2 |Pi|) on each
    side: from (sum Y - S0(sum Y^2))/w to (sum Y + S1(sum Y^2))/w, w = sum 1/B, where S0 and S1 are
    the `stitched_boundary` of scale 0 and 1. The estimate is (sum Y)/w, the mean of R where all
    blocks have one range. Values lie in [0, reward_cap].
    """
    log_term = log(2 * record.policies.n_policies / number("delta", delta, above=0, below=1))
    n_policies, cap = record.policies.n_policies, record.problem.reward_cap
    if not record.rounds:
        return ValueIntervals(
            np.full(n_policies, np.nan), np.zeros(n_policies), np.full(n_policies, cap)
        )
    total, square, weight = np.zeros((3, n_policies))
    for part in _parts(record, []):
        r, rr = part.gains()
        total += r / part.largest
        square += rr / part.largest**2
        weight += part.n_rounds / part.largest
    lower, upper = value_limits(total, square, weight, log_term)
    return ValueIntervals(total / weight, np.clip(lower, 0.0, cap), np.clip(upper, 0.0, cap))


def value_limits(
    total: Array, square: Array, weight: Array, log_term: float
) -> tuple[Array, Array]:
    """Limits of `value_intervals` from the sums, each at level exp(-log_term)."""
    below = _boundary(square, log_term, scale=0.0, start=_EARLY_START)
    above = _boundary(square, log_term, scale=1.0, start=_START)
    return (total - below) / weight, (total + above) / weight


@dataclass(frozen=True)
class _Part:
    """Rounds in a row with the same ranges, and their events."""

    first: int
    n_rounds: int
    block: Block
    events: slice

    @property
    def largest(self) -> np.float64:
        """Bound on R_i(pi) for every policy; one that may overflow."""
        return np.float64(self.block.largest)

    def differences(self, leader: int) -> tuple[Array, Array]:
        """Sums of Z and of its squares."""
        total, square = np.zeros((2, self.block.events.table.shape[1]))
        add_differences(*self._arrays, leader, total, square)
        return total, np.maximum(square, 0.0)  # which rounding can miss

    def gains(self) -> tuple[Array, Array]:
        """Sums of R and of its squares."""
        total, square = np.zeros((2, self.block.events.table.shape[1]))
        sum_gains(*self._arrays, total, square)
        return total, square

    @property
    def _arrays(self) -> tuple[Any, Any, Any, Any, int]:
        """The events as kernels take them."""
        e, s = self.block.events, self.events
        return e.table, e.rows[s], e.actions[s], e.gains[s], e.n_actions


def _parts(record: Record, cuts: list[int]) -> Iterator[_Part]:
    """The record's rounds, cut where ranges change and before the rounds in `cuts`."""
    start = 0
    for block in record.blocks:
        end = start + block.events.n_rounds
        edges = [start, *(cut for cut in cuts if start < cut < end), end]
        places = np.searchsorted(block.events.rounds, np.array(edges) - start).tolist()
        for i, first in enumerate(edges[:-1]):
            if edges[i + 1] > first:
                yield _Part(first, edges[i + 1] - first, block, slice(places[i], places[i + 1]))
        start = end


def _maurer_pontil(record: Record, leader: int, level: float, n: int) -> Array:
    """The bound of `fixed` from the first n rounds."""
    if n < 2:
        return _nothing_known(record, leader)
    total, square = np.zeros((2, record.policies.n_policies))
    width = 0.0
    for part in _parts(record, [n]):
        if part.first < n:
            z, zz = part.differences(leader)
            total += z
            square += zz
            width = max(width, 2 * part.largest)
    variance = np.maximum(square - total**2 / n, 0.0) / (n - 1)
    log_term = log(2 / level)
    radius = np.sqrt(2 * variance * log_term / n) + 7 * width * log_term / (3 * (n - 1))
    return _limited(record, leader, total / n - radius)


def _check(record: Record, leader: int, delta_each: float) -> float:
    integer("leader", leader, low=0, high=record.policies.n_policies - 1)
    return number("delta_each", delta_each, above=0, below=1)


def _nothing_known(record: Record, leader: int) -> Array:
    return _limited(record, leader, np.full(record.policies.n_policies, -np.inf))


def _limited(record: Record, leader: int, lower: Array) -> Array:
    """What holds anyway: differences of values are at least -reward_cap, and 0 from oneself."""
    lower = np.maximum(lower, -record.problem.reward_cap)
    lower[leader] = 0.0
    return lower
