"""What a check of a log remembers of its rounds: sums whose size does not grow with the log."""

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.weights import Mass, inverse
from policysieve.log import Rounds

__all__ = ["GROUPS", "LogSums"]

Array = npt.NDArray[np.float64]

GROUPS = 8  # of contexts
_STRETCHES = 20  # of the log, at most; at least half as many
_SIZES = 64  # powers of two that propensities are counted by
_MOST_ACTIONS = 1 << 20


class LogSums:
    """Sums over the rounds of a log, batch by batch.

    Memory grows with the number of actions, and by eight bytes for each id, twice that while
    repeated ones are counted.

    Attributes
    ----------
    mass : Mass
        Of all rounds.
    stretches : float array of shape (3, 20)
        Number of rounds and sums of M and M^2 in stretches of `width` rounds.
    groups : integer array of shape (8,)
        Rounds in each group of contexts; equal contexts are in the same.
    weights, squares : float arrays of shape (8, n_actions)
        Sums of 1/W and 1/W^2 of the shown items, by group and action.
    shown : integer array of shape (n_actions,)
        How often each action was shown.
    lowest, highest : float arrays of shape (n_actions,)
        Its smallest and largest propensity.
    sizes : integer array of shape (64,)
        Number of rounds whose smallest propensity is in (2^-(k+1), 2^-k]; the last has all below.
    certain : int
        Rounds that show what has the propensity 1, and nothing else.
    rewarded, incomplete : int
        Rounds that earned anything, rounds with a missing reward.
    backwards, timed : int
        Rounds with an earlier time than the one before, rounds with a time.
    """

    def __init__(self, slate_size: int) -> None:
        self.mass = Mass(slate_size)
        self.width = 1
        self.stretches = np.zeros((3, _STRETCHES))
        self.groups = np.zeros(GROUPS, dtype=np.int64)
        self.weights, self.squares = np.zeros((2, GROUPS, 0))
        self.shown = np.zeros(0, dtype=np.int64)
        self.lowest, self.highest = np.ones(0), np.zeros(0)
        self.sizes = np.zeros(_SIZES, dtype=np.int64)
        self.certain = self.rewarded = self.incomplete = 0
        self.backwards = self.timed = 0
        self._latest = -np.inf
        self._ids: list[npt.NDArray[np.int64]] = []

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return self.mass.rounds

    @property
    def n_actions(self) -> int:
        """The largest action so far, plus one."""
        return len(self.shown)

    @property
    def identified(self) -> int:
        """Rounds with an id."""
        return sum(map(len, self._ids))

    def repeated_ids(self) -> int:
        """Rounds whose id came before, by 64-bit hashes."""
        every = np.concatenate([np.zeros(0, np.int64), *self._ids])
        every.sort()
        return int((every[1:] == every[:-1]).sum())

    def add(self, rounds: Rounds) -> None:
        """Take in rounds that were checked before, or raise and change nothing."""
        actions, propensities = rounds.actions, rounds.propensities
        if not len(rounds):
            return
        if actions.max() >= _MOST_ACTIONS:
            raise InvalidArgumentError(
                f"actions must be below {_MOST_ACTIONS:,} to be checked one by one, got "
                f"{actions.max()}; number them from 0 without gaps"
            )
        self._add_stretches(self.mass.add(propensities))
        self._add_actions(actions, propensities, context_groups(rounds.contexts))
        smallest = propensities.min(axis=1)
        size = np.minimum((-np.log2(smallest)).astype(np.intp), _SIZES - 1)
        self.sizes += np.bincount(size, minlength=_SIZES)
        self.certain += int((smallest == 1).sum())
        self.rewarded += int((rounds.rewards > 0).any(axis=1).sum())
        self.incomplete += int(np.isnan(rounds.rewards).any(axis=1).sum())
        self._add_times(rounds.times)
        if rounds.ids is not None:
            known = [hash(name) for name in rounds.ids if name != ""]
            self._ids.append(np.array(known, dtype=np.int64))

    def _add_stretches(self, mass: Array) -> None:
        last = self.rounds
        while last > self.width * _STRETCHES:
            pairs = self.stretches.reshape(3, -1, 2).sum(axis=2)
            self.stretches = np.concatenate([pairs, np.zeros_like(pairs)], axis=1)
            self.width *= 2
        at = np.arange(last - len(mass), last) // self.width
        for sums, values in zip(self.stretches, (np.ones(len(mass)), mass, mass**2), strict=True):
            sums += np.bincount(at, values, minlength=_STRETCHES)

    def _add_actions(
        self, actions: npt.NDArray[np.int32], propensities: Array, groups: npt.NDArray[np.intp]
    ) -> None:
        more = max(0, int(actions.max()) + 1 - self.n_actions)
        self.weights, self.squares = (
            np.pad(sums, ((0, 0), (0, more))) for sums in (self.weights, self.squares)
        )
        self.shown = np.pad(self.shown, (0, more))
        self.lowest = np.pad(self.lowest, (0, more), constant_values=1.0)
        self.highest = np.pad(self.highest, (0, more))
        self.groups += np.bincount(groups, minlength=GROUPS)
        flat, size = actions.reshape(-1), self.weights.size
        cells = (groups[:, None] * self.n_actions + actions).reshape(-1)
        weights = inverse(propensities).reshape(-1)
        self.weights += np.bincount(cells, weights, minlength=size).reshape(GROUPS, -1)
        self.squares += np.bincount(cells, weights**2, minlength=size).reshape(GROUPS, -1)
        self.shown += np.bincount(flat, minlength=self.n_actions)
        np.minimum.at(self.lowest, flat, propensities.reshape(-1))
        np.maximum.at(self.highest, flat, propensities.reshape(-1))

    def _add_times(self, times: npt.NDArray[np.float64] | None) -> None:
        if times is None:
            return
        known = times[~np.isnan(times)]
        if len(known):
            self.timed += len(known)
            self.backwards += int((np.diff(known, prepend=self._latest) < 0).sum())
            self._latest = float(known[-1])


def context_groups(contexts: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """A group for each context, by a hash: equal contexts have the same, others any."""
    rows = contexts.reshape(len(contexts), int(np.prod(contexts.shape[1:])))
    if rows.dtype == object:
        codes = [zlib.crc32(entry.encode()) for entry in rows.reshape(-1)]
        keys = np.array(codes, dtype=np.uint64).reshape(rows.shape)
    elif rows.dtype.kind == "f":
        keys = (rows.astype(np.float64) + 0.0).view(np.uint64)  # which makes -0.0 the same as 0.0
    else:
        keys = rows.astype(np.int64).view(np.uint64)
    factors = np.random.default_rng(0).integers(1 << 62, size=rows.shape[1], dtype=np.uint64)
    mixed = ((keys ^ (keys >> np.uint64(32))) * (2 * factors + 1)).sum(axis=1, dtype=np.uint64)
    return np.asarray(mixed >> np.uint64(61), dtype=np.intp)
