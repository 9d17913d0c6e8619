"""Importance-weighted estimates of every policy's value, and limits around them."""

from copy import copy
from dataclasses import dataclass, field, replace
from math import log
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events
from policysieve.kernels.importance import add_cells, add_gains, sum_by_cell
from policysieve.scaling import RewardScale

if TYPE_CHECKING:
    from policysieve.policies import RandomizedPolicy

__all__ = ["Estimates", "ValueIntervals", "sum_gains"]

Array = npt.NDArray[np.float64]

_POLICIES_PER_CELL = 32  # so many can be looked at in the time that one cell's sums take
_MAX_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class ValueIntervals:
    """Estimate and limits of every policy's expected reward, arrays of shape (n_policies,).

    Before the first round `values` is NaN and the limits are trivial. `names` are those of the
    policies, if they have any. `minimize` says that lower values are better.
    """

    values: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    names: tuple[str, ...] | None = field(default=None, kw_only=True, repr=False)
    minimize: bool = field(default=False, kw_only=True, repr=False)

    def in_units(self, scale: RewardScale) -> Self:
        """The same in the user's units, from what they are inside."""
        if scale.is_unit:
            return self
        lower, upper = scale.limits(self.lower, self.upper)
        values = scale.value(self.values)
        return replace(self, values=values, lower=lower, upper=upper, minimize=scale.minimize)

    def name_of(self, policy: int) -> str:
        """The name of the policy at a place of these arrays, or its number in words."""
        return f"policy {policy}" if self.names is None else self.names[policy]

    def label_of(self, policy: int) -> str:
        """The same for a column of policies: a number alone if they have no names."""
        return str(policy) if self.names is None else self.names[policy]

    @property
    def leader(self) -> int:
        """The policy with the best estimate, the first one before any round."""
        return 0 if np.isnan(self.values[0]) else int(self._merits.argmax())

    def best_but(self, policy: int) -> int:
        """The policy with the best estimate of all others, the first of them before any round."""
        others = np.delete(np.arange(len(self.values)), policy)
        if not len(others):
            raise InvalidArgumentError("policies must be at least two to be compared, got one")
        return int(others[np.nan_to_num(self._merits[others], nan=-np.inf).argmax()])

    @property
    def _merits(self) -> npt.NDArray[np.float64]:
        """Estimates of which the largest is the best."""
        return -self.values if self.minimize else self.values

    def leaders(
        self, count: int = 10, true_values: npt.NDArray[np.float64] | None = None
    ) -> list[dict[str, Any]]:
        """The policies with the best estimates, with their limits and, if known, true values."""
        best = np.argsort(-np.nan_to_num(self._merits), kind="stable")[:count]
        return [
            {
                "policy": int(policy),
                "name": self.name_of(int(policy)),
                "value": None if np.isnan(self.values[policy]) else float(self.values[policy]),
                "lower": float(self.lower[policy]),
                "upper": float(self.upper[policy]),
                "true_value": None if true_values is None else float(true_values[policy]),
            }
            for policy in best
        ]

    def place_of(self, policy: Any) -> int:
        """Where the policy stands in these arrays."""
        return int(policy)

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


class Estimates:
    """Sums over rounds of R_i(pi) and R_i(pi)^2 for every policy pi.

    R_i(pi) = sum over shown items j that pi would show too of r_i(j) / W_i(j): an unbiased
    estimate of the value of pi from one round (docs/maths.md, "Importance weighting"). A round
    without reward adds nothing to any policy, so only rewarded rounds consult the class. The
    sums are two numbers per policy; those of parts of a log add up. A value.
    """

    def __init__(self, n_policies: int) -> None:
        self.rounds = 0
        self.totals = np.zeros(n_policies)
        self.squares = np.zeros(n_policies)

    @property
    def leader(self) -> int:
        """The policy with the largest estimate, of equals the one with the lowest number."""
        return int(self.totals.argmax())

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Estimate of each policy's expected reward; NaN before the first round."""
        if not self.rounds:
            return np.full(len(self.totals), np.nan)
        return self.totals / self.rounds

    @property
    def variances(self) -> npt.NDArray[np.float64]:
        """Sample variance of R_i(pi) for each policy; NaN before the second round."""
        n = self.rounds
        if n < 2:
            return np.full(len(self.totals), np.nan)
        return np.maximum(self.squares - self.totals**2 / n, 0.0) / (n - 1)

    def plus(self, events: Events) -> Self:
        """The estimates with the rounds behind these events, rewarded or not."""
        longer = copy(self)
        longer.rounds = self.rounds + events.n_rounds
        if len(events):
            longer.totals, longer.squares = self.totals.copy(), self.squares.copy()
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
        if len(other.totals) != len(self.totals):
            raise InvalidArgumentError(
                f"estimates of {len(self.totals)} and {len(other.totals)} policies do not add up"
            )
        whole = copy(self)
        whole.rounds = self.rounds + other.rounds
        whole.totals, whole.squares = self.totals + other.totals, self.squares + other.squares
        return whole

    def _add(self, events: Events) -> None:
        given = events.table, events.rows, events.actions, events.gains, events.n_actions
        sum_gains(*given, self.totals, self.squares)


def sum_gains(
    table: npt.NDArray[Any],
    rows: npt.NDArray[np.intp],
    actions: npt.NDArray[np.int32],
    gains: Array,
    n_actions: int,
    totals: Array,
    squares: Array,
) -> None:
    """Add R_i(pi) and its square to the totals and squares of all policies, for each event.

    Single actions at contexts that come again are first summed for each (context, action).
    """
    cells, per_event = len(table) * n_actions, len(totals) / _POLICIES_PER_CELL
    if gains.shape[1] > 1 or cells > min(len(gains) * per_event, _MAX_CELLS):
        add_gains(table, rows, actions, gains, n_actions, totals, squares)
        return
    sums = np.zeros((cells, 2))
    used = np.empty(min(cells, len(gains)), dtype=np.int64)
    used = used[: sum_by_cell(rows, actions[:, 0], gains[:, 0], n_actions, sums, used)]
    where, shown = np.divmod(used, n_actions)
    add_cells(table, where, shown, sums[used], totals, squares)
