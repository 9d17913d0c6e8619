"""Arrays that grow at their end together, and whose earlier lengths stay what they were."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Columns"]

_LEAST_ROOM = 16


class _Room:
    """Memory that columns of several lengths share.

    `free` holds the row from which on it is free, if it is. Whoever pops that owns what lies
    behind: one step, so no two threads can, and no lock that an interrupt might leave locked.
    """

    __slots__ = ("arrays", "free")

    def __init__(self, arrays: tuple[npt.NDArray[Any], ...], free: int) -> None:
        self.arrays = arrays
        self.free = {free: True}


class Columns:
    """Arrays of equal length as a value: `plus` returns longer ones and leaves these alone.

    What is added goes into spare room behind the last row, so a row costs amortised constant time.
    A second continuation of the same columns finds that room taken, and copies. An addition that
    is abandoned half-way is never seen.

    Parameters
    ----------
    arrays : arrays of shape (n, ...)

    Attributes
    ----------
    arrays : tuple of arrays of shape (n, ...)
        Views.
    """

    __slots__ = ("_room", "arrays")

    def __init__(self, *arrays: npt.NDArray[Any]) -> None:
        self._room = _Room(arrays, len(arrays[0]))
        self.arrays = arrays

    def __len__(self) -> int:
        return len(self.arrays[0])

    def plus(self, *rows: npt.NDArray[Any]) -> "Columns":
        """These rows, and the given ones behind them."""
        start, end, room = len(self.arrays[0]), len(self.arrays[0]) + len(rows[0]), self._room
        if start == end:
            return self
        dtypes = [
            old.dtype if old.dtype == new.dtype else np.result_type(old.dtype, new.dtype)
            for old, new in zip(room.arrays, rows, strict=True)
        ]
        fits = end <= len(room.arrays[0]) and all(
            array.dtype == dtype for array, dtype in zip(room.arrays, dtypes, strict=True)
        )
        if not (fits and room.free.pop(start, False)):
            size = max(end, 2 * start, _LEAST_ROOM)
            larger = tuple(
                np.empty((size, *new.shape[1:]), dtype=dtype)
                for new, dtype in zip(rows, dtypes, strict=True)
            )
            for new, old in zip(larger, self.arrays, strict=True):
                new[:start] = old
            room = _Room(larger, start)
            room.free.clear()
        for array, new in zip(room.arrays, rows, strict=True):
            array[start:end] = new
        longer = object.__new__(Columns)
        longer._room = room
        longer.arrays = tuple([array[:end] for array in room.arrays])
        room.free[end] = True
        return longer

    def __deepcopy__(self, memo: dict[int, Any]) -> "Columns":
        return self  # a value

    def __reduce__(self) -> tuple[type["Columns"], tuple[npt.NDArray[Any], ...]]:
        return Columns, tuple(array.copy() for array in self.arrays)
