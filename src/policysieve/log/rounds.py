"""Rounds with all that files say of them, and what the rounds of one log have in common."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import first_rows
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame, Contexts, FrameType
from policysieve.log.beside import NOTHING, Beside
from policysieve.log.distributions import Distributions
from policysieve.log.named import Names, renumbering, spread
from policysieve.naming import named
from policysieve.scaling import Range, RewardScale

if TYPE_CHECKING:
    from policysieve.log.log import Log

__all__ = ["Layout", "Rounds"]


@dataclass(frozen=True)
class Layout:
    """What all rounds of one log have in common.

    Attributes
    ----------
    context_shape : tuple of int
        Shape of one context: () for a row number or a string, (d,) for d features.
    context_dtype : numpy dtype or FrameType
        ``object`` for strings, a `FrameType` for rows of a table.
    slate_size : int
        Number of items shown each round; 0 where only contexts are read.
    has_ids, has_times : bool
        Whether any round may have an id, a time.
    has_distributions : bool
        Whether every round has its full distribution.
    action_names : tuple of str, or None
        What the numbers of the actions stand for, if they stand for names.
    has_available, has_units : bool
        Whether every round says what was available, who came.
    outcomes : tuple of str
        Names of other outcomes than the reward.
    reward_range : (low, high), or None
        Least and largest reward that an item can have; None for 0 and 1.
    """

    context_shape: tuple[int, ...]
    context_dtype: Any
    slate_size: int
    has_ids: bool = False
    has_times: bool = False
    has_distributions: bool = False
    action_names: Names = None
    has_available: bool = False
    has_units: bool = False
    outcomes: tuple[str, ...] = ()
    reward_range: Range = None

    @property
    def has_text(self) -> bool:
        """Whether contexts are strings."""
        return bool(self.context_dtype.kind == "O")

    @property
    def has_frames(self) -> bool:
        """Whether contexts are rows of a table, or sparse rows."""
        return isinstance(self.context_dtype, FrameType)

    @property
    def width(self) -> int:
        """Number of entries of one context."""
        if self.has_frames:
            return int(self.context_dtype.width)
        return int(np.prod(self.context_shape))

    def no_contexts(self) -> Any:
        """Contexts of this kind, none of them."""
        if self.has_frames:
            return ContextFrame([self.context_dtype.no_rows()])
        return np.empty((0, *self.context_shape), dtype=self.context_dtype)

    def __str__(self) -> str:
        if self.has_frames:
            return str(self.context_dtype)
        if self.context_shape:
            shape = " x ".join(map(str, self.context_shape))
            return f"{shape} {'strings' if self.has_text else 'features'}"
        if self.has_text:
            return "text"
        return "numbers" if self.context_dtype.kind == "f" else "row numbers"


@dataclass(frozen=True)
class Rounds:
    """A batch of rounds, with what a `Log` does not keep: ids, times, and rewards not yet known.

    There are m items in each; none where only contexts were read.

    Attributes
    ----------
    contexts : array of shape (n, ...), or ContextFrame
        Numbers, or strings in an object array; or rows of a table.
    actions : int32 array of shape (n, m)
        Numbered from 0, different in a slate.
    propensities : float64 array of shape (n, m)
        In (0, 1].
    rewards : float64 array of shape (n, m)
        In [0, 1] or their range, or NaN where the reward is missing.
    ids : object array of shape (n,), or None
        Strings, empty where a round has no id; None if no round of the log has one.
    times : float64 array of shape (n,), or None
        Seconds since 1970-01-01 UTC, NaN where a round has no time; None if no round of the log
        has one.
    distributions : Distributions or None
        The propensities of all actions that could be shown; None if they are not known.
    action_names : tuple of str, or None
        What the numbers of the actions stand for, if they stand for names.
    beside : Beside
        What was available, who came, other outcomes; nothing in most logs.
    reward_range : (low, high), or None
        Least and largest reward that an item can have; None for 0 and 1.
    """

    contexts: Contexts
    actions: npt.NDArray[Any]
    propensities: npt.NDArray[np.float64]
    rewards: npt.NDArray[np.float64]
    ids: npt.NDArray[np.object_] | None = None
    times: npt.NDArray[np.float64] | None = None
    distributions: Distributions | None = None
    action_names: Names = None
    beside: Beside = field(default_factory=lambda: NOTHING)
    reward_range: Range = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def layout(self) -> Layout:
        """What these rounds have in common."""
        return Layout(
            self.contexts.shape[1:],
            self.contexts.dtype,
            self.actions.shape[1],
            self.ids is not None,
            self.times is not None,
            self.distributions is not None,
            self.action_names,
            self.beside.available is not None,
            self.beside.units is not None,
            tuple(self.beside.outcomes),
            self.reward_range,
        )

    @property
    def n_actions(self) -> int:
        """Largest action number, shown, in a distribution or available, plus one."""
        known = int(self.actions.max(initial=-1)) + 1
        if self.distributions is not None:
            known = max(known, int(self.distributions.actions.max(initial=-1)) + 1)
        available = self.beside.available
        return known if available is None else max(known, available.n_actions)

    def to_log(self) -> "Log":
        """The rounds as a log, which has no place for ids and times.

        Raises
        ------
        InvalidArgumentError
            If a reward is missing.
        """
        from policysieve.log.log import Log

        missing = np.isnan(self.rewards).any(axis=1)
        if missing.any():
            raise InvalidArgumentError(
                "rewards must be known for every round of a log, the one of row "
                f"{np.flatnonzero(missing)[0]} is missing{first_rows(missing)}; leave such rounds "
                "out, or count an answer that is missing at its deadline as 0"
            )
        return Log(
            contexts=self.contexts,
            actions=self.actions,
            propensities=self.propensities,
            rewards=self.rewards,
            distributions=self.distributions,
            action_names=self.action_names,
            available=self.beside.available,
            units=self.beside.units,
            outcomes=self.beside.outcomes or None,
            reward_range=self.reward_range,
        )

    def in_unit(self) -> "Rounds":
        """The same rounds with rewards in [0, 1]."""
        if self.reward_range is None:
            return self
        low, high = self.reward_range
        scale = RewardScale(low=low, high=high)
        return replace(self, rewards=scale.inside(self.rewards), reward_range=None)

    def plain_contexts(self, *, flat: bool) -> list[Any]:
        """Contexts as Python numbers, strings, lists or dicts; if `flat` not lists of lists."""
        contexts: Any = self.contexts
        if contexts.dtype.kind == "b":
            contexts = contexts.astype(np.int8)
        if flat and contexts.ndim > 2:
            contexts = contexts.reshape(len(contexts), -1)
        return list(contexts.tolist())

    def plain_rewards(self) -> list[list[float | None]]:
        """Rewards as Python numbers, None where one is missing."""
        return _with_none(self.rewards)

    def plain_distributions(self) -> Iterable[list[tuple[Any, float]] | None]:
        """For each round pairs of action and propensity; None if distributions are not known.

        Actions are names if they have them.
        """
        if self.distributions is None:
            return repeat(None, len(self))
        if self.action_names is None:
            return self.distributions
        names = self.action_names
        return ([(names[action], w) for action, w in pairs] for pairs in self.distributions)

    def where(self, rows: npt.NDArray[np.bool_]) -> "Rounds":
        """The rounds of a mask."""
        return Rounds(
            self.contexts[rows],
            self.actions[rows],
            self.propensities[rows],
            self.rewards[rows],
            None if self.ids is None else self.ids[rows],
            None if self.times is None else self.times[rows],
            None if self.distributions is None else self.distributions[rows],
            self.action_names,
            self.beside[rows],
            self.reward_range,
        )

    def with_action_names(self, names: tuple[str, ...]) -> "Rounds":
        """The same rounds with actions in the order of names that have all of theirs."""
        if self.action_names is None or names == self.action_names:
            return replace(self, action_names=names)
        numbers = renumbering(self.action_names, names)
        lists = None if self.distributions is None else spread(self.distributions, numbers)
        return replace(
            self,
            actions=numbers[self.actions],
            distributions=lists,
            action_names=names,
            beside=self.beside.renumbered(numbers, len(names)),
        )

    def plain_available(self) -> Iterable[list[Any] | None]:
        """For each round what was available; None if that is not known.

        Actions are names if they have them.
        """
        available, names = self.beside.available, self.action_names
        if available is None:
            return repeat(None, len(self))
        if names is None:
            return iter(available.lists())
        return ([names[action] for action in row] for row in available.lists())

    def plain_outcomes(self) -> dict[str, list[list[float | None]]]:
        """Other outcomes by name as Python numbers, None where one is not known."""
        return {name: _with_none(values) for name, values in self.beside.outcomes.items()}

    def plain_actions(self) -> list[list[Any]]:
        """Actions as Python numbers, or as names if they have them."""
        if self.action_names is None:
            return list(self.actions.tolist())
        return list(named(self.actions, self.action_names).tolist())


def _with_none(values: npt.NDArray[np.float64]) -> list[list[float | None]]:
    """Python numbers, None for NaN."""
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return list(plain.tolist())
