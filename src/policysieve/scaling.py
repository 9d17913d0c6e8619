"""Rewards in the user's units, and the same in [0, 1], where everything is worked out."""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_float, shown
from policysieve.errors import InvalidArgumentError

__all__ = ["Range", "RewardScale", "as_reward_range", "range_in_words", "usual_range"]

Range = tuple[float, float] | None
"""Least and largest reward of one item; None for [0, 1]."""

V = TypeVar("V", float, npt.NDArray[np.float64])


def as_reward_range(declared: Any) -> tuple[float, float]:
    """The range if it is two finite numbers in order, else raise."""
    try:
        low, high = map(as_float, declared)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InvalidArgumentError(
            "reward_range must be two finite numbers low < high a finite distance apart, got "
            f"{shown(declared)}"
        )
    return low + 0.0, high + 0.0  # no negative zeros


def usual_range(declared: Any) -> Range:
    """A declared range, checked; None if it is [0, 1], which needs no declaration."""
    if declared is None:
        return None
    low, high = as_reward_range(declared)
    return None if (low, high) == (0.0, 1.0) else (low, high)


def range_in_words(reward_range: Range) -> str:
    """A range as intervals are written."""
    low, high = reward_range or (0.0, 1.0)
    return f"[{low:g}, {high:g}]"


@dataclass(frozen=True, kw_only=True)
class RewardScale:
    """From rewards in the user's units to [0, 1] and back (docs/maths.md, "Rewards in a range").

    A reward r of [low, high] is (r - low)/(high - low) inside, or (high - r)/(high - low) where it
    is a cost, so that inside larger is always better. The value of a policy is the expected sum
    over the m items of a slate. Nothing is computed where rewards are in [0, 1] already.

    Attributes
    ----------
    low, high : float
    minimize : bool
        Whether lower rewards are better.
    slate_size : int
        Items m whose rewards are summed.
    """

    low: float = 0.0
    high: float = 1.0
    minimize: bool = False
    slate_size: int = 1

    @property
    def is_unit(self) -> bool:
        """Whether there is nothing to do."""
        return self.low == 0.0 and self.high == 1.0 and not self.minimize

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest reward of one item."""
        return self.low, self.high

    @property
    def span(self) -> float:
        """How far apart two rewards of one item can be."""
        return self.high - self.low

    def inside(self, rewards: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Rewards of single items in [0, 1], larger ones better."""
        if self.is_unit:
            return rewards
        ahead = self.high - rewards if self.minimize else rewards - self.low
        return np.asarray(ahead / self.span)

    def value(self, inner: V) -> V:
        """The value of a policy, from what it is inside."""
        if self.is_unit:
            return inner
        if self.minimize:
            return self.slate_size * self.high - self.span * inner
        return self.slate_size * self.low + self.span * inner

    def limits(self, lower: V, upper: V) -> tuple[V, V]:
        """Lower and upper limit of a value; those of a cost change places."""
        ends = self.value(lower), self.value(upper)
        return (ends[1], ends[0]) if self.minimize else ends

    def differences(self, lower: float, upper: float) -> tuple[float, float]:
        """Limits on the value of one policy less that of another, from what they are inside."""
        if self.minimize:
            return -self.distance(upper) + 0.0, -self.distance(lower) + 0.0
        return self.distance(lower), self.distance(upper)

    def distance(self, inner: V) -> V:
        """How far apart two values are; what is better by some distance stays so."""
        return inner if self.is_unit else self.span * inner
