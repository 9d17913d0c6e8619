"""Importance-weighted estimates of every policy's value."""

from copy import copy
from math import log
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events
from policysieve.evidence.intervals import ValueIntervals
from policysieve.kernels.importance import add_cells, add_gains, sum_by_cell

__all__ = ["Estimates"]

_POLICIES_PER_CELL = 32  # so many can be looked at in the time that one cell's sums take
_MAX_CELLS = 1 << 24


class Estimates:
    """Sums over rounds of R_i(pi) and R_i(pi)^2 for every policy pi.

    R_i(pi) = sum over shown items j that pi would show too of r_i(j) / W_i(j): an unbiased
    estimate of the value of pi from one round (docs/maths.md, "Importance weighting"). A round
    without reward adds nothing to any policy, so only rewarded rounds consult the class. The
    sums are two numbers per policy; those of parts of a log add up. A value.
    """

    def __init__(self, n_policies: int) -> None:
        self.rounds = 0
        self._total = np.zeros(n_policies)
        self._square = np.zeros(n_policies)

    @property
    def leader(self) -> int:
        """The policy with the largest estimate, of equals the one with the lowest number."""
        return int(self._total.argmax())

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

    def plus(self, events: Events) -> Self:
        """The estimates with the rounds behind these events, rewarded or not."""
        longer = copy(self)
        longer.rounds = self.rounds + events.n_rounds
        if len(events):
            longer._total, longer._square = self._total.copy(), self._square.copy()
            longer._add(events)
        return longer

    def fixed_size_intervals(
        self, *, reward_cap: float, largest: float, delta: float
    ) -> ValueIntervals:
        """Limits that hold for all policies at once with probability 1 - delta.

        Maurer and Pontil (2009), Theorem 4, for variables in [0, largest], two-sided and with a
        union over the class: value +- sqrt(2 V l / n) + 7 largest l / (3 (n-1)), with
        l = ln(4 |Pi| / delta) and V the sample variance. Valid at one number n of rounds that was
        fixed in advance (docs/maths.md, "Intervals at a fixed number of rounds"). Values lie in
        [0, reward_cap].
        """
        n, values = self.rounds, self.values
        if n < 2:
            return ValueIntervals(values, np.zeros(len(values)), np.full(len(values), reward_cap))
        log_term = log(4 * len(values) / delta)
        radius = np.sqrt(2 * self.variances * log_term / n)
        radius += 7 * largest * log_term / (3 * (n - 1))
        lower, upper = (np.clip(values + sign * radius, 0.0, reward_cap) for sign in (-1, 1))
        return ValueIntervals(values, lower, upper)

    def merge(self, other: Self) -> Self:
        """The estimates with those of another part of the data."""
        if len(other._total) != len(self._total):
            raise InvalidArgumentError(
                f"estimates of {len(self._total)} and {len(other._total)} policies do not add up"
            )
        whole = copy(self)
        whole.rounds = self.rounds + other.rounds
        whole._total, whole._square = self._total + other._total, self._square + other._square
        return whole

    def _add(self, events: Events) -> None:
        gains = events.gains
        cells = len(events.table) * events.n_actions
        per_event = len(self._total) / _POLICIES_PER_CELL
        if gains.shape[1] == 1 and cells <= min(len(gains) * per_event, _MAX_CELLS):
            self._add_by_cell(events, gains[:, 0], cells)
            return
        add_gains(
            events.table,
            events.rows,
            events.actions,
            gains,
            events.n_actions,
            self._total,
            self._square,
        )

    def _add_by_cell(self, events: Events, gains: npt.NDArray[np.float64], cells: int) -> None:
        """Single actions at contexts that come again: first sum for each (context, action)."""
        sums = np.zeros((cells, 2))
        used = np.empty(min(cells, len(gains)), dtype=np.int64)
        n = sum_by_cell(events.rows, events.actions[:, 0], gains, events.n_actions, sums, used)
        used = used[:n]
        rows, actions = np.divmod(used, events.n_actions)
        add_cells(events.table, rows, actions, sums[used], self._total, self._square)
