"""Sums over stretches of a log, from which a change of the world can be told."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policysieve.evidence.change_rates import Rates, ShownSums
from policysieve.evidence.groups import ACTION_GROUPS, CONTEXT_GROUPS, Thresholds
from policysieve.evidence.weights import inverse
from policysieve.log import Rounds

__all__ = ["ChangeSums", "Series", "Watched", "boundaries"]

Array = npt.NDArray[np.float64]

_FIRST_SPLIT = 16  # rounds
_GROWTH = 1.1  # from one possible split to the next
_SHARES = {
    "all": 0.1,
    "action": 0.15,
    "group": 0.05,
    "cell": 0.05,
    "share": 0.15,
    "column": 0.15,
    "rate": 0.1,
    "rates": 0.1,
    "pairs": 0.15,
}
_ROUNDING = 1e-6


def boundaries(rounds: int) -> npt.NDArray[np.int64]:
    """Numbers of rounds after which a change may have come, fixed before the data, up to `rounds`.

    They are 16, 18, 20, ..., each a tenth larger than the one before, rounded up.
    """
    found, last = [], _FIRST_SPLIT
    while last <= rounds:
        found.append(last)
        last = int(np.ceil(last * _GROWTH))
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Watched:
    """A quantity in [0, 1] whose mean stays the same if the world does.

    Attributes
    ----------
    kind : str
        The mean reward of "all" actions, of an "action" (or a group of them), of all in a "group"
        of contexts, or of an action in one, a "cell"; or the "share" of a group of contexts, or of
        contexts whose entry in a "column" is large. Without weights, the "rate" at which what was
        shown is rewarded, those of all actions at once ("rates"), or of all "pairs" of a context
        and an action; `action` and `context` are then those that changed most.
    action, group, column : int or None
        Of which.
    context : str or None
        The same, in words.
    share : float
        Of the capital: evidence about it counts that much.
    """

    kind: str
    share: float
    action: int | None = None
    group: int | None = None
    column: int | None = None
    context: str | None = None

    @property
    def of_rewards(self) -> bool:
        """Whether it is about rewards, and not about contexts."""
        return self.kind not in ("share", "column")


@dataclass(frozen=True)
class Series:
    """Sums of one watched quantity over the stretches between boundaries, each of shape (s,).

    Attributes
    ----------
    rounds : float array
        Rounds that say anything of it.
    earned, earned_squares, missed, missed_squares : float arrays
        Sums of r/W and of (1-r)/W where it was shown, and of their squares.
    most : float array
        Bound on r/W, if the design was fixed up to the end of a stretch; NaN otherwise.
    """

    rounds: Array
    earned: Array
    earned_squares: Array
    missed: Array
    missed_squares: Array
    most: Array


class ChangeSums:
    """Sums over the stretches of a log between `boundaries`, batch by batch.

    Memory grows with the logarithm of the number of rounds. Actions are looked at one by one, or in
    32 groups if there are more.

    Attributes
    ----------
    rounds : int
        Rounds so far.
    """

    def __init__(self, slate_size: int) -> None:
        self.rounds = 0
        self._slate_size, self._thresholds = slate_size, Thresholds()
        self._boundaries = boundaries(1 << 40)
        # Stretches; groups of contexts; e, e^2, m and m^2 of rounds, then of groups of actions.
        self._counts = np.zeros((0, CONTEXT_GROUPS))
        self._whole = np.zeros((4, 0, CONTEXT_GROUPS))
        self._parts = np.zeros((4, 0, CONTEXT_GROUPS, ACTION_GROUPS))
        self._columns: Array | None = None
        self._times = np.zeros(0)
        self._lowest, self._highest = np.zeros((2, 0, ACTION_GROUPS))
        self._missing = np.zeros(0, dtype=bool)
        self._shown = ShownSums()

    @property
    def boundaries(self) -> npt.NDArray[np.int64]:
        """The boundaries with rounds behind them, and the number of rounds so far."""
        return np.append(self._boundaries[self._boundaries < self.rounds], self.rounds)

    def time_after(self, boundary: int) -> float:
        """Time of the first round after a boundary, counted from 0; NaN if it has none."""
        return float(self._times[boundary + 1])

    def add(self, rounds: Rounds, groups: npt.NDArray[np.intp]) -> None:
        """Take in rounds that were checked before, with the groups of their contexts."""
        n = len(rounds)
        if not n:
            return
        at = np.searchsorted(self._boundaries, np.arange(self.rounds, self.rounds + n), "right")
        self._grow(int(at[-1]) + 1)
        cells = at * CONTEXT_GROUPS + groups
        self._counts += _sums(cells, np.ones(n), self._counts.shape)
        weights = inverse(rounds.propensities)
        missing = np.isnan(rounds.rewards)
        self._missing[at[missing.any(axis=1)]] = True
        # A missing reward is neither earned nor missed, as if the item could not be shown.
        earned = np.where(missing, 0.0, rounds.rewards * weights)
        missed = np.where(missing, 0.0, (1 - rounds.rewards) * weights)
        for sums, values in zip(self._whole, _moments(earned, missed, axis=1), strict=True):
            sums += _sums(cells, values, sums.shape)
        self._add_actions(cells, rounds.actions % ACTION_GROUPS, earned, missed)
        shown = at[:, None], rounds.actions % ACTION_GROUPS
        np.minimum.at(self._lowest, shown, rounds.propensities)
        np.maximum.at(self._highest, shown, rounds.propensities)
        self._add_columns(at, self._thresholds.above(rounds.contexts))
        self._shown.add(rounds, at)
        if rounds.times is not None:
            first, where = np.unique(at, return_index=True)
            unknown = np.isnan(self._times[first])
            self._times[first[unknown]] = rounds.times[where[unknown]]
        self.rounds += n

    def _grow(self, stretches: int) -> None:
        more = stretches - len(self._counts)
        if more <= 0:
            return
        self._counts = np.pad(self._counts, ((0, more), (0, 0)))
        self._whole = np.pad(self._whole, ((0, 0), (0, more), (0, 0)))
        self._parts = np.pad(self._parts, ((0, 0), (0, more), (0, 0), (0, 0)))
        self._times = np.pad(self._times, (0, more), constant_values=np.nan)
        self._missing = np.pad(self._missing, (0, more))
        self._lowest = np.pad(self._lowest, ((0, more), (0, 0)), constant_values=1.0)
        self._highest = np.pad(self._highest, ((0, more), (0, 0)))
        if self._columns is not None:
            self._columns = np.pad(self._columns, ((0, 0), (0, more), (0, 0)))

    def _add_actions(
        self, cells: npt.NDArray[np.intp], actions: npt.NDArray[np.int32], *values: Array
    ) -> None:
        """Sums of each group of actions; items of one slate in the same group count together."""
        keys = (np.arange(len(cells))[:, None] * ACTION_GROUPS + actions).reshape(-1)
        earned, missed = (part.reshape(-1) for part in values)
        if actions.shape[1] > 1:
            keys, each = np.unique(keys, return_inverse=True)
            size = (len(keys),)
            earned, missed = (_sums(each, part, size) for part in (earned, missed))
        rows, which = np.divmod(keys, ACTION_GROUPS)
        places = cells[rows] * ACTION_GROUPS + which
        for sums, part in zip(self._parts, _moments(earned, missed), strict=True):
            sums += _sums(places, part, sums.shape)

    def _add_columns(self, at: npt.NDArray[np.intp], above: Array | None) -> None:
        if above is None:
            return
        if self._columns is None:
            self._columns = np.zeros((2, len(self._counts), above.shape[1]))
        for column in range(above.shape[1]):
            known = ~np.isnan(above[:, column])
            n = len(self._counts)
            self._columns[0, :, column] += np.bincount(at[known], minlength=n)
            self._columns[1, :, column] += np.bincount(at[known], above[known, column], minlength=n)

    def name_of_column(self, column: int) -> str:
        """What a column of the contexts is called, with the threshold above which entries count."""
        assert self._thresholds.medians is not None
        return f"{self._thresholds.names[column]} above {self._thresholds.medians[column]:.4g}"

    def fixed(self, n_actions: int) -> tuple[npt.NDArray[np.bool_], Array]:
        """Whether the design was fixed up to the end of each stretch, and the propensities.

        As far as one can see: single actions, each of which had one propensity whenever it was
        shown, and these leave no room for others; and no reward is missing.
        """
        sizes = _sizes(n_actions)
        lowest = np.minimum.accumulate(self._lowest)[:, : len(sizes)]
        highest = np.maximum.accumulate(self._highest)[:, : len(sizes)]
        same = (lowest == highest).all(axis=1) & ~np.logical_or.accumulate(self._missing)
        same &= (np.abs(lowest @ sizes - 1) <= _ROUNDING) & (self._slate_size == 1)
        return same, lowest

    def rates(self, n_actions: int) -> dict[str, tuple[float, Rates]]:
        """What needs no weights, by kind: its share of the capital, and its sums."""
        complete = ~np.logical_or.accumulate(self._missing)
        found = self._shown.rates(n_actions, self.fixed(n_actions)[0], complete)
        return {kind: (_SHARES[kind], rates) for kind, rates in found.items()}

    def rate(self, kind: str, which: int, rates: Rates) -> tuple[Watched, Series]:
        """One of the rates, with its sums."""
        n, s = rates.rounds[which], rates.rewards[which]
        action = context = None
        if kind == "rates":
            action = which
        elif kind == "pairs":
            context, action = self._shown.names[which]
        watched = Watched(kind, _SHARES[kind], action=action, context=context)
        return watched, Series(n, s, s, n - s, n - s, np.ones(len(n)))

    def watched(self, n_actions: int) -> list[tuple[Watched, Series]]:
        """All quantities that are watched, with their sums."""
        sizes = _sizes(n_actions)
        fixed, lowest = self.fixed(n_actions)
        limit = np.where(fixed[:, None], 1 / (sizes * lowest), np.nan)
        whole_limit = np.where(fixed, 1 / (n_actions * lowest.min(axis=1)), np.nan)
        scale = np.array([1.0, 2.0, 1.0, 2.0])
        whole = self._whole / (n_actions**scale)[:, None, None]
        parts = self._parts[..., : len(sizes)] / sizes ** scale[:, None, None, None]
        counts = self._counts.sum(axis=1)

        found = [(Watched("all", _SHARES["all"]), _of(counts, whole.sum(axis=2), whole_limit))]
        for action in range(len(sizes)):
            watched = Watched("action", _SHARES["action"] / len(sizes), action=action)
            sums = parts[..., action].sum(axis=2)
            found.append((watched, _of(counts, sums, limit[:, action])))
        for group in range(CONTEXT_GROUPS):
            here, share = self._counts[:, group], _SHARES["group"] / CONTEXT_GROUPS
            watched = Watched("group", share, group=group)
            found.append((watched, _of(here, whole[..., group], whole_limit)))
            share = _SHARES["cell"] / (CONTEXT_GROUPS * len(sizes))
            for action in range(len(sizes)):
                watched = Watched("cell", share, action=action, group=group)
                found.append((watched, _of(here, parts[..., group, action], limit[:, action])))
            watched = Watched("share", _SHARES["share"] / CONTEXT_GROUPS, group=group)
            found.append((watched, _of_counts(counts, here)))
        if self._columns is not None:
            share = _SHARES["column"] / self._columns.shape[2]
            for column, (known, above) in enumerate(self._columns.transpose(2, 0, 1)):
                found.append((Watched("column", share, column=column), _of_counts(known, above)))
        return found


def _of(rounds: Array, sums: Array, most: Array) -> Series:
    return Series(rounds, sums[0], sums[1], sums[2], sums[3], most)


def _sizes(n_actions: int) -> Array:
    """How many actions are in each of their groups."""
    return np.bincount(np.arange(n_actions) % ACTION_GROUPS).astype(np.float64)


def _of_counts(rounds: Array, count: Array) -> Series:
    """The sums of something that is one or zero."""
    rest = rounds - count
    return Series(rounds, count, count, rest, rest, np.ones(len(rounds)))


def _moments(earned: Array, missed: Array, axis: int | None = None) -> tuple[Array, ...]:
    if axis is not None:
        earned, missed = earned.sum(axis=axis), missed.sum(axis=axis)
    return earned, earned**2, missed, missed**2


def _sums(places: npt.NDArray[np.intp], values: Array, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    return np.asarray(np.bincount(places, values, minlength=size), dtype=np.float64).reshape(shape)
