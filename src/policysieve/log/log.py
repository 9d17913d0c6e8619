"""What was seen: a growing columnar store of rounds."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_actions, as_contexts, as_propensities, as_rewards
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
        self._columns = tuple(column.copy() for column in checked)  # what was checked stays so
        self._length = len(self._columns[0])
        # Room behind the last row belongs to whoever allocated it: never to a slice.
        self._owns_room = True

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
        log._columns = (contexts, actions, propensities, rewards)
        log._length = len(contexts)
        log._owns_room = False
        return log

    @classmethod
    def concatenate(cls, logs: Sequence[Self]) -> Self:
        """The rounds of several logs, one after the other; a single one is returned as it is."""
        if len(logs) == 1:
            return logs[0]
        columns = zip(*(log._views() for log in logs), strict=True)
        return cls.trusted(*(np.concatenate(parts) for parts in columns))

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """Contexts, shape (n, ...), read-only."""
        return self._column(0)

    @property
    def actions(self) -> npt.NDArray[np.int32]:
        """Shown items, shape (n, m), read-only."""
        return self._column(1)

    @property
    def propensities(self) -> npt.NDArray[np.float64]:
        """Probability with which each shown item is shown, shape (n, m), read-only."""
        return self._column(2)

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        """Rewards of the shown items, shape (n, m), read-only."""
        return self._column(3)

    def rewarded(self) -> npt.NDArray[np.intp]:
        """Numbers of the rounds that earned anything."""
        rewards = self.rewards
        single = rewards.shape[1] == 1
        return np.flatnonzero(rewards[:, 0] > 0 if single else (rewards > 0).any(axis=1))

    @property
    def slate_size(self) -> int:
        """Number of items shown each round."""
        return int(self._columns[1].shape[1])

    def append(self, *, contexts: Any, actions: Any, propensities: Any, rewards: Any) -> None:
        """Add rounds at the end; amortised constant time per round, all or nothing."""
        self._extend(_checked_columns(contexts, actions, propensities, rewards))

    def extend(self, other: "Log") -> None:
        """Add the rounds of another log at the end."""
        self._extend(tuple(column[: len(other)] for column in other._columns))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: slice) -> Self:
        if not isinstance(rows, slice):
            raise InvalidArgumentError(
                f"a log is indexed by a slice, such as log[100:200], got {rows!r}"
            )
        return self.trusted(*(column[: self._length][rows] for column in self._columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Log):
            return NotImplemented
        pairs = zip(self._views(), other._views(), strict=True)
        return all(
            mine.shape == theirs.shape and bool((mine == theirs).all()) for mine, theirs in pairs
        )

    __hash__ = None  # type: ignore[assignment]  # a log grows, so it has no lasting hash

    def __repr__(self) -> str:
        shape = "x".join(str(size) for size in self._columns[0].shape[1:]) or "scalar"
        return f"Log({len(self)} rounds, slate_size={self.slate_size}, contexts: {shape})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file; an existing one is replaced only when all is written."""
        from policysieve.formats.parquet import FORMAT

        FORMAT.save(path, self.rounds(), Rounds(*self._views()).layout)

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
        yield Rounds(*self._views())

    def _extend(self, new: tuple[npt.NDArray[Any], ...]) -> None:
        for name, mine, theirs in zip(("contexts", "actions"), self._columns, new, strict=False):
            if mine.shape[1:] != theirs.shape[1:]:
                raise InvalidArgumentError(
                    f"{name} must have shape (n, {', '.join(map(str, mine.shape[1:]))}) like the "
                    f"rounds already logged, got {theirs.shape}"
                )
        mine, theirs = self._columns[0], new[0]
        if (mine.dtype == object) != (theirs.dtype == object):
            raise InvalidArgumentError(
                f"contexts must be {'strings' if mine.dtype == object else 'numbers'} like the "
                f"rounds already logged, got {theirs.dtype}"
            )
        if not len(theirs):
            return
        end = self._length + len(theirs)
        grown = []
        for old, extra in zip(self._columns, new, strict=True):
            dtype = np.result_type(old.dtype, extra.dtype)
            if self._owns_room and dtype == old.dtype and end <= len(old):
                room = old
            else:
                room = np.empty((max(end, 2 * self._length, 16), *old.shape[1:]), dtype=dtype)
                room[: self._length] = old[: self._length]
            grown.append(room)
        for room, extra in zip(grown, new, strict=True):
            room[self._length : end] = extra
        self._columns, self._length, self._owns_room = tuple(grown), end, True

    def _views(self) -> list[npt.NDArray[Any]]:
        return [self._column(i) for i in range(4)]

    def _column(self, i: int) -> npt.NDArray[Any]:
        view = self._columns[i][: self._length]
        view.flags.writeable = False
        return view


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
