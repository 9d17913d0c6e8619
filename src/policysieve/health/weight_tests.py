"""Sums over the rounds of a log, and the tests of its propensities that they allow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.change_sums import ChangeSums
from policysieve.evidence.groups import CONTEXT_GROUPS, context_codes, groups_of
from policysieve.evidence.weights import Mass, MeanWeights, inverse, mean_weights
from policysieve.health.availability import AvailableSums
from policysieve.health.odd_cells import OddCells
from policysieve.health.returning import Returning
from policysieve.log import Rounds

__all__ = ["LogSums", "WeightTests", "exact_weights"]

Array = npt.NDArray[np.float64]

_FAMILIES = 6  # of tests, each with an equal share of delta; those of actions are of two kinds
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
        Rounds that show what has the propensity 1, and nothing else, although there was more.
    rewarded, incomplete : int
        Rounds that earned anything, rounds with a missing reward.
    backwards, timed : int
        Rounds with an earlier time than the one before, rounds with a time.
    changes : ChangeSums
        Of the stretches between which the world may have changed.
    odd_cells : OddCells
        Of tables of contexts.
    returning : Returning
        Of users who come back.
    available : AvailableSums
        Of what could be shown.
    """

    def __init__(self, slate_size: int) -> None:
        self.mass = Mass(slate_size)
        self.changes = ChangeSums(slate_size)
        self.odd_cells = OddCells()
        self.returning = Returning()
        self.available = AvailableSums()
        self.width = 1
        self.stretches = np.zeros((3, _STRETCHES))
        self.groups = np.zeros(CONTEXT_GROUPS, dtype=np.int64)
        self.weights, self.squares = np.zeros((2, CONTEXT_GROUPS, 0))
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
        available = rounds.beside.available
        largest = int(actions.max()) if available is None else rounds.n_actions - 1
        if largest >= _MOST_ACTIONS:
            raise InvalidArgumentError(
                f"actions must be below {_MOST_ACTIONS:,} to be checked one by one, got "
                f"{largest}; number them from 0 without gaps"
            )
        codes = context_codes(rounds.contexts)
        groups = groups_of(codes)
        self.available.add(rounds, self.rounds, groups)
        self._add_stretches(self.mass.add(propensities, available))
        self._add_actions(actions, propensities, groups, largest + 1)
        first = self.returning.add(rounds.beside.units, codes)
        if first is None or first.all():
            self.changes.add(rounds, groups)
        else:  # others are not independent
            self.changes.add(rounds.where(first), groups[first])
        self.odd_cells.add(rounds.contexts)
        smallest = propensities.min(axis=1)
        size = np.minimum((-np.log2(smallest)).astype(np.intp), _SIZES - 1)
        self.sizes += np.bincount(size, minlength=_SIZES)
        certain = smallest == 1
        if available is not None:  # else there was no choice
            certain &= available.counts > self.mass.slate_size
        self.certain += int(certain.sum())
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
        self,
        actions: npt.NDArray[np.int32],
        propensities: Array,
        groups: npt.NDArray[np.intp],
        n_actions: int,
    ) -> None:
        more = max(0, n_actions - self.n_actions)
        self.weights, self.squares = (
            np.pad(sums, ((0, 0), (0, more))) for sums in (self.weights, self.squares)
        )
        self.shown = np.pad(self.shown, (0, more))
        self.lowest = np.pad(self.lowest, (0, more), constant_values=1.0)
        self.highest = np.pad(self.highest, (0, more))
        self.groups += np.bincount(groups, minlength=CONTEXT_GROUPS)
        flat, size = actions.reshape(-1), self.weights.size
        cells = (groups[:, None] * self.n_actions + actions).reshape(-1)
        weights = inverse(propensities).reshape(-1)
        self.weights += np.bincount(cells, weights, minlength=size).reshape(CONTEXT_GROUPS, -1)
        self.squares += np.bincount(cells, weights**2, minlength=size).reshape(CONTEXT_GROUPS, -1)
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


