"""Columns of Parquet files and the rounds in them, whoever wrote the file."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError
from policysieve.formats.arrow_beside import BesideColumns
from policysieve.formats.arrow_values import (
    is_list,
    kind_of_type,
    numbers_of,
)
from policysieve.formats.parquet_arrays import (
    has_null,
    of_kind,
)
from policysieve.formats.table import FRAME_PREFIX
from policysieve.frames import ContextFrame
from policysieve.log import Distributions, Layout, Rounds
from policysieve.log.named import Names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DISTRIBUTION",
    "ParquetColumns",
    "Part",
    "RowColumns",
    "action_numbers",
    "distribution_columns",
    "distributions",
    "frame_of",
    "unpacked",
    "unpacked_size",
]

DISTRIBUTION = {"distribution_actions": "int64", "distribution_propensities": "float64"}


def unpacked_size(rows: "pa.RecordBatch") -> int:
    """Bytes that rows take when each text is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = 0
    for column in rows.columns:
        size += column.nbytes
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64())
            size += pc.sum(lengths.take(column.indices)).as_py() or 0
    return size


def unpacked(rows: "pa.RecordBatch") -> "pa.RecordBatch":
    """Rows with each text written out."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        packed = pa.types.is_dictionary(column.type)
        columns[name] = column.dictionary_decode() if packed else column
    return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class Part:
    """Some rows of a file as rounds.

    Attributes
    ----------
    rows : pyarrow.RecordBatch or pyarrow.Table
    wrong : int array of shape (n,)
        The row that keeps each round from being one, or with which it begins.
    why : object array of shape (n,)
        Why it cannot be one, or "".
    items : int array of shape (k, m) or (k, 1)
        For each of the other rounds, the rows of its items, or the one row that has them all.
    rounds : Rounds
        Those others.
    slates : list, optional
        What says of which slate the rows of each of the n rounds are, where rows are items.
    """

    rows: "pa.RecordBatch | pa.Table"
    wrong: npt.NDArray[np.intp]
    why: npt.NDArray[np.object_]
    items: npt.NDArray[np.intp]
    rounds: Rounds
    slates: Sequence[Any] = ()

    def without(self, refused: Mapping[int, str]) -> "Part":
        """The same, but for some rounds that cannot be any for other reasons."""
        if not refused:
            return self
        good = np.array([i not in refused for i in np.flatnonzero(self.why == "")], dtype=bool)
        why = self.why.copy()
        why[list(refused)] = list(refused.values())
        return replace(self, why=why, items=self.items[good], rounds=self.rounds.where(good))


class ParquetColumns(ABC):
    """Columns of one file, and the rounds in them.

    Attributes
    ----------
    names, texts, text_lists : list of str
        Columns that are read, and those of them that are single texts, or lists of texts.
    layout : Layout
    beside : BesideColumns
    any_length : bool
        Whether there are lists whose length is not fixed by their type.
    rows_per_round : int
    by_round : bool
        Whether every row is a round.
    """

    names: list[str]
    texts: list[str]
    text_lists: list[str]
    layout: Layout
    beside: BesideColumns
    any_length: bool
    rows_per_round: int = 1
    by_round: bool = True

    @property
    def numbered(self) -> bool:
        """Whether the file has numbers of actions, not names."""
        return self.layout.action_names is None

    @abstractmethod
    def parts(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Part]:
        """What batches of rows hold, in order."""

    def _note_types(self, schema: "pa.Schema") -> None:
        """Find the columns that may be larger in memory than the file says."""
        types = {name: schema.field(name).type for name in self.names}
        self.texts = [name for name, type in types.items() if kind_of_type(type) == "text"]
        lists = {name: type for name, type in types.items() if is_list(type)}
        self.text_lists = [name for name in lists if kind_of_type(lists[name].value_type) == "text"]
        self.any_length = not all(hasattr(type, "list_size") for type in lists.values())


class RowColumns(ParquetColumns):
    """Columns of a file in which every row is a round; those that are `needed` have no nulls."""

    needed: list[str]

    def parts(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Part]:
        """What batches of rows hold, in order."""
        for batch in batches:
            rows = self.prepared(unpacked(batch))
            why = self.faults(rows)
            whole = rows.filter(why == "") if why.any() else rows
            every = np.arange(rows.num_rows)
            yield Part(rows, every, why, every[why == "", None], self.rounds(whole))

    def prepared(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows with lists of a fixed size, but for those of distributions, which vary."""
        import pyarrow as pa

        if not self.layout.has_distributions:
            return batch
        columns: dict[str, Any] = {name: batch[name] for name in batch.schema.names}
        for name, type in DISTRIBUTION.items():
            texts = name == "distribution_actions" and self.layout.action_names is not None
            inner = pa.string() if texts else pa.type_for_alias(type)
            columns[name] = columns[name].cast(pa.large_list(inner))
        return pa.RecordBatch.from_pydict(columns)

    def faults(self, batch: "pa.RecordBatch") -> npt.NDArray[np.object_]:
        """Why prepared rows cannot be rounds, or "" where they can."""
        why = np.full(batch.num_rows, "", dtype=object)
        if self.layout.has_distributions:
            actions, propensities = (
                np.asarray(batch[name].value_lengths().fill_null(0)) for name in DISTRIBUTION
            )
            why[actions != propensities] = (
                f"columns {' and '.join(DISTRIBUTION)} must have equally long lists"
            )
        m = self.layout.slate_size
        self.beside.note_faults(why, batch, self.layout.action_names, m)
        self.beside.note_outcomes(why, batch, self._listed_outcomes(m))
        for name in reversed(self.needed):
            why[has_null(batch[name])] = f"column {name} is null"
        return why

    def _listed_outcomes(self, slate_size: int) -> int:
        """How many outcomes a column lists in each row."""
        return slate_size

    @abstractmethod
    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without faults."""


def distribution_columns(path: Path, schema: "pa.Schema", contexts_only: bool) -> list[str]:
    """The columns of full distributions, if they are to be read and the file has them."""
    found = [name for name in DISTRIBUTION if name in schema.names and not contexts_only]
    if len(found) == 1:
        raise FileFormatError(
            f"{path} must have both columns {' and '.join(DISTRIBUTION)} or neither, got "
            f"{found[0]} alone"
        )
    return found


def distributions(batch: "pa.RecordBatch", names: Names) -> Distributions:
    """The lists of prepared rows without faults, as they are."""
    actions, propensities = (batch[name] for name in DISTRIBUTION)
    ends, listed = np.asarray(actions.offsets), actions.flatten()
    numbers = np.asarray(listed)
    if kind_of_type(listed.type) == "text":
        numbers = numbers_of(listed, names or ())
    return Distributions.trusted(ends - ends[0], numbers, np.asarray(propensities.flatten()))


def action_numbers(batch: "pa.RecordBatch", names: Names) -> npt.NDArray[Any]:
    """Numbers of actions, or of their names, in lists; -1 for a name that is none of these."""
    values = batch["actions"].flatten()
    if kind_of_type(values.type) == "text":
        return numbers_of(values, names or ())
    return of_kind(batch, "actions", "iu")


def frame_of(table: "pa.Table", columns: Sequence[str]) -> ContextFrame:
    """Columns of a table of contexts by their own names, out of a file without our header."""
    plain = [name.removeprefix(FRAME_PREFIX) for name in columns]
    return ContextFrame.from_arrow(table.select(list(columns)).rename_columns(plain))
