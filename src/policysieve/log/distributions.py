"""Full distributions: for each round the propensities of all actions that could be shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_float, plain_array, real_numbers, shown
from policysieve.checks import MOST_ACTIONS, as_numbers, first_rows, integer
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError

__all__ = [
    "Distributions",
    "Faults",
    "entry_keys",
    "faults",
    "in_order",
    "refuse_faults",
    "stacked",
]

Faults = list[tuple[npt.NDArray[np.bool_], Callable[[int], str]]]
"""For each rule a mask of the rounds that break it, and in words how one of them does."""

_LARGEST = MOST_ACTIONS - 1
_WHOLE = "an array of whole numbers"


class Distributions:
    """For each round the actions that could be shown, each with its propensity. Immutable.

    Lists are short where few actions can be shown, so they lie one behind the other: those of round
    i are entries ``offsets[i]`` to ``offsets[i + 1]`` of `actions` and `propensities`, in the order
    of the actions. Iterating gives a list of pairs for each round. `of` makes them from arrays and
    from lists.

    Parameters
    ----------
    offsets : whole numbers of shape (n + 1,)
        From 0 to N, in order.
    actions : whole numbers of shape (N,)
        Different within a round.
    propensities : array of shape (N,)
        In (0, 1].

    Raises
    ------
    InvalidArgumentError
        If a rule is broken; the row is named.

    Examples
    --------
    >>> both = Distributions.of([{3: 0.25, 7: 0.75}, {0: 1.0}], n_rounds=2)
    >>> both.offsets.tolist(), both.actions.tolist(), list(both[1:])
    ([0, 2, 3], [3, 7, 0], [[(0, 1.0)]])
    """

    __slots__ = ("_entries", "_offsets")

    def __init__(self, offsets: Any, actions: Any, propensities: Any) -> None:
        lists = in_order(Distributions.trusted(*_as_arrays(offsets, actions, propensities)))
        refuse_faults(faults(lists))
        actions = lists.actions.astype(np.int32, copy=False)
        self._hold(Columns(lists.offsets), Columns(actions, lists.propensities))

    @classmethod
    def of(cls, values: Any, n_rounds: int) -> "Distributions":
        """Distributions of so many rounds, in whatever way they are given.

        Parameters
        ----------
        values : Distributions, array of shape (n_rounds, n_actions), or sequence
            A numpy array has the propensity of every action; zeros are left out. A sequence has for
            each round a mapping from actions to propensities, or pairs of the two.
        n_rounds : int

        Raises
        ------
        InvalidArgumentError
            If they are something else, of another length, or break a rule; the row is named.
        """
        try:
            length = len(values)
        except TypeError:  # it has none, or is an array without dimensions
            length = -1
        if length != n_rounds:
            got = f"{length:,}" if length >= 0 else type(values).__name__
            raise InvalidArgumentError(
                f"distributions must be one for each of the {n_rounds:,} rounds, got {got}"
            )
        if isinstance(values, Distributions):
            return values
        if isinstance(values, np.ndarray) and values.dtype != object:
            return cls(*_from_dense(values))
        lists = stacked([_pairs(row, one) for row, one in enumerate(values)])
        return cls(lists.offsets, lists.actions, lists.propensities)

    @classmethod
    def trusted(
        cls,
        offsets: npt.NDArray[np.int64],
        actions: npt.NDArray[Any],
        propensities: npt.NDArray[np.float64],
    ) -> Self:
        """Distributions around arrays that were checked before; nothing is copied."""
        made = object.__new__(cls)
        made._hold(Columns(offsets), Columns(actions, propensities))
        return made

    @classmethod
    def concatenate(cls, parts: "Sequence[Distributions]") -> "Distributions":
        """The rounds of several, one after the other, with memory of their own."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.trusted(
            _offsets(lengths),
            np.concatenate([part.actions for part in parts]),
            np.concatenate([part.propensities for part in parts]),
        )

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the entries of each round start, and the end of the last; (n + 1,), read-only."""
        return self._offsets.arrays[0]

    @property
    def actions(self) -> npt.NDArray[np.int32]:
        """The actions of all rounds, shape (N,), read-only."""
        return self._entries.arrays[0]

    @property
    def propensities(self) -> npt.NDArray[np.float64]:
        """Their propensities, shape (N,), read-only."""
        return self._entries.arrays[1]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many actions each round could show, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(array.nbytes for array in (self.offsets, self.actions, self.propensities))

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The round of each entry, shape (N,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def plus(self, other: "Distributions") -> "Distributions":
        """These rounds and those of another; amortised constant time per entry."""
        longer = object.__new__(Distributions)
        longer._hold(
            self._offsets.plus(other.offsets[1:] + self.offsets[-1]),
            self._entries.plus(other.actions, other.propensities),
        )
        return longer

    def dense(self, n_actions: int) -> npt.NDArray[np.float64]:
        """The propensity of every action, shape (n, n_actions); 0 where it could not be shown."""
        least = int(self.actions.max(initial=0)) + 1
        k = integer("n_actions", n_actions, low=least, hint="the actions of the lists need it")
        every = np.zeros((len(self), k))
        every[self.rows, self.actions] = self.propensities
        return every

    def check_actions(self, n_actions: int) -> None:
        """Raise if an action is not below a number of actions; the row is named."""
        refuse_faults(faults(self, n_actions - 1))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        for start, end in pairwise(self.offsets.tolist()):
            actions, propensities = self.actions[start:end], self.propensities[start:end]
            yield list(zip(actions.tolist(), propensities.tolist(), strict=True))

    def __getitem__(self, rows: Any) -> "Distributions":
        """The rounds of a slice, a mask or row numbers."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            offsets = self.offsets[start : max(start, stop) + 1]
            part = slice(offsets[0], offsets[-1])
            offsets = offsets - offsets[0] if start else offsets
            return Distributions.trusted(offsets, self.actions[part], self.propensities[part])
        try:
            index = np.atleast_1d(np.arange(len(self))[rows])
        except IndexError as error:
            raise InvalidArgumentError(
                f"distributions are indexed by a slice, a mask or row numbers below {len(self)} "
                f"({error})"
            ) from error
        lengths = self.lengths[index]
        offsets = _offsets(lengths)
        shift = np.repeat(self.offsets[index] - offsets[:-1], lengths)
        taken = shift + np.arange(len(shift))
        return Distributions.trusted(offsets, self.actions[taken], self.propensities[taken])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distributions):
            return NotImplemented
        return (
            np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.actions, other.actions)
            and np.array_equal(self.propensities, other.propensities)
        )

    __hash__ = None  # type: ignore[assignment]  # it would take a pass over all entries

    def __repr__(self) -> str:
        return f"Distributions({len(self):,} rounds, {len(self.actions):,} actions listed)"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Distributions":
        return self  # a value

    def __reduce__(self) -> tuple[Any, tuple[npt.NDArray[Any], ...]]:
        return Distributions.trusted, (self.offsets, self.actions, self.propensities)

    def _hold(self, offsets: Columns, entries: Columns) -> None:
        for array in (*offsets.arrays, *entries.arrays):
            array.flags.writeable = False
        self._offsets, self._entries = offsets, entries


