"""Intervals for the values of all policies at one fixed number of rounds."""

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.estimates import Estimates

if TYPE_CHECKING:
    from policysieve.evidence.implicit import ImplicitEstimates

__all__ = ["ValueIntervals", "empirical_bernstein"]


@dataclass(frozen=True, eq=False)
class ValueIntervals:
    """Estimate and limits of every policy's expected reward, arrays of shape (n_policies,).

    Before the first round `values` is NaN and the limits are trivial.
    """

    values: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    @property
    def leader(self) -> int:
        """The policy with the largest estimate, the first one before any round."""
        return 0 if np.isnan(self.values[0]) else int(self.values.argmax())

    def leaders(
        self, count: int = 10, true_values: npt.NDArray[np.float64] | None = None
    ) -> list[dict[str, Any]]:
        """The policies with the largest estimates, with their limits and, if known, true values."""
        best = np.argsort(-np.nan_to_num(self.values), kind="stable")[:count]
        return [
            {
                "policy": int(policy),
                "value": None if np.isnan(self.values[policy]) else float(self.values[policy]),
                "lower": float(self.lower[policy]),
                "upper": float(self.upper[policy]),
                "true_value": None if true_values is None else float(true_values[policy]),
            }
            for policy in best
        ]

    @property
    def candidates(self) -> str:
        """Whom the leader was chosen from, in words."""
        return f"{len(self.values):,} policies"

    def policy(self, row: int) -> Any:
        """The policy that a row is about: its number."""
        return row

    def suboptimality_bound(self, policy: int | None, lower: float) -> float:
        """How much better any other policy can be, if all intervals hold.

        Than a policy (None for one that is not in the class) whose value is at least `lower`.
        """
        others = self.upper if policy is None else np.delete(self.upper, policy)
        return max(0.0, float(others.max()) - lower) if len(others) else 0.0


def empirical_bernstein(
    estimates: "Estimates | ImplicitEstimates", *, reward_cap: float, largest: float, delta: float
) -> ValueIntervals:
    """Limits that hold for all policies at once with probability 1 - delta.

    Maurer and Pontil (2009), Theorem 4, for variables in [0, largest], two-sided and with a union
    over the class: value +- sqrt(2 V l / n) + 7 largest l / (3 (n-1)), l = ln(4 |Pi| / delta), V
    the sample variance. Valid at one number n of rounds that was fixed in advance
    (docs/maths.md, "Intervals at a fixed number of rounds"). Values lie in [0, reward_cap].
    """
    if not isinstance(estimates, Estimates):
        return estimates.empirical_bernstein(reward_cap=reward_cap, largest=largest, delta=delta)
    n, values = estimates.rounds, estimates.values
    if n < 2:
        return ValueIntervals(values, np.zeros(len(values)), np.full(len(values), reward_cap))
    log_term = log(4 * len(values) / delta)
    radius = np.sqrt(2 * estimates.variances * log_term / n) + 7 * largest * log_term / (
        3 * (n - 1)
    )
    lower, upper = (np.clip(values + sign * radius, 0.0, reward_cap) for sign in (-1, 1))
    return ValueIntervals(values, lower, upper)
