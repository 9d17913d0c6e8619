"""Arrays that grow at their end together, and whose earlier lengths stay what they were."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.frames import ContextFrame

__all__ = ["Columns"]

_LEAST_ROOM = 16


class _Room:
    """Memory that columns of several lengths share.

    `free` holds the row from which on it is free, if it is. Whoever pops that owns what lies
    behind: one step, so no two threads can, and no lock that an interrupt might leave locked.
    """

    __slots__ = ("arrays", "free", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.arrays: list[Any] = []
        self.free: dict[int, bool] = {}


class Columns:
    """Arrays of equal length as a value: `plus` returns longer ones and leaves these alone.

    What is added goes into spare room behind the last row, so a row costs amortised constant time.
    A second continuation of the same columns finds that room taken, and copies. An addition that
    is abandoned half-way is never seen.

    Parameters
    ----------
    arrays : arrays of shape (n, ...)
        One of them may be a `ContextFrame`, which grows by itself.

    Attributes
    ----------
    arrays : tuple of arrays of shape (n, ...)
        Views.
    """

    __slots__ = ("_room", "arrays")

    def __init__(self, *arrays: Any) -> None:
        self._room: _Room | None = None  # nothing to spare
        self.arrays: tuple[npt.NDArray[Any], ...] = arrays

    def __len__(self) -> int:
        return len(self.arrays[0])

    def plus(self, *rows: Any) -> "Columns":
        """These rows, and the given ones behind them."""
        old: Any = self.arrays
        room = self._room
        start, end = len(old[0]), len(old[0]) + len(rows[0])
        if start == end:
            return self
        fits, dtypes = room is not None and end <= room.size, []
        for mine, new in zip(old, rows, strict=True):
            dtype = mine.dtype
            if type(mine) is not ContextFrame and new.dtype is not dtype:
                dtype = np.result_type(dtype, new.dtype)
                fits = fits and dtype == mine.dtype
            dtypes.append(dtype)
        if room is None or not (fits and room.free.pop(start, False)):
            room = _Room(max(end, 2 * start, _LEAST_ROOM))
            for mine, new, dtype in zip(old, rows, dtypes, strict=True):
                if type(mine) is ContextFrame:
                    room.arrays.append(mine)  # in its place, and not looked at
                    continue
                larger = np.empty((room.size, *new.shape[1:]), dtype=dtype)
                if start:  # without rows, the shape of a row is not known yet
                    larger[:start] = mine
                room.arrays.append(larger)
        views: list[Any] = []
        longer, added = object.__new__(Columns), slice(start, end)
        for array, mine, new in zip(room.arrays, old, rows, strict=True):
            if type(mine) is ContextFrame:
                views.append(mine.plus(new))
                continue
            array[added] = new
            views.append(array[:end])
        longer._room, longer.arrays = room, tuple(views)
        room.free[end] = True
        return longer

    def __deepcopy__(self, memo: dict[int, Any]) -> "Columns":
        return self  # a value

    def __reduce__(self) -> tuple[type["Columns"], tuple[Any, ...]]:
        return Columns, tuple(array.copy() for array in self.arrays)
