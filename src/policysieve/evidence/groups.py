"""Groups of contexts and of actions that are fixed before the data."""

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.frames import ContextFrame, Contexts

__all__ = [
    "ACTION_GROUPS",
    "CONTEXT_GROUPS",
    "Thresholds",
    "context_codes",
    "context_groups",
    "groups_of",
]

CONTEXT_GROUPS = 8
ACTION_GROUPS = 32  # an action's group is its number modulo this: its own, if there are fewer
_COLUMNS = 16  # of contexts that are looked at, the first ones
_FIRST = 64  # rounds whose medians are the thresholds

Array = npt.NDArray[np.float64]


def context_groups(contexts: Contexts) -> npt.NDArray[np.intp]:
    """A group for each context, by a hash: equal contexts have the same, others any."""
    return groups_of(context_codes(contexts))


def groups_of(codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """The same of codes."""
    return np.asarray(codes >> np.uint64(61), dtype=np.intp)


def context_codes(contexts: Contexts) -> npt.NDArray[np.uint64]:
    """A number of 64 bits for each context, by a hash: the same for equal ones."""
    if isinstance(contexts, ContextFrame):
        contexts = np.array([repr(row) for row in contexts.tolist()], dtype=object)
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
    return np.asarray(mixed, dtype=np.uint64)


class Thresholds:
    """Medians of the columns of the first contexts, to tell large entries of later ones.

    The medians are functions of the past, so in a world that does not change a later entry is above
    with one probability throughout. Contexts that are row numbers or text have no such columns.
    """

    def __init__(self) -> None:
        self.medians: Array | None = None
        self.names: tuple[str, ...] = ()
        self._rows: list[Array] = []

    def above(self, contexts: Contexts) -> Array | None:
        """Where entries of the first columns are above their medians, shape (n, columns).

        NaN in the first rounds, and for missing entries. None if there are no columns of numbers.
        """
        columns = self._columns(contexts)
        if columns is None:
            return None
        start = 0
        if self.medians is None:
            start = min(_FIRST - sum(map(len, self._rows)), len(columns))
            self._rows.append(columns[:start])
            if sum(map(len, self._rows)) < _FIRST:
                return np.full(columns.shape, np.nan)
            first = np.sort(np.concatenate(self._rows), axis=0)  # missing entries come last
            middle = ((~np.isnan(first)).sum(axis=0) - 1) // 2  # of the last one, if all are
            self.medians = first[middle, np.arange(first.shape[1])]
            self._rows = []
        above = np.where(np.isnan(columns), np.nan, columns > self.medians)
        above[:, np.isnan(self.medians)] = np.nan
        above[:start] = np.nan
        return above

    def _columns(self, contexts: Any) -> Array | None:
        if isinstance(contexts, ContextFrame):
            return self._columns_of_frame(contexts)
        width, kind = int(np.prod(contexts.shape[1:])), contexts.dtype.kind
        if not width or kind not in "fiub" or (contexts.ndim == 1 and kind != "f"):
            return None
        columns = contexts.reshape(len(contexts), width)[:, :_COLUMNS]
        self.names = tuple(map(str, range(columns.shape[1])))
        return np.asarray(columns, dtype=np.float64)

    def _columns_of_frame(self, contexts: ContextFrame) -> Array | None:
        import pyarrow as pa

        if contexts.dtype.is_sparse:
            return None
        fields = [
            field.name
            for field in contexts.dtype.schema
            if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        ][:_COLUMNS]
        if not fields:
            return None
        self.names = tuple(map(repr, fields))
        table = contexts.table
        columns = [table[name].cast(pa.float64(), safe=False).to_numpy() for name in fields]
        return np.stack(columns, axis=1)