class WeightTests:
    """Tests of the propensities, of which all hold at once with probability 1 - delta.

    docs/maths.md, "Health of a log". Every mean should be one.

    Attributes
    ----------
    whole, over_time, by_action, by_context : MeanWeights
        Of the log, of its stretches, of each action, and of each action in each group of contexts.
    """

    def __init__(
        self, sums: LogSums, n_actions: int, delta: float, names: Sequence[str] | None = None
    ) -> None:
        self.sums, self.n_actions, self._names = sums, n_actions, names
        self.level = delta / _FAMILIES
        rounds, largest = sums.rounds, sums.mass.largest_weight
        self.whole = sums.mass.mean(n_actions, self.level)
        n, total, square = sums.stretches[:, : -(-rounds // sums.width)]
        total, square = sums.mass.of_all(n, total, square, n_actions)
        self.over_time = mean_weights(
            n,
            total / n_actions,
            square / n_actions**2,
            largest=largest * sums.mass.slate_size / n_actions + sums.available.known,
            delta=self.level,
        )
        never = ((0, 0), (0, n_actions - sums.n_actions))
        weights, squares = np.pad(sums.weights, never), np.pad(sums.squares, never)
        if sums.available.known:  # where an action was not available, its weight counts as 1
            absent = sums.groups[:, None] - sums.available.offered(n_actions)
            weights, squares = weights + absent, squares + absent
        self.shown = np.pad(sums.shown, never[1])
        self.by_action = mean_weights(
            rounds, weights.sum(axis=0), squares.sum(axis=0), largest=largest, delta=self.level
        )
        if self.fixed:
            self.by_action = exact_weights(rounds, self.shown, sums.lowest, delta=self.level)
        self.by_context = mean_weights(
            sums.groups[:, None], weights, squares, largest=largest, delta=self.level
        )

    def name_of(self, action: int) -> str:
        """What an action is called."""
        return str(action) if self._names is None else repr(self._names[action])

    @property
    def fixed(self) -> bool:
        """Whether every action has one propensity, and these leave no room for others.

        They are then the same in every round: others would add up to less than nothing.
        """
        sums = self.sums
        return (
            self.n_actions == sums.n_actions
            and not sums.available.differs
            and bool((sums.lowest == sums.highest).all())
            and float(sums.lowest.sum()) >= sums.mass.slate_size - 1e-6
        )

    @property
    def too_small(self) -> bool:
        """Whether some propensities are too small to be probabilities of being shown."""
        means = (self.whole, self.over_time, self.by_action, self.by_context)
        return any((one.lower > 1).any() for one in means) or self.crowded() is not None

    def crowded(self) -> int | None:
        """The largest k for which more rounds show an item of propensity <= 2^-k than can be.

        Their number is at most binomial with the probability K 2^-k. None if there is no such k.
        """
        from scipy.special import betainc

        sizes, n = self.sums.sizes, self.sums.rounds
        count = sizes[::-1].cumsum()[::-1]
        chance = np.minimum(1.0, self.n_actions * 0.5 ** np.arange(len(sizes)))
        tail = betainc(np.maximum(count, 1), n - count + 1, chance)
        found = np.flatnonzero((count > 0) & (tail <= self.level / len(sizes)))
        return int(found[-1]) if len(found) else None


def exact_weights(
    rounds: int, shown: npt.NDArray[Any], propensities: Array, *, delta: float
) -> MeanWeights:
    """Limits for actions that have had the same propensity in every round: Clopper-Pearson.

    They all hold with probability 1 - delta at a number of rounds fixed in advance.
    """
    from scipy.special import betaincinv

    tail = delta / (2 * len(shown))
    missed = rounds - shown
    lower = np.where(shown > 0, betaincinv(np.maximum(shown, 1), missed + 1, tail), 0.0)
    upper = np.where(missed > 0, betaincinv(shown + 1, np.maximum(missed, 1), 1 - tail), 1.0)
    return MeanWeights(shown / rounds / propensities, lower / propensities, upper / propensities)
