"""Which actions can be shown at which contexts: a bit for each."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list, plain_array, shown
from policysieve.checks import refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.naming import labels_of, looked_up

__all__ = ["Available"]

_ENTRIES = 1 << 24  # that are looked at at once
_RULE = "booleans of shape (n, n_actions), or for each context a list of the actions"


class Available:
    """The actions that can be shown in each of n rounds. A value.

    Parameters
    ----------
    bits : uint8 array of shape (n, ceil(n_actions / 8))
        As `np.packbits` makes them.
    n_actions : int
    """

    __slots__ = ("bits", "n_actions")

    def __init__(self, bits: npt.NDArray[np.uint8], n_actions: int) -> None:
        self.bits = bits
        self.n_actions = n_actions

    @classmethod
    def of(
        cls,
        given: Any,
        n_rounds: int,
        n_actions: int | None,
        *,
        names: Sequence[str] | None = None,
        slate_size: int = 1,
    ) -> "Available":
        """What a user says can be shown, or raise.

        Parameters
        ----------
        given : Available, bool array of shape (n_rounds, n_actions), frame, or list of lists
            A mask, a data frame of booleans with a column for each action that has a name, or for
            each round the numbers or names of what is available.
        n_rounds : int
        n_actions : int or None
            By default as many as the mask has, or as are listed.
        names : sequence of str, optional
            Of all actions.
        slate_size : int
            So many must be available in every round.
        """
        if hasattr(given, "columns") and hasattr(given, "to_numpy"):
            given = _of_frame(given, names)
        if isinstance(given, Available):
            found = given if n_actions is None else given.wide(n_actions)
            if len(found) != n_rounds:
                raise _wrong(f"{n_rounds} rounds", f"{len(found)}")
        elif _is_mask(given):
            mask = plain_array("available", given, _RULE)
            width = mask.shape[-1] if n_actions is None else n_actions
            if mask.shape != (n_rounds, width):
                raise _wrong(f"shape ({n_rounds}, {width})", f"{mask.shape}")
            found = cls.packed(mask)
        else:
            found = cls.packed(_listed(given, n_rounds, n_actions, names))
        few = found.counts < slate_size
        refuse_rows(
            few,
            f"available must leave at least {slate_size} action{'s' * (slate_size > 1)} to show",
            lambda row: f"{found.counts[row]}",
            hint="do not ask where nothing can be shown",
        )
        return found

    @classmethod
    def packed(cls, mask: npt.NDArray[np.bool_]) -> "Available":
        """What a checked mask of shape (n, n_actions) says."""
        return cls(np.packbits(mask, axis=1), mask.shape[1])

    @classmethod
    def of_lists(
        cls, ends: npt.NDArray[np.integer], actions: npt.NDArray[np.integer], n_actions: int
    ) -> "Available":
        """What checked numbers say: those of round i are from ends[i] up to ends[i + 1]."""
        n, numbers = len(ends) - 1, actions.astype(np.int64, copy=False)
        bits = np.zeros((n, -(-n_actions // 8)), np.uint8)
        rows = np.repeat(np.arange(n), np.diff(ends))
        np.bitwise_or.at(bits, (rows, numbers >> 3), (128 >> (numbers & 7)).astype(np.uint8))
        return cls(bits, n_actions)

    @classmethod
    def everything(cls, n_rounds: int, n_actions: int) -> "Available":
        """All actions in all rounds."""
        return cls.packed(np.ones((n_rounds, n_actions), np.bool_))

    def dense(self) -> npt.NDArray[np.bool_]:
        """The mask, shape (n, n_actions)."""
        return np.unpackbits(self.bits, axis=1, count=self.n_actions).astype(np.bool_)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many actions are available in each round."""
        size = max(1, _ENTRIES // max(1, self.n_actions))
        found = np.empty(len(self), np.int64)
        for i in range(0, len(self), size):
            found[i : i + size] = np.unpackbits(self.bits[i : i + size], axis=1).sum(axis=1)
        return found

    def has(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Whether each of the actions, of shape (n, m), is available in its round."""
        rows = np.arange(len(self.bits))[:, None]
        return np.asarray((self.bits[rows, actions >> 3] >> (7 - (actions & 7))) & 1 == 1)

    def wide(self, n_actions: int) -> "Available":
        """The same for a larger number of actions, the others of which are never available."""
        if n_actions < self.n_actions:
            raise _wrong(f"at most {n_actions} actions", f"{self.n_actions}")
        more = -(-n_actions // 8) - self.bits.shape[1]
        bits = np.pad(self.bits, ((0, 0), (0, more))) if more else self.bits
        return Available(bits, n_actions)

    def renumbered(self, numbers: npt.NDArray[np.integer], n_actions: int) -> "Available":
        """The same where action i is called numbers[i], or is no action any more if that is -1."""
        mask, kept = np.zeros((len(self), n_actions), np.bool_), numbers >= 0
        mask[:, numbers[kept]] = self.dense()[:, : len(numbers)][:, kept]
        return Available.packed(mask)

    def lists(self) -> list[list[int]]:
        """For each round the numbers of what is available."""
        ends, actions = self.flat()
        return [actions[start:end].tolist() for start, end in pairwise(ends)]

    def flat(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The same as `of_lists` takes it: ends, and numbers."""
        size = max(1, _ENTRIES // max(1, self.n_actions))
        parts = [self[i : i + size].dense().nonzero()[1] for i in range(0, len(self), size)]
        ends = np.append([0], self.counts.cumsum())
        return ends, np.concatenate([np.empty(0, np.int64), *parts])

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows: Any) -> "Available":
        return Available(self.bits[rows], self.n_actions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Available):
            return NotImplemented
        return self.n_actions == other.n_actions and np.array_equal(self.bits, other.bits)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __repr__(self) -> str:
        return f"Available({len(self)} rounds, {self.n_actions} actions)"


def _wrong(rule: str, got: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"available must have {rule}, got {got}")


def _of_frame(frame: Any, names: Sequence[str] | None) -> npt.NDArray[np.bool_]:
    """The mask of a data frame that has a column of booleans for each action, or raise."""
    columns, mask = list(frame.columns), np.asarray(frame.to_numpy())
    places = {name: place for place, name in enumerate(columns)}
    different = len(places) == len(columns)
    if mask.dtype.kind != "b" or names is None or not different or places.keys() != set(names):
        known = "numbers" if names is None else "the names " + shown(list(names))
        raise InvalidArgumentError(
            f"available must be {_RULE}; a data frame of booleans has a column with the name of "
            f"each action, got the columns {shown(columns)} of {mask.dtype}, and actions have "
            f"{known}; if columns are in the order of the actions, write available=frame.to_numpy()"
        )
    return mask[:, [places[name] for name in names]]


def _is_mask(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return bool(given.dtype.kind == "b")
    first = given[0] if isinstance(given, list | tuple) and given else None
    return isinstance(first, list | tuple) and bool(first) and isinstance(first[0], bool | np.bool_)


def _listed(
    given: Any, n_rounds: int, n_actions: int | None, names: Sequence[str] | None
) -> npt.NDArray[np.bool_]:
    """The mask of lists of numbers or names, or raise."""
    if isinstance(given, np.ndarray) and given.dtype.kind != "O":
        raise InvalidArgumentError(
            f"available must be {_RULE}, got an array of {given.dtype}; if it is a mask, write "
            "available=mask.astype(bool)"
        )
    lists = as_list("available", given, _RULE)
    if len(lists) != n_rounds:
        raise _wrong(f"a list for each of the {n_rounds} rounds", f"{len(lists)}")
    numbers = [_numbers(row, one, names) for row, one in enumerate(lists)]
    largest = max((int(items.max(initial=-1)) for items in numbers), default=-1)
    mask = np.zeros((n_rounds, largest + 1 if n_actions is None else n_actions), np.bool_)
    for row, items in enumerate(numbers):
        if items.size and (items.min() < 0 or items.max() >= mask.shape[1]):
            raise InvalidArgumentError(
                f"available must hold actions in [0, {mask.shape[1] - 1}], got "
                f"{shown(items.tolist())} in row {row}; actions are numbered from 0"
            )
        mask[row, items] = True
    return mask


def _numbers(row: int, one: Any, names: Sequence[str] | None) -> npt.NDArray[np.intp]:
    """What is available in a round by its numbers, or raise."""
    if isinstance(one, str) or not np.iterable(one):
        raise InvalidArgumentError(
            f"available must be {_RULE}, got {shown(one)} in row {row}; write [...] around it"
        )
    labels = labels_of(f"available, row {row}", list(one), "a list of actions")
    items = looked_up("available", labels, names, row=row)
    if items.size and items.dtype.kind not in "iu":
        raise InvalidArgumentError(f"available must be {_RULE}, got {shown(one)} in row {row}")
    return items.astype(np.intp)
