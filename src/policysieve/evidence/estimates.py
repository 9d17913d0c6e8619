"""Importance-weighted estimates of every policy's value."""

from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events
from policysieve.kernels.importance import add_gains

__all__ = ["Estimates"]


class Estimates:
    """Sums over rounds of R_i(pi) and R_i(pi)^2 for every policy pi.

    R_i(pi) = sum over shown items j that pi would show too of r_i(j) / W_i(j): an unbiased
    estimate of the value of pi from one round (docs/maths.md, "Importance weighting"). A round
    without reward adds nothing to any policy, so only rewarded rounds consult the class. The
    state is two numbers per policy; states of parts of a log add up.
    """

    def __init__(self, n_policies: int) -> None:
        self.rounds = 0
        self._total = np.zeros(n_policies)
        self._square = np.zeros(n_policies)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Estimate of each policy's expected reward; NaN before the first round."""
        if not self.rounds:
            return np.full(len(self._total), np.nan)
        return self._total / self.rounds

    @property
    def variances(self) -> npt.NDArray[np.float64]:
        """Sample variance of R_i(pi) for each policy; NaN before the second round."""
        n = self.rounds
        if n < 2:
            return np.full(len(self._total), np.nan)
        return np.maximum(self._square - self._total**2 / n, 0.0) / (n - 1)

    def add(self, events: Events) -> None:
        """Take in the rounds behind these events, rewarded or not."""
        add_gains(
            events.table,
            events.rows,
            events.actions,
            events.rewards / events.propensities,
            events.n_actions,
            self._total,
            self._square,
        )
        self.rounds += events.n_rounds

    def merge(self, other: Self) -> None:
        """Add the sums of another part of the data."""
        if len(other._total) != len(self._total):
            raise InvalidArgumentError(
                f"estimates of {len(self._total)} and {len(other._total)} policies do not add up"
            )
        self.rounds += other.rounds
        self._total += other._total
        self._square += other._square
