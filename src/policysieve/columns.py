"""Arrays that grow at their end, and whose earlier lengths stay what they were."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Column"]

_LEAST_ROOM = 16


class _Room:
    """Memory that columns of several lengths share: rows before `used` belong to one of them."""

    __slots__ = ("array", "used")

    def __init__(self, array: npt.NDArray[Any], used: int) -> None:
        self.array = array
        self.used = used


class Column:
    """A value that can be continued: `plus` returns a longer column and leaves this one alone.

    What is added goes into spare room behind the last row, so a row costs amortised constant time.
    A second continuation of the same column finds that room taken, and copies. An addition that
    is abandoned half-way is never seen.

    Parameters
    ----------
    values : array of shape (n, ...)
    """

    __slots__ = ("_length", "_room")

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._room = _Room(values, len(values))
        self._length = len(values)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The rows, shape (n, ...); a view."""
        return self._room.array[: self._length]

    def __len__(self) -> int:
        return self._length

    def plus(self, rows: npt.NDArray[Any]) -> "Column":
        """These rows, and the given ones behind them."""
        if not len(rows):
            return self
        start, end, room = self._length, self._length + len(rows), self._room
        dtype = room.array.dtype
        if rows.dtype != dtype:
            dtype = np.result_type(dtype, rows.dtype)
        if room.used != start or end > len(room.array) or dtype != room.array.dtype:
            array = np.empty((max(end, 2 * start, _LEAST_ROOM), *rows.shape[1:]), dtype=dtype)
            array[:start] = self.values
            room = _Room(array, start)
        room.array[start:end] = rows
        room.used = end
        longer = object.__new__(Column)
        longer._room, longer._length = room, end
        return longer

    def __deepcopy__(self, memo: dict[int, Any]) -> "Column":
        return self  # a value

    def __reduce__(self) -> tuple[type["Column"], tuple[npt.NDArray[Any]]]:
        return Column, (self.values.copy(),)
