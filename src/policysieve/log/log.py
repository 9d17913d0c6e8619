"""What was seen: a growing columnar store of rounds."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.frames import Contexts, concatenated, kind_of, same
from policysieve.log.beside import Beside
from policysieve.log.checked import checked_beside, checked_columns, joined_distributions
from policysieve.log.columnar import Columnar
from policysieve.log.distributions import Distributions
from policysieve.log.exchanging import Exchanged
from policysieve.log.fitting import fitting
from policysieve.log.named import Names, in_numbers, united
from policysieve.log.ranges import check_same_range
from policysieve.log.rounds import Rounds
from policysieve.reported import Carded
from policysieve.scaling import Range, range_in_words, usual_range

__all__ = ["Log"]

Value = TypeVar("Value")


class Log(Columnar, Exchanged, Carded):
    """Rounds in the order of their decisions: contexts, actions, propensities, rewards.

    A slice is a `Log` that shares memory with its parent; appending to either never changes the
    other. `save` and `load` write and read one Parquet file.

    Parameters
    ----------
    contexts : array of shape (n, ...)
        One context per round: row numbers, feature rows, or strings; or a data frame, a list of
        dicts, a sparse matrix.
    actions : array of shape (n, m), or (n,) when m = 1
        The items shown, as numbers from 0 or as names. Items of one slate are different.
    propensities : array of the same shape
        For each shown item the probability, fixed before the round, that it would be shown.
    rewards : array of the same shape
        For each shown item its reward, in [0, 1] or in `reward_range`. One reward for a whole slate
        does not say which item earned it.
    distributions : Distributions, array of shape (n, n_actions), or sequence, optional
        For each round the propensities of all actions that could be shown, as `Distributions.of`
        takes them. They sum to m, and those of shown items are those of `propensities`, whose
        digits are kept where the two differ by rounding. Lists may have names.
    action_names : sequence of str, optional
        What the numbers of the actions stand for. By default nothing where `actions` are numbers,
        and where they are names, those in alphabetical order.
    available : bool array of shape (n, n_actions), or sequence of sequences, optional
        The actions that could be shown in each round, as a mask or as lists of numbers or names.
    units : sequence of str or int, optional
        The user or session of each round.
    outcomes : dict, optional
        Other rewards of the shown items by their names, each like `rewards`; NaN if not known.
    reward_range : (low, high), optional
        Least and largest reward that an item can have, if not 0 and 1.

    Raises
    ------
    InvalidArgumentError
        If columns differ in length, an action is negative or repeated in its slate, a propensity
        is not in (0, 1], a reward is not in its range, or a distribution is none or does not fit
        what was shown. Rows are named.

    Examples
    --------
    >>> log = Log(contexts=[4, 7], actions=[1, 0], propensities=[0.5, 0.5], rewards=[0, 1])
    >>> len(log), log.slate_size, log[1:].contexts.tolist()
    (2, 1, [7])

    >>> log = Log(
    ...     contexts=[4, 7], actions=["shoes", "hats"], propensities=[0.5, 0.5], rewards=[0, 1]
    ... )
    >>> log.action_names, log.actions.ravel().tolist()
    (('hats', 'shoes'), [1, 0])
    """

    def __init__(
        self,
        *,
        contexts: Any,
        actions: Any,
        propensities: Any,
        rewards: Any,
        distributions: Any = None,
        action_names: Any = None,
        available: Any = None,
        units: Any = None,
        outcomes: Any = None,
        reward_range: Any = None,
    ) -> None:
        actions, distributions, names = in_numbers(actions, distributions, action_names)
        known = usual_range(reward_range)
        checked = checked_columns(contexts, actions, propensities, rewards, known)
        beside = checked_beside(checked[1], names, available, units, outcomes)
        if beside:
            self._beside = beside
        if names is not None:
            self._action_names = names
        if known is not None:
            self._reward_range = known
        if distributions is not None:
            self._distributions = fitting(distributions, checked[1], checked[2])
        self._hold(Columns(*(column.copy() for column in checked)))  # what was checked stays so

    @classmethod
    def empty(
        cls,
        *,
        contexts: Contexts,
        slate_size: int,
        distributions: bool = False,
        action_names: Names = None,
        reward_range: Range = None,
    ) -> Self:
        """A log without rounds, for contexts like the given ones; with distributions or not."""
        return cls(
            contexts=contexts[:0],
            actions=np.empty((0, slate_size), dtype=np.int32),
            propensities=np.empty((0, slate_size)),
            rewards=np.empty((0, slate_size)),
            distributions=[] if distributions else None,
            action_names=action_names,
            reward_range=reward_range,
        )

    @classmethod
    def concatenate(cls, logs: Sequence[Self]) -> Self:
        """The rounds of several logs, one after the other; a single one is returned as it is."""
        if len(logs) == 1:
            return logs[0]
        names: Names = None
        rounds = 0
        for log in logs:
            check_same_range(logs[0]._reward_range, log._reward_range)
            names = united(names, rounds, log._action_names, len(log))
            rounds += len(log)
        logs = [log._in_terms_of(names) for log in logs]
        columns = zip(*(log._columns.arrays for log in logs), strict=True)
        joined = cls.trusted(
            *(concatenated(parts) for parts in columns),
            action_names=names,
            reward_range=logs[0]._reward_range,
        )
        if any(log._beside for log in logs):
            beside, rounds = logs[0]._beside, len(logs[0])
            for log in logs[1:]:
                beside = beside.plus(rounds, log._beside, len(log))
                rounds += len(log)
            joined._beside = beside
        if any(log._distributions is not None for log in logs):
            ours, rounds = logs[0]._distributions, len(logs[0])
            for log in logs[1:]:
                ours = joined_distributions(ours, rounds, log._distributions, len(log))
                rounds += len(log)
            joined._distributions = ours
        return joined

    def append(
        self,
        *,
        contexts: Any,
        actions: Any,
        propensities: Any,
        rewards: Any,
        distributions: Any = None,
        available: Any = None,
        units: Any = None,
        outcomes: Any = None,
    ) -> None:
        """Add rounds at the end; amortised constant time per round, all or nothing.

        Where the log has names of actions, they may be these names, or numbers that stand for them.
        """
        actions, distributions, names = in_numbers(actions, distributions, self._action_names)
        checked = checked_columns(contexts, actions, propensities, rewards, self._reward_range)
        if distributions is not None:
            distributions = fitting(distributions, checked[1], checked[2])
        beside = checked_beside(checked[1], names, available, units, outcomes)
        names = united(self._action_names, len(self), names, len(checked[0]))
        self._extend(checked, distributions, names, beside)

    def plus(self, other: "Log") -> Self:
        """These rounds and those of another log; this log stays as it is.

        Names of actions that only the other has get the next numbers.
        """
        _check_log(other)
        longer = object.__new__(type(self))
        longer.__dict__.update(self.__dict__)
        longer.extend(other)
        return longer

    def extend(self, other: "Log") -> None:
        """Add the rounds of another log at the end.

        Names of actions that only the other has get the next numbers.
        """
        _check_log(other)
        check_same_range(self._reward_range, other._reward_range)
        names = united(self._action_names, len(self), other._action_names, len(other))
        new = other._in_terms_of(names)
        self._extend(new._columns.arrays, new._distributions, names, new._beside)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Log):
            return NotImplemented
        if self._action_names != other._action_names or self._beside != other._beside:
            return False
        if self._reward_range != other._reward_range:
            return False
        pairs = zip(self._columns.arrays, other._columns.arrays, strict=True)
        return all(same(mine, theirs) for mine, theirs in pairs) and bool(
            self._distributions == other._distributions
        )

    __hash__ = None  # type: ignore[assignment]  # a log grows, so it has no lasting hash

    def __repr__(self) -> str:
        shape = "x".join(str(size) for size in self.contexts.shape[1:]) or "scalar"
        if self.contexts.dtype.kind == "frame":
            shape = str(self.contexts.dtype)
        also = "" if self._distributions is None else ", with distributions"
        if self._reward_range is not None:
            also += f", rewards in {range_in_words(self._reward_range)}"
        return f"Log({len(self)} rounds, slate_size={self.slate_size}, contexts: {shape}{also})"

    def pieces(self) -> Iterator[Self]:
        """The log itself, as one piece; a `LogFile` has several."""
        yield self

    def mapped(
        self,
        function: Callable[..., Value],
        what: str = "a function",
        now: Callable[[], Any] | None = None,
    ) -> Iterator[Value]:
        """What a function says of it, as `LogFile` has it of its pieces."""
        yield function(self) if now is None else function(self, now())

    def rounds(self) -> Iterator[Rounds]:
        """The same rounds as a batch, without ids and times."""
        yield Rounds(
            self.contexts,
            self.actions,
            self.propensities,
            self.rewards,
            distributions=self._distributions,
            action_names=self._action_names,
            beside=self._beside,
            reward_range=self._reward_range,
        )

    def _extend(
        self,
        new: tuple[npt.NDArray[Any], ...],
        distributions: Distributions | None,
        names: Names,
        beside: Beside,
    ) -> None:
        old = self._columns.arrays
        for name, mine, theirs in zip(("contexts", "actions"), old, new, strict=False):
            if mine.shape[1:] != theirs.shape[1:]:
                raise InvalidArgumentError(
                    f"{name} must have shape (n, {', '.join(map(str, mine.shape[1:]))}) like the "
                    f"rounds already logged, got {theirs.shape}"
                )
        kind = kind_of(old[0].dtype)
        if kind_of(new[0].dtype) != kind:
            raise InvalidArgumentError(
                f"contexts must be {kind} like the rounds already logged, got {new[0].dtype}"
            )
        plain = self._distributions is None and distributions is None
        if plain and names == self._action_names and not (beside or self._beside):
            self._hold(self._columns.plus(*new))
            return
        then = copy(self)  # whose attributes replace the old ones in one step
        then._action_names = names
        then._beside = self._beside.plus(len(self), beside, len(new[0]))
        if self._distributions is not None or distributions is not None:
            then._distributions = joined_distributions(
                self._distributions, len(self), distributions, len(new[0])
            )
        then._hold(self._columns.plus(*new))
        self.__dict__.update(then.__dict__)


def _check_log(other: Any) -> None:
    if not isinstance(other, Log):
        raise InvalidArgumentError(
            f"other must be a Log, got {shown(other)}; Log.load makes one of files"
        )
