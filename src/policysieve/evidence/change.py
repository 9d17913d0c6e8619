"""A change of the world that rounds prove, in numbers and in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.change_sums import Watched
from policysieve.evidence.groups import ACTION_GROUPS
from policysieve.scaling import Range, RewardScale

__all__ = ["Change"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """A change of the world that rounds prove.

    Attributes
    ----------
    split : int
        Number of rounds before the change, by the strongest evidence: an estimate.
    alarm : int
        Number of rounds after which it was proved. What comes later is fresh data.
    p_value : float
        A world that does not change shows as much evidence, ever, with at most this probability.
    watched : Watched
        What has changed.
    before, after : float
        Its mean up to the split, and from there to the alarm.
    split_time, alarm_time : float
        Seconds since 1970-01-01 UTC of the first rounds after these; NaN if not known.
    column : str
        Name of the column that has changed, with its threshold; empty if it is none.
    n_actions : int
    names : sequence of str or None
        How many actions there are, and their names, if they have any.
    ends, means : arrays
        Numbers of rounds at the ends of stretches, and the mean of what has changed in each.
    start : int
        Number of the first round that counts. All numbers of rounds are those of the whole log.
    """

    split: int
    alarm: int
    p_value: float
    watched: Watched
    before: float
    after: float
    split_time: float
    alarm_time: float
    column: str
    n_actions: int
    names: Sequence[str] | None = field(repr=False)
    ends: npt.NDArray[np.int64] = field(repr=False)
    means: Array = field(repr=False)
    start: int = 0

    def later(self, start: int) -> "Change":
        """The same in a log that has `start` rounds before those that count."""
        return replace(
            self,
            split=self.split + start,
            alarm=self.alarm + start,
            ends=self.ends + start,
            start=self.start + start,
        )

    def in_range(self, reward_range: Range) -> "Change":
        """The same with mean rewards of items in their range, not in [0, 1]."""
        if reward_range is None or self.watched.kind in ("share", "column"):
            return self
        low, high = reward_range
        scale = RewardScale(low=low, high=high)
        return replace(
            self,
            before=scale.value(self.before),
            after=scale.value(self.after),
            means=scale.value(self.means),
        )

    def among(self, numbers: npt.NDArray[np.int64]) -> "Change":
        """The same in a log of which rounds with these numbers were looked at."""
        ends = np.append(0, numbers + 1)
        return replace(
            self,
            split=int(numbers[min(self.split, len(numbers) - 1)]),
            alarm=int(ends[self.alarm]),
            ends=ends[self.ends],
        )

    def what(self) -> str:
        """What has changed, in words; more than 32 actions are looked at in groups."""
        watched = self.watched
        if watched.kind == "share":
            return f"the share of contexts in group {watched.group}"
        if watched.kind == "column":
            return f"the share of contexts with column {self.column}"
        whose = "all actions"
        if watched.action is not None:
            step = ACTION_GROUPS if watched.kind != "pairs" else self.n_actions
            group = range(watched.action, self.n_actions, step)[:3]
            names = [str(one) if self.names is None else self.names[one] for one in group]
            whose = f"action {names[0]}"
            if len(names) > 1:
                whose = f"actions {', '.join(names)} and so on"
        where = "" if watched.group is None else f" in group {watched.group} of contexts"
        if watched.context is not None:
            where = f" at context {watched.context}"
        return f"the mean reward of {whose}{where}"

    def sentence(self) -> str:
        """What has changed, when, and how sure that is."""
        p = f"p = {self.p_value:.2g}" if self.p_value else "p < 1e-300"
        return (
            f"The world has changed: {self.what()} went from {self.before:.3g} "
            f"to {self.after:.3g} around round {self.split:,}{_at(self.split_time)}, which was "
            f"proved after {self.alarm:,} rounds{_at(self.alarm_time)} ({p})."
        )

    def warning(self, guarantee: str) -> str:
        """A guarantee that does not hold across the change, with that said."""
        return f"{guarantee} But the world has changed at about round {self.split:,} (see alarm)."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times that are not known are None."""
        return {
            "what": self.watched.kind,
            "action": self.watched.action,
            "group": self.watched.group,
            "column": self.column or None,
            "context": self.watched.context,
            "split": self.split,
            "alarm": self.alarm,
            "split_time": None if isnan(self.split_time) else self.split_time,
            "alarm_time": None if isnan(self.alarm_time) else self.alarm_time,
            "before": self.before,
            "after": self.after,
            "p_value": self.p_value,
        }


def _at(time: float) -> str:
    if isnan(time):
        return ""
    return f" ({datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC)"
