"""The boxes of bins that a few splits can reach, and how splits lead from one to another."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError

__all__ = ["TreeCells", "tree_cells"]

_MAX_ROWS = 1 << 23  # cells that splits lead to, counted as often as they are reached

Ints = npt.NDArray[np.int64]
Bins = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class TreeCells:
    """All cells that at most `depth` splits can reach, those that take fewer splits first.

    Attributes
    ----------
    feature, low, high : integer arrays of shape (n_cells, depth)
        A cell is where the bin of each feature lies in [low, high]; feature -1 stands for none.
    ends : integer array of shape (depth + 1,)
        How many cells at most 0, 1, ... splits reach.
    start : integer array of shape (n_cells + 1,)
        The splits of cell c are those numbered start[c], ..., start[c + 1] - 1.
    left, right, split_feature, split_edge : integer arrays, one entry for each split
        The cells that it leads to; bins up to split_edge go left.
    """

    feature: Bins
    low: Bins
    high: Bins
    ends: Ints
    start: Ints
    left: Ints
    right: Ints
    split_feature: Ints
    split_edge: Ints

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def boxes(self) -> tuple[Bins, Bins, Bins]:
        """Where the cells are, as kernels take it: feature, low, high."""
        return self.feature, self.low, self.high

    @property
    def splits(self) -> tuple[Ints, Ints, Ints, Ints]:
        """How splits lead from cell to cell, as kernels take it: start, left, right, ends."""
        return self.start, self.left, self.right, self.ends


@lru_cache(maxsize=2)
def tree_cells(n_bins: tuple[int, ...], depth: int) -> TreeCells:
    """List the cells for features with so many bins each.

    A cell is written as the sorted numbers of its intervals (feature, low, high), 0 for none, and
    these as one number, so that cells reached in different ways are found to be the same.
    """
    intervals = _Intervals(n_bins)
    base = len(intervals.feature)
    powers = base ** np.arange(depth, dtype=np.int64)
    known = np.zeros((1, depth), dtype=np.int64)
    codes = np.zeros(1, dtype=np.int64)
    ends, splits = [1], []
    frontier = np.zeros(1, dtype=np.int64)
    for _ in range(depth):
        rows = len(frontier) * 2 * (sum(n_bins) - len(n_bins))
        if rows > _MAX_ROWS:
            raise InvalidArgumentError(
                f"depth and bins give too many cells: {rows:,} are looked at, more than "
                f"{_MAX_ROWS:,}; take fewer bins, fewer features or less depth"
            )
        found = [intervals.split(known[frontier], f, t) for f, t in intervals.edges]
        parent, side_left, side_right, feature, edge = (
            np.concatenate(column) for column in zip(*found, strict=True)
        )
        code_left, code_right = side_left @ powers, side_right @ powers
        everyone = np.concatenate([code_left, code_right])
        fresh, first = np.unique(everyone, return_index=True)
        new = ~np.isin(fresh, codes)
        known = np.concatenate([known, np.concatenate([side_left, side_right])[first[new]]])
        codes = np.concatenate([codes, fresh[new]])
        splits.append((frontier[parent], code_left, code_right, feature, edge))
        frontier = np.arange(ends[-1], len(codes))
        ends.append(len(codes))
    order = np.argsort(codes)
    places = [np.concatenate(column) for column in zip(*splits, strict=True)]
    by_cell = np.argsort(places[0], kind="stable")
    cell, code_left, code_right, feature, edge = (column[by_cell] for column in places)
    left, right = (
        order[np.searchsorted(codes, code, sorter=order)] for code in (code_left, code_right)
    )
    counts = np.bincount(cell, minlength=len(codes))
    known = -np.sort(-known, axis=1)  # no interval comes last
    return TreeCells(
        feature=intervals.feature[known].astype(np.int16),
        low=intervals.low[known].astype(np.int16),
        high=intervals.high[known].astype(np.int16),
        ends=np.array(ends, dtype=np.int64),
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        left=left,
        right=right,
        split_feature=feature,
        split_edge=edge,
    )


class _Intervals:
    """All intervals of bins of all features, numbered from 1; 0 is no interval at all."""

    def __init__(self, n_bins: tuple[int, ...]) -> None:
        every = [(-1, 0, 0)]
        self.edges: list[tuple[int, int]] = []
        self._number: list[Ints] = []
        self._last = [n - 1 for n in n_bins]
        for f, n in enumerate(n_bins):
            number = np.zeros((n, n), dtype=np.int64)
            for low in range(n):
                for high in range(low, n):
                    if high - low < n - 1:
                        number[low, high] = len(every)
                        every.append((f, low, high))
            self._number.append(number)
            self.edges += [(f, t) for t in range(n - 1)]
        self.feature, self.low, self.high = np.array(every, dtype=np.int64).T

    def split(self, cells: Ints, f: int, t: int) -> tuple[Ints, ...]:
        """Cut the cells that bins <= t of feature f cuts: rows, left, right, and f and t again."""
        mine = self.feature[cells] == f
        has = mine.any(axis=1)
        slot = np.where(has, mine.argmax(axis=1), 0)
        interval = np.where(has, np.take_along_axis(cells, slot[:, None], axis=1)[:, 0], 0)
        low = np.where(has, self.low[interval], 0)
        high = np.where(has, self.high[interval], self._last[f])
        rows = np.flatnonzero((low <= t) & (t < high))
        rest = np.where(mine, 0, cells)[rows]
        sides = []
        for numbers in (self._number[f][low[rows], t], self._number[f][t + 1, high[rows]]):
            side = np.sort(rest, axis=1)
            side[:, 0] = numbers  # a cell that may be cut has a free place
            sides.append(np.sort(side, axis=1))
        return rows, sides[0], sides[1], np.full(len(rows), f), np.full(len(rows), t)
