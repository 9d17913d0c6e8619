"""What was seen: a growing columnar store of rounds."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_actions, as_contexts, as_propensities, as_rewards
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.log.rounds import Rounds

if TYPE_CHECKING:
    from policysieve.log.opening import AnyLog

__all__ = ["Log"]


class Log:
    """Rounds in the order of their decisions: contexts, actions, propensities, rewards.

    A slice is a `Log` that shares memory with its parent; appending to either never changes the
    other. `save` and `load` write and read one Parquet file.

    Parameters
    ----------
    contexts : array of shape (n, ...)
        One context per round: row numbers, feature rows, or strings.
    actions : array of shape (n, m), or (n,) when m = 1
        The items shown. Items of one slate are different.
    propensities : array of the same shape
        For each shown item the probability, fixed before the round, that it would be shown.
    rewards : array of the same shape
        For each shown item its reward in [0, 1].

    Raises
    ------
    InvalidArgumentError
        If columns differ in length, an action is negative or repeated in its slate, a propensity
        is not in (0, 1], or a reward is not in [0, 1]. Rows are named.

    Examples
    --------
    >>> log = Log(contexts=[4, 7], actions=[1, 0], propensities=[0.5, 0.5], rewards=[0, 1])
    >>> len(log), log.slate_size, log[1:].contexts.tolist()
    (2, 1, [7])
    """

    def __init__(self, *, contexts: Any, actions: Any, propensities: Any, rewards: Any) -> None:
        checked = _checked_columns(contexts, actions, propensities, rewards)
        self._hold(Columns(*(column.copy() for column in checked)))  # what was checked stays so

    @classmethod
    def empty(cls, *, contexts: npt.NDArray[Any], slate_size: int) -> Self:
        """A log without rounds, for contexts like the given ones."""
        return cls(
            contexts=contexts[:0],
            actions=np.empty((0, slate_size), dtype=np.int32),
            propensities=np.empty((0, slate_size)),
            rewards=np.empty((0, slate_size)),
        )

    @classmethod
    def trusted(
        cls,
        contexts: npt.NDArray[Any],
        actions: npt.NDArray[np.int32],
        propensities: npt.NDArray[np.float64],
        rewards: npt.NDArray[np.float64],
    ) -> Self:
        """A log around columns that were checked before; nothing is copied."""
        log = object.__new__(cls)
        log._hold(Columns(contexts, actions, propensities, rewards))
        return log

    @classmethod
    def concatenate(cls, logs: Sequence[Self]) -> Self:
        """The rounds of several logs, one after the other; a single one is returned as it is."""
        if len(logs) == 1:
            return logs[0]
        columns = zip(*(log._columns.arrays for log in logs), strict=True)
        return cls.trusted(*(np.concatenate(parts) for parts in columns))

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """Contexts, shape (n, ...), read-only."""
        return self._columns.arrays[0]

    @property
    def actions(self) -> npt.NDArray[np.int32]:
        """Shown items, shape (n, m), read-only."""
        return self._columns.arrays[1]

    @property
    def propensities(self) -> npt.NDArray[np.float64]:
        """Probability with which each shown item is shown, shape (n, m), read-only."""
        return self._columns.arrays[2]

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        """Rewards of the shown items, shape (n, m), read-only."""
        return self._columns.arrays[3]

    def rewarded(self) -> npt.NDArray[np.intp]:
        """Numbers of the rounds that earned anything."""
        rewards = self.rewards
        single = rewards.shape[1] == 1
        return np.flatnonzero(rewards[:, 0] > 0 if single else (rewards > 0).any(axis=1))

    @property
    def slate_size(self) -> int:
        """Number of items shown each round."""
        return int(self._columns.arrays[1].shape[1])

    def append(self, *, contexts: Any, actions: Any, propensities: Any, rewards: Any) -> None:
        """Add rounds at the end; amortised constant time per round, all or nothing."""
        self._extend(_checked_columns(contexts, actions, propensities, rewards))

    def plus(self, other: "Log") -> Self:
        """These rounds and those of another log; this log stays as it is."""
        longer = object.__new__(type(self))
        longer._columns = self._columns
        longer._extend(other._columns.arrays)
        return longer

    def copy(self) -> Self:
        """A log with memory of its own."""
        return self.trusted(*(array.copy() for array in self._columns.arrays))

    def extend(self, other: "Log") -> None:
        """Add the rounds of another log at the end."""
        self._extend(other._columns.arrays)

    def __len__(self) -> int:
        return len(self._columns.arrays[0])

    def __getitem__(self, rows: slice) -> Self:
        if not isinstance(rows, slice):
            raise InvalidArgumentError(
                f"a log is indexed by a slice, such as log[100:200], got {rows!r}"
            )
        return self.trusted(*[array[rows] for array in self._columns.arrays])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Log):
            return NotImplemented
        pairs = zip(self._columns.arrays, other._columns.arrays, strict=True)
        return all(
            mine.shape == theirs.shape and bool((mine == theirs).all()) for mine, theirs in pairs
        )

    __hash__ = None  # type: ignore[assignment]  # a log grows, so it has no lasting hash

    def __repr__(self) -> str:
        shape = "x".join(str(size) for size in self.contexts.shape[1:]) or "scalar"
        return f"Log({len(self)} rounds, slate_size={self.slate_size}, contexts: {shape})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file; an existing one is replaced only when all is written."""
        from policysieve.formats.parquet import FORMAT

        FORMAT.save(path, self.rounds(), Rounds(*self._columns.arrays).layout)

    @classmethod
    def load(cls, log: "AnyLog") -> "Log":
        """A whole log in memory: a file that `save` wrote, or one or several of any other format.

        Parameters
        ----------
        log : path, paths, LogFile or Log
            A `Log` is returned as it is.

        Raises
        ------
        FileNotFoundError, FileFormatError, InvalidArgumentError
            As `LogFile` has it, and if a reward is missing.
        """
        from policysieve.log.opening import open_log

        opened = open_log(log)
        if isinstance(opened, Log):
            return opened
        layout = opened.layout
        contexts = np.empty((0, *layout.context_shape), dtype=layout.context_dtype)
        empty = Log.empty(contexts=contexts, slate_size=layout.slate_size)
        return Log.concatenate(list(opened.pieces()) or [empty])

    def pieces(self) -> Iterator[Self]:
        """The log itself, as one piece; a `LogFile` has several."""
        yield self

    def rounds(self) -> Iterator[Rounds]:
        """The same rounds as a batch, without ids and times."""
        yield Rounds(*self._columns.arrays)

    def _extend(self, new: tuple[npt.NDArray[Any], ...]) -> None:
        old = self._columns.arrays
        for name, mine, theirs in zip(("contexts", "actions"), old, new, strict=False):
            if mine.shape[1:] != theirs.shape[1:]:
                raise InvalidArgumentError(
                    f"{name} must have shape (n, {', '.join(map(str, mine.shape[1:]))}) like the "
                    f"rounds already logged, got {theirs.shape}"
                )
        if (old[0].dtype == object) != (new[0].dtype == object):
            raise InvalidArgumentError(
                f"contexts must be {'strings' if old[0].dtype == object else 'numbers'} like the "
                f"rounds already logged, got {new[0].dtype}"
            )
        self._hold(self._columns.plus(*new))

    def _hold(self, columns: Columns) -> None:
        for array in columns.arrays:
            array.flags.writeable = False
        self._columns = columns


def _checked_columns(
    contexts: Any, actions: Any, propensities: Any, rewards: Any
) -> tuple[npt.NDArray[Any], ...]:
    x = as_contexts(contexts)
    a = as_actions(actions, len(x))
    return (
        x,
        a,
        as_propensities(propensities, a.shape),
        as_rewards(rewards, len(a), a.shape[1], None),
    )
