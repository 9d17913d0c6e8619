"""Estimate and limits of the value of every policy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from policysieve.policies import RandomizedPolicy

__all__ = ["ValueIntervals"]


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

    def about(
        self, policy: "int | RandomizedPolicy | None"
    ) -> tuple[Any, float, float, float, float]:
        """A policy, by default the leader, its estimate, limits, and bound on its suboptimality.

        The bound is how much better any other policy can be, if all intervals hold.
        """
        chosen = self.leader if policy is None else policy
        columns = (self.values, self.lower, self.upper)
        if isinstance(chosen, int):
            value, lower, upper = (float(column[chosen]) for column in columns)
            others = np.delete(self.upper, chosen)
        else:
            value, lower, upper = (chosen.average(column) for column in columns)
            others = self.upper
        bound = max(0.0, float(others.max()) - lower) if len(others) else 0.0
        return chosen, value, lower, upper, bound
