"""Importance-weighted estimates of every policy's value."""

from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events
from policysieve.kernels.importance import add_cells, add_gains, sum_by_cell

__all__ = ["Estimates"]

_POLICIES_PER_CELL = 32  # so many can be looked at in the time that one cell's sums take
_MAX_CELLS = 1 << 24


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
        self._cells = np.empty((0, 2))  # all zero between uses; kept because fresh memory is slow

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
        gains = events.rewards / events.propensities
        cells = len(events.table) * events.n_actions
        per_event = len(self._total) / _POLICIES_PER_CELL
        if gains.shape[1] == 1 and cells <= min(len(gains) * per_event, _MAX_CELLS):
            self._add_by_cell(events, gains[:, 0], cells)
        else:
            add_gains(
                events.table,
                events.rows,
                events.actions,
                gains,
                events.n_actions,
                self._total,
                self._square,
            )
        self.rounds += events.n_rounds

    def _add_by_cell(self, events: Events, gains: npt.NDArray[np.float64], cells: int) -> None:
        """Single actions at contexts that come again: first sum for each (context, action)."""
        if len(self._cells) != cells:
            self._cells = np.zeros((cells, 2))
        used = np.empty(min(cells, len(gains)), dtype=np.int64)
        n = sum_by_cell(
            events.rows, events.actions[:, 0], gains, events.n_actions, self._cells, used
        )
        used = used[:n]
        rows, actions = np.divmod(used, events.n_actions)
        add_cells(events.table, rows, actions, self._cells[used], self._total, self._square)
        self._cells[used] = 0.0

    def merge(self, other: Self) -> None:
        """Add the sums of another part of the data."""
        if len(other._total) != len(self._total):
            raise InvalidArgumentError(
                f"estimates of {len(self._total)} and {len(other._total)} policies do not add up"
            )
        self.rounds += other.rounds
        self._total += other._total
        self._square += other._square
