"""The rules that every round keeps to, whatever file it comes from."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.archives import MAX_BYTES
from policysieve.checks import MOST_ACTIONS, integer, number, repeated_items
from policysieve.errors import FileFormatError
from policysieve.frames import ContextFrame, Contexts
from policysieve.log import Rounds
from policysieve.log.distributions import faults, in_order
from policysieve.log.fitting import agreeing, disagreements
from policysieve.log.mapping import ColumnMap
from policysieve.log.named import Names
from policysieve.naming import as_names
from policysieve.scaling import as_reward_range, range_in_words, usual_range

__all__ = [
    "MAX_BYTES",
    "MISSING",
    "BadRow",
    "Fault",
    "Report",
    "Rules",
    "check_rounds",
    "nothing_read",
    "raising",
    "too_large",
]

MISSING = (
    "the reward is missing; if its deadline has passed, count it as 0 (--missing-reward 0, or "
    "missing_reward=0 of LogFile and convert); to fill in what was decided, let decide write a .csv"
)
_MILLISECONDS = (1e12, 1e13)  # since 1970, from 2001 to 2286: seconds would be in no year we know
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0  # years 1 and 9999


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What rows must keep to.

    Attributes
    ----------
    reward_range : (low, high), optional
        Declared range of the rewards as they are in the file; [0, 1] by default.
    n_actions : int, optional
        Number of actions; by default any number from 0 is one.
    actions : tuple of str, optional
        Names of all actions in the order of their numbers.
    columns : ColumnMap, optional
        Which columns of a table hold what; by default they have names of our own.
    allow_missing : bool
        Whether a reward may be missing.
    missing_reward : float, optional
        What a missing reward counts as, in units of the file.
    contexts_only : bool
        Whether only contexts, ids, times, units and available actions are read. Rounds then have no
        items, and what a file says of actions, propensities and rewards is left aside.
    max_bytes : int
        Memory that may be held at once, unpacked. A small file can unpack to any size.
    """

    reward_range: tuple[float, float] | None = None
    n_actions: int | None = None
    actions: Names = None
    columns: ColumnMap | None = None
    allow_missing: bool = True
    missing_reward: float | None = None
    contexts_only: bool = False
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", as_reward_range(self.reward_range))
        if self.n_actions is not None:
            integer("n_actions", self.n_actions, low=1, high=MOST_ACTIONS)
        if self.actions is not None:
            object.__setattr__(self, "actions", as_names("actions", self.actions))
        if self.columns is not None:
            object.__setattr__(self, "columns", ColumnMap.of(self.columns))
            if not self.contexts_only:
                self.columns.check_items()
        integer("max_bytes", self.max_bytes, low=1, high=2**62)
        if self.missing_reward is not None:
            value = number("missing_reward", self.missing_reward, above=-math.inf, below=math.inf)
            object.__setattr__(self, "missing_reward", value)

    @property
    def largest_action(self) -> int:
        """Largest number that an action may have."""
        named = MOST_ACTIONS if self.actions is None else len(self.actions)
        return min(named, self.n_actions or MOST_ACTIONS) - 1

    @property
    def longest_row(self) -> int:
        """Characters of a row of text, which is there several times while it is understood."""
        return max(1, self.max_bytes // 16)


@dataclass(frozen=True)
class BadRow:
    """A row that breaks a rule: its file, its line (or row) from 1, why, and what it says."""

    file: str
    line: int
    reason: str
    text: str


Report = Callable[[BadRow], None]


def raising(unit: str) -> Report:
    """A report for which the first bad row is an error."""

    def report(bad: BadRow) -> None:
        raise FileFormatError(f"{bad.file}, {unit} {bad.line}: {bad.reason}")

    return report


def nothing_read(log: Sequence[object], first: BadRow | None = None) -> FileFormatError:
    """The error that there are no rounds, because of the first bad row if there is one."""
    reason = "" if first is None else f"; the first reason: {first.reason}"
    return FileFormatError(f"{', '.join(map(str, log))} holds no rounds that can be read{reason}")


def too_large(source: object, what: str, size: int, limit: int, share: str = "") -> FileFormatError:
    """The error that a file unpacks to more than may be held at once, or than a share of that."""
    return FileFormatError(
        f"{source}: {what}, {size:,} bytes or more, and {limit:,} are allowed{share}, because "
        "small files can unpack to any size; if you trust it, raise the limit (--max-bytes, or "
        "max_bytes= of LogFile and convert)"
    )


class Fault(NamedTuple):
    """Why a round breaks a rule, and with which item of its slate."""

    reason: str
    item: int = 0


def check_rounds(rounds: Rounds, rules: Rules) -> tuple[Rounds, dict[int, Fault]]:
    """Rounds with rewards in their range, and a fault for each that breaks a rule, in order.

    Rounds that break a rule are left out.
    """
    low, high = rules.reward_range or (0.0, 1.0)
    n, raw = len(rounds), rounds.rewards
    if rules.missing_reward is not None:
        raw = np.where(np.isnan(raw), rules.missing_reward, raw)
    outside = ~np.isnan(raw) & ~((raw >= low) & (raw <= high))
    limit = rules.largest_action
    misnumbered = (rounds.actions < 0) | (rounds.actions > limit)
    improbable = ~((rounds.propensities > 0) & (rounds.propensities <= 1))
    found: list[tuple[Any, Callable[[int], str]]] = [
        (_infinite(rounds.contexts), lambda _: "the context must be finite, got NaN or infinity"),
        (
            misnumbered,
            lambda i: _out_of_numbers(int(rounds.actions[i][misnumbered[i]][0]), limit),
        ),
        (
            repeated_items(rounds.actions),
            lambda i: (
                "actions of one slate must be different, got "
                f"{rounds.where(np.arange(n) == i).plain_actions()[0]}"
            ),
        ),
        (
            improbable,
            lambda i: _out_of_unit(rounds.propensities[i][improbable[i]][0]),
        ),
        (outside, lambda i: _out_of_range(raw[i][outside[i]][0], rules)),
    ]
    lists = rounds.distributions
    if lists is not None:
        lists = in_order(lists)
        found += faults(lists, limit)
        found += disagreements(lists, rounds.actions, rounds.propensities)
    if not rules.allow_missing:
        found.append((np.isnan(raw), lambda _: MISSING))
    times = rounds.times
    if times is not None:
        times = np.where(
            (times >= _MILLISECONDS[0]) & (times < _MILLISECONDS[1]), times / 1e3, times
        )
        in_time = (times >= _FIRST_SECOND) & (times <= _LAST_SECOND)
        found.append((~in_time & ~np.isnan(times), lambda i: _out_of_time(rounds, i)))
    reasons: dict[int, Fault] = {}
    for mask, reason in found:
        of_items = mask[:, None] if mask.ndim == 1 else mask
        for i in np.flatnonzero(of_items.any(axis=1)).tolist():
            if i not in reasons:
                reasons[i] = Fault(reason(i), int(np.argmax(of_items[i])))
    good = np.ones(n, dtype=np.bool_)
    good[list(reasons)] = False
    kept = replace(
        rounds,
        rewards=raw,
        reward_range=usual_range(rules.reward_range),
        actions=rounds.actions.astype(np.int32),
        times=times,
        distributions=lists,
    )
    kept = kept.where(good) if reasons else kept
    if kept.distributions is not None:
        fitted = agreeing(kept.distributions, kept.actions, kept.propensities)
        kept = replace(kept, distributions=fitted)
    return kept, dict(sorted(reasons.items()))


def _infinite(contexts: Contexts) -> npt.NDArray[np.bool_]:
    if isinstance(contexts, ContextFrame) or contexts.dtype.kind != "f":
        return np.zeros(len(contexts), dtype=np.bool_)
    finite = np.isfinite(contexts).all(axis=tuple(range(1, contexts.ndim)))
    return np.asarray(~finite)


def _out_of_numbers(action: int, limit: int) -> str:
    hint = "; if it is an id, write it as text, which is a name" if action >= MOST_ACTIONS else ""
    return f"an action must be a number from 0 to {limit}, got {action}{hint}"


def _out_of_unit(propensity: float) -> str:
    hint = "; if it is a percentage, divide it by 100" if 1 < propensity <= 100 else ""
    return f"a propensity must lie in (0, 1], got {propensity:g}{hint}"


def _out_of_range(reward: float, rules: Rules) -> str:
    if rules.reward_range is None:
        return (
            f"the reward {reward:g} is outside [0, 1]; declare the range of the rewards "
            "(--reward-range LOW HIGH, or reward_range=(low, high) of Problem, LogFile and "
            "convert), where costs count as minus rewards"
        )
    return (
        f"the reward {reward:g} is outside the declared range {range_in_words(rules.reward_range)}"
    )


def _out_of_time(rounds: Rounds, i: int) -> str:
    assert rounds.times is not None
    time = rounds.times[i]
    hint = "; if it is in micro- or nanoseconds, divide it first" if abs(time) >= 1e14 else ""
    return f"a time must be in seconds since 1970, within the years 1 to 9999, got {time:g}{hint}"