def stacked(lists: Sequence[Sequence[tuple[int, float]]]) -> Distributions:
    """Lists of pairs of 64-bit numbers as they are; nothing is checked."""
    pairs = [pair for one in lists for pair in one]
    return Distributions.trusted(
        _offsets(np.array([len(one) for one in lists], dtype=np.int64)),
        np.array([action for action, _ in pairs], dtype=np.int64),
        np.array([propensity for _, propensity in pairs], dtype=np.float64),
    )


def in_order(lists: Distributions) -> Distributions:
    """The same with the entries of each round in the order of their actions."""
    keys = entry_keys(lists.rows, lists.actions)
    if (keys[1:] >= keys[:-1]).all():
        return lists
    order = np.argsort(keys, kind="stable")
    return Distributions.trusted(lists.offsets, lists.actions[order], lists.propensities[order])


def faults(lists: Distributions, largest: int = _LARGEST) -> Faults:
    """What is wrong with lists that are in order, by themselves."""
    rows, actions, propensities = lists.rows, lists.actions, lists.propensities
    keys = entry_keys(rows, actions)
    misnumbered = (actions < 0) | (actions > largest)
    twice = np.append(keys[1:] == keys[:-1], np.zeros(min(len(keys), 1), dtype=np.bool_))
    improbable = ~((propensities > 0) & (propensities <= 1))

    def broken_by(bad: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(lists), dtype=np.bool_)
        mask[rows[bad]] = True
        return mask

    def first(values: npt.NDArray[Any], bad: npt.NDArray[np.bool_], row: int) -> Any:
        part = slice(lists.offsets[row], lists.offsets[row + 1])
        return values[part][bad[part]][0]

    return [
        (
            lists.lengths == 0,
            lambda _: "the distribution is empty; it must list every action that could be shown",
        ),
        (
            broken_by(misnumbered),
            lambda i: (
                f"an action of the distribution must be a number from 0 to {largest}, got "
                f"{first(actions, misnumbered, i)}"
            ),
        ),
        (
            broken_by(twice),
            lambda i: (
                "actions of the distribution must be different, got "
                f"{first(actions, twice, i)} twice"
            ),
        ),
        (
            broken_by(improbable),
            lambda i: (
                "a propensity of the distribution must lie in (0, 1], got "
                f"{first(propensities, improbable, i):g}; leave out actions that cannot be shown"
            ),
        ),
    ]


