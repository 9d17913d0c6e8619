"""Sums over stretches of a log, from which a change of the world can be told."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policysieve.evidence.groups import ACTION_GROUPS, CONTEXT_GROUPS, Thresholds
from policysieve.evidence.weights import inverse
from policysieve.log import Rounds

__all__ = ["ChangeSums", "Series", "Watched", "boundaries"]

Array = npt.NDArray[np.float64]

_FIRST_SPLIT = 16  # rounds
_GROWTH = 1.1  # from one possible split to the next
_SHARES = {"all": 0.2, "action": 0.3, "group": 0.1, "cell": 0.1, "share": 0.15, "column": 0.15}
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
        contexts whose entry in a "column" is large.
    action, group, column : int or None
        Of which.
    share : float
        Of the capital: evidence about it counts that much.
    """

    kind: str
    share: float
    action: int | None = None
    group: int | None = None
    column: int | None = None

    @property
    def of_rewards(self) -> bool:
        """Whether it is about rewards, and not about contexts."""
        return self.kind in ("all", "action", "group", "cell")


@dataclass(frozen=True)
class Series:
    """Sums of one watched quantity over the stretches between boundaries, each of shape (s,).

    Attributes
    ----------
    rounds : float array
        Rounds that say anything of it.
    earned, earned_squares, missed, missed_squares : float arrays
        Sums of r/W and of (1-r)/W where it was shown, and of their squares.
    most : float
        Bound on r/W in a design that never changed; NaN if there is none.
    """

    rounds: Array
    earned: Array
    earned_squares: Array
    missed: Array
    missed_squares: Array
    most: float = float("nan")


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
        self._lowest, self._highest = np.ones(ACTION_GROUPS), np.zeros(ACTION_GROUPS)
        self._missing = False

    @property
    def boundaries(self) -> npt.NDArray[np.int64]:
        """Those with rounds behind them, and the number of rounds so far."""
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
        self._missing = self._missing or bool(missing.any())
        # A missing reward is neither earned nor missed, as if the item could not be shown.
        earned = np.where(missing, 0.0, rounds.rewards * weights)
        missed = np.where(missing, 0.0, (1 - rounds.rewards) * weights)
        for sums, values in zip(self._whole, _moments(earned, missed, axis=1), strict=True):
            sums += _sums(cells, values, sums.shape)
        self._add_actions(cells, rounds.actions % ACTION_GROUPS, earned, missed)
        flat = rounds.actions.reshape(-1) % ACTION_GROUPS
        np.minimum.at(self._lowest, flat, rounds.propensities.reshape(-1))
        np.maximum.at(self._highest, flat, rounds.propensities.reshape(-1))
        self._add_columns(at, self._thresholds.above(rounds.contexts))
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
            earned, missed = (np.bincount(each, part) for part in (earned, missed))
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

    def is_fixed(self, n_actions: int) -> bool:
        """Whether single actions had the same propensities in every round, and none is missing.

        As far as one can see: each had one whenever it was shown, and these leave no room.
        """
        sizes = _sizes(n_actions)
        met = self._highest[: len(sizes)] > 0
        same = bool(met.all() and (self._lowest == self._highest)[: len(sizes)].all())
        total = float((sizes * self._lowest[: len(sizes)]).sum())
        return self._slate_size == 1 and not self._missing and same and total >= 1 - _ROUNDING

    def watched(self, n_actions: int) -> list[tuple[Watched, Series]]:
        """All quantities that are watched, with their sums."""
        sizes = _sizes(n_actions)
        fixed = self.is_fixed(n_actions)
        most = 1 / (sizes * self._lowest[: len(sizes)])
        whole_most = float(1 / self._lowest[: len(sizes)].min()) / n_actions
        scale = np.array([1.0, 2.0, 1.0, 2.0])
        whole = self._whole / (n_actions**scale)[:, None, None]
        parts = self._parts[..., : len(sizes)] / sizes ** scale[:, None, None, None]
        counts = self._counts.sum(axis=1)
        limit = [float(one) if fixed else float("nan") for one in (whole_most, *most)]

        found = [(Watched("all", _SHARES["all"]), Series(counts, *whole.sum(axis=2), limit[0]))]
        for action in range(len(sizes)):
            watched = Watched("action", _SHARES["action"] / len(sizes), action=action)
            sums = parts[..., action].sum(axis=2)
            found.append((watched, Series(counts, *sums, limit[1 + action])))
        for group in range(CONTEXT_GROUPS):
            here, share = self._counts[:, group], _SHARES["group"] / CONTEXT_GROUPS
            watched = Watched("group", share, group=group)
            found.append((watched, Series(here, *whole[..., group], limit[0])))
            share = _SHARES["cell"] / (CONTEXT_GROUPS * len(sizes))
            for action in range(len(sizes)):
                watched = Watched("cell", share, action=action, group=group)
                sums = parts[..., group, action]
                found.append((watched, Series(here, *sums, limit[1 + action])))
            watched = Watched("share", _SHARES["share"] / CONTEXT_GROUPS, group=group)
            found.append((watched, _of_counts(counts, here)))
        if self._columns is not None:
            share = _SHARES["column"] / self._columns.shape[2]
            for column, (known, above) in enumerate(self._columns.transpose(2, 0, 1)):
                found.append((Watched("column", share, column=column), _of_counts(known, above)))
        return found


def _sizes(n_actions: int) -> Array:
    """How many actions are in each of their groups."""
    return np.bincount(np.arange(n_actions) % ACTION_GROUPS).astype(np.float64)


def _of_counts(rounds: Array, count: Array) -> Series:
    """Of something that is one or zero."""
    return Series(rounds, count, count, rounds - count, rounds - count, most=1.0)


def _moments(earned: Array, missed: Array, axis: int | None = None) -> tuple[Array, ...]:
    if axis is not None:
        earned, missed = earned.sum(axis=axis), missed.sum(axis=axis)
    return earned, earned**2, missed, missed**2


def _sums(places: npt.NDArray[np.intp], values: Array, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    return np.bincount(places, values, minlength=size).reshape(shape)