def refuse_faults(found: Faults) -> None:
    """Raise if a rule is broken, and name the first row."""
    for mask, reason in found:
        if mask.any():
            row = int(np.flatnonzero(mask)[0])
            raise InvalidArgumentError(f"distributions, row {row}: {reason(row)}{first_rows(mask)}")


def entry_keys(rows: npt.NDArray[np.int64], actions: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Round and action as one number, in their order; an action that is none counts as another."""
    return np.asarray(rows << 32 | np.clip(actions, 0, _LARGEST).astype(np.int64, copy=False))


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _as_arrays(
    offsets: Any, actions: Any, propensities: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Arrays of our own that can be read as lists, or raise."""
    ends = plain_array("offsets", offsets, _WHOLE)
    a = np.array(plain_array("actions", actions, _WHOLE))
    w = as_numbers("propensities", propensities)
    for name, array in (("offsets", ends), ("actions", a)):
        if array.size and array.dtype.kind not in "iu":
            raise InvalidArgumentError(f"{name} must be whole numbers, got dtype {array.dtype}")
    if a.ndim != 1 or a.shape != w.shape:
        raise InvalidArgumentError(
            "actions and propensities must be equally long arrays of one dimension, got shapes "
            f"{a.shape} and {w.shape}"
        )
    if (
        ends.ndim != 1
        or not len(ends)
        or (ends[0], ends[-1]) != (0, len(a))
        or (ends[1:] < ends[:-1]).any()
    ):
        raise InvalidArgumentError(
            f"offsets must be numbers in order, from 0 to the {len(a)} actions listed, one more "
            f"than there are rounds, got {ends.shape} numbers"
        )
    return ends.astype(np.int64), a, w


def _from_dense(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp], npt.NDArray[Any]]:
    if values.ndim != 2:
        raise InvalidArgumentError(
            "distributions as an array must have shape (n_rounds, n_actions), got shape "
            f"{values.shape}"
        )
    values = real_numbers("distributions", values, "an array of propensities")
    there = values != 0
    return _offsets(there.sum(axis=1)), np.nonzero(there)[1], values[there]


def _pairs(row: int, given: Any) -> list[tuple[int, float]]:
    """The list of one round."""
    try:
        entries = given.items() if isinstance(given, Mapping) else given
        pairs = [(action, as_float(propensity)) for action, propensity in entries]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"distributions, row {row}: a round must have a mapping from actions to propensities "
            f"or pairs of the two, got {shown(given)}; propensities of all actions are a numpy "
            "array of shape (n_rounds, n_actions)"
        ) from error
    name = f"distributions, row {row}: an action"
    return [
        (integer(name, action, low=0, high=_LARGEST), propensity) for action, propensity in pairs
    ]
