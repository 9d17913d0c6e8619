"""How rounds lie in the columns of Parquet files: ours, with a header or not, and plain ones."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import FileFormatError
from policysieve.formats.arrow_beside import BesideColumns, in_lists
from policysieve.formats.arrow_values import (
    is_list,
    kind_of_type,
    numbers_of,
)
from policysieve.formats.parquet_opening import names_in, opened
from policysieve.formats.rules import Rules
from policysieve.formats.table import FRAME_PREFIX
from policysieve.frames import ContextFrame, FrameType
from policysieve.log import Distributions, Layout, Rounds
from policysieve.log.named import Names
from policysieve.naming import as_names
from policysieve.scaling import usual_range

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DISTRIBUTION",
    "ITEMS",
    "KEY",
    "VERSION",
    "WITH_BESIDE",
    "WITH_NAMES",
    "FrameColumns",
    "ListColumns",
    "OwnColumns",
    "ParquetColumns",
    "Part",
    "RowColumns",
    "distribution_columns",
    "distributions",
    "frame_of",
    "has_lists",
    "is_log",
]

KEY = b"policysieve.log"
VERSION, WITH_NAMES = 1, 2  # the second has names of actions or columns, or a range of rewards
WITH_BESIDE = 3  # what was available, who came, other outcomes: who cannot read it must not drop it
_NEEDED = ("actions", "propensities")  # columns that have no nulls
ITEMS = {"actions": None, "propensities": "float64", "rewards": "float64"}  # None: as they are

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


def is_log(schema: "pa.Schema") -> bool:
    """Whether a Parquet file says that it is a log of ours."""
    return KEY in (schema.metadata or {})


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
            why[_has_null(batch[name])] = f"column {name} is null"
        return why

    def _listed_outcomes(self, slate_size: int) -> int:
        """How many outcomes a column lists in each row."""
        return slate_size

    @abstractmethod
    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without faults."""


class OwnColumns(RowColumns):
    """Columns of a file with our header; lists have a fixed size."""

    def __init__(self, path: Path, schema: "pa.Schema", rules: Rules) -> None:
        _check_kinds(path, schema)
        contexts_only, self._limit = rules.contexts_only, rules.max_bytes
        self.beside = BesideColumns.own(path, schema, rules)
        self._file = self._described(path, schema)
        self.beside.check_like_actions(schema, self._file.action_names is not None)
        listed = distribution_columns(path, schema, contexts_only)
        self.needed = [*self._contexts(schema, needed=True), *_NEEDED, *listed]
        self.names = [*self._contexts(schema, needed=False), *_NEEDED, "rewards", *listed]
        self.names += [name for name in ("id", "time") if name in schema.names]
        self.names += self.beside.names
        plain = Layout(
            self._file.context_shape,
            self._file.context_dtype,
            0 if contexts_only else self._file.slate_size,
            "id" in self.names,
            "time" in self.names,
            bool(listed),
            self._file.action_names,
            reward_range=self._file.reward_range,
        )
        self.layout = self.beside.add_to(plain)
        self._note_types(schema)

    def _contexts(self, schema: "pa.Schema", *, needed: bool) -> list[str]:
        """The columns of contexts, or those of them that have no nulls."""
        return ["context"]

    def _described(self, path: Path, schema: "pa.Schema") -> Layout:
        """What the header says."""
        try:
            header = json.loads(schema.metadata[KEY])
            if header["version"] not in (VERSION, WITH_NAMES, WITH_BESIDE):
                raise FileFormatError(
                    f"{path} is a log of version {header['version']!r}, this release reads versions"
                    f" {VERSION} to {WITH_BESIDE}"
                )
            self.beside = self.beside.at_least(_length(header.get("n_actions", 1), 1))
            shape, dtype = self._kind_of_contexts(header, schema)
            names = header.get("action_names")
            layout = Layout(
                shape,
                dtype,
                _length(header["slate_size"], 1),
                action_names=None if names is None else as_names("action_names", names),
                reward_range=usual_range(header.get("reward_range")),
            )
            _check_sizes(layout, schema)
            if (_kind_of_actions(schema) == "text") != (names is not None):
                raise FileFormatError(
                    f"{path}: column actions must hold "
                    f"{'whole numbers' if names is None else 'names'}, got "
                    f"{schema.field('actions').type}"
                )
            return layout
        except FileFormatError:
            raise
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            NotImplementedError,
            RecursionError,
        ) as error:
            raise FileFormatError(
                f"{path} has a damaged header ({error}); write the log again with Log.save or "
                "policysieve convert"
            ) from error

    def _kind_of_contexts(
        self, header: Mapping[str, Any], schema: "pa.Schema"
    ) -> tuple[tuple[int, ...], Any]:
        """Shape and type of one context."""
        np.dtype(str(header["context_dtype"]))  # if it is none, the header is damaged
        shape = tuple(_length(entry, 0) for entry in header["context_shape"])
        return shape, _dtype(schema.field("context").type)

    def _read_contexts(self, batch: "pa.RecordBatch") -> Any:
        """Contexts of prepared rows."""
        values = _of_kind(batch, "context", "biufO")
        return values.reshape(batch.num_rows, *self._file.context_shape)

    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without faults."""
        n, m, shown = batch.num_rows, self._file.slate_size, self.layout.slate_size
        return Rounds(
            contexts=self._read_contexts(batch),
            actions=_actions(batch, self.layout.action_names).reshape(n, m)[:, :shown],
            propensities=_of_kind(batch, "propensities", "biuf")
            .astype(np.float64, copy=False)
            .reshape(n, m)[:, :shown],
            rewards=_with_missing(batch["rewards"], n, m)[:, :shown],
            ids=_values(batch["id"].fill_null("")) if self.layout.has_ids else None,
            times=_values(batch["time"].cast("float64")) if self.layout.has_times else None,
            distributions=distributions(batch, self.layout.action_names)
            if self.layout.has_distributions
            else None,
            action_names=self.layout.action_names,
            beside=self.beside.read(
                batch,
                self.layout.action_names,
                lambda columns: in_lists(batch[columns[0]], n, m),
            ),
        )


class FrameColumns(OwnColumns):
    """Columns of a file with our header whose contexts are rows of a table."""

    def _contexts(self, schema: "pa.Schema", *, needed: bool) -> list[str]:
        return [] if needed else [name for name in schema.names if name.startswith(FRAME_PREFIX)]

    def _kind_of_contexts(
        self, header: Mapping[str, Any], schema: "pa.Schema"
    ) -> tuple[tuple[int, ...], Any]:
        import pyarrow as pa

        kept = {str(key): str(value) for key, value in header["frame"].items()}
        names = self._contexts(schema, needed=False)
        categories, levels, fields = dict(header.get("categories", {})), {}, []
        for name in names:
            field = schema.field(name).with_name(name.removeprefix(FRAME_PREFIX))
            type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if field.name in categories:
                said = categories.pop(field.name)
                levels[field.name] = _levels(said["levels"], type)
                if not isinstance(said["ordered"], bool):
                    raise ValueError(f"{shown(said['ordered'])} for whether there is an order")
                type = pa.dictionary(pa.int32(), type, said["ordered"])
            fields.append(field.with_type(type))
        if categories:
            raise ValueError(f"categories of {shown(next(iter(categories)))}, which is no column")
        return (), FrameType.checked(pa.schema(fields, metadata=kept), levels)

    def _read_contexts(self, batch: "pa.RecordBatch") -> Any:
        columns = [batch[f"{FRAME_PREFIX}{name}"] for name in self._file.context_dtype.schema.names]
        return ContextFrame.restored(columns, self._file.context_dtype)


def _levels(texts: Any, type: "pa.DataType") -> "pa.Array":
    """Categories of a type, out of a header, or ValueError."""
    import pyarrow as pa

    levels = pa.array(texts, pa.string()).cast(type)
    if levels.null_count or len(levels.unique()) < len(levels):
        raise ValueError("categories that are not different")
    return levels


_KINDS = {
    "context": ("numbers", "whole numbers", "text"),
    "actions": ("whole numbers", "text"),
    "propensities": ("numbers", "whole numbers"),
    "rewards": ("numbers", "whole numbers", "nothing"),
    "id": ("text",),
    "time": ("numbers", "whole numbers", "nothing"),
}


def _check_kinds(path: Path, schema: "pa.Schema") -> None:
    """Raise unless the columns that are there hold what they should, in lists or not."""
    for name, allowed in _KINDS.items():
        if name in schema.names:
            type = schema.field(name).type
            inner = type.value_type if is_list(type) and name not in ("id", "time") else type
            if kind_of_type(inner) not in allowed:
                raise FileFormatError(
                    f"{path}: column {name} must hold {' or '.join(allowed)}, got {type}"
                )


def _kind_of_actions(schema: "pa.Schema") -> str:
    """What a column of lists of actions holds."""
    type = schema.field("actions").type
    return kind_of_type(type.value_type if is_list(type) else type)


def has_lists(schema: "pa.Schema") -> bool:
    """Whether the columns of a log are there, with lists of items."""
    there = set(schema.names)
    contexts = "context" in there or any(name.startswith(FRAME_PREFIX) for name in there)
    return contexts and {*_NEEDED, "rewards"} <= there and is_list(schema.field("actions").type)


class ListColumns(OwnColumns):
    """The same columns without our header, as data frames write them.

    All lists are as long as those of the first row.
    """

    def _described(self, path: Path, schema: "pa.Schema") -> Layout:
        """What our header would say."""
        columns = self._contexts(schema, needed=False)
        with opened(path) as file:
            first = next(file.iter_batches(batch_size=1, columns=[*columns, "actions"]))
        row = first.to_pylist()[0]
        if row.get("context", 0) in (None, []) or not row["actions"]:
            raise FileFormatError(f"{path}, row 1: context and actions must not be null or empty")
        if columns == ["context"]:
            kind = schema.field("context").type
            shape = (len(row["context"]),) if is_list(kind) else ()
            dtype: Any = _dtype(kind)
        else:
            shape, dtype = (), self._frame(schema.empty_table()).dtype
        named = _kind_of_actions(schema) == "text"
        columns = [name for name in ("actions", self.beside.available) if name]
        names = names_in(path, schema, columns, self._limit) if named else None
        return Layout(shape, dtype, len(row["actions"]), action_names=names)

    def _contexts(self, schema: "pa.Schema", *, needed: bool) -> list[str]:
        if "context" in schema.names:
            return ["context"]
        return [] if needed else [name for name in schema.names if name.startswith(FRAME_PREFIX)]

    def _read_contexts(self, batch: "pa.RecordBatch") -> Any:
        import pyarrow as pa

        if not self.layout.has_frames:
            return super()._read_contexts(batch)
        return self._frame(pa.Table.from_batches([batch]))

    def _frame(self, table: "pa.Table") -> ContextFrame:
        columns = self._contexts(table.schema, needed=False)
        return frame_of(table, columns)

    def prepared(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows with lists of a fixed size, and a single reward as a list of one."""
        import pyarrow as pa

        batch = super().prepared(batch)
        columns: dict[str, Any] = {name: batch[name] for name in batch.schema.names}
        if self._file.context_shape:
            columns["context"] = _fixed(columns["context"], self._file.context_shape[0], None)
        for name, type in ITEMS.items():
            columns[name] = _fixed(columns[name], self._file.slate_size, type)
        return pa.RecordBatch.from_pydict(columns)


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


def _actions(batch: "pa.RecordBatch", names: Names) -> npt.NDArray[Any]:
    """Numbers of actions, or of their names, in lists; -1 for a name that is none of these."""
    values = batch["actions"].flatten()
    if kind_of_type(values.type) == "text":
        return numbers_of(values, names or ())
    return _of_kind(batch, "actions", "iu")


def frame_of(table: "pa.Table", columns: Sequence[str]) -> ContextFrame:
    """Columns of a table of contexts by their own names, out of a file without our header."""
    plain = [name.removeprefix(FRAME_PREFIX) for name in columns]
    return ContextFrame.from_arrow(table.select(list(columns)).rename_columns(plain))


def _has_null(column: Any) -> npt.NDArray[np.bool_]:
    """Rows that are null, or lists with a null."""
    import pyarrow.compute as pc

    null = np.array(column.is_null(nan_is_null=False))
    if not is_list(column.type) or not column.flatten().null_count:
        return null
    inside = np.asarray(column.flatten().is_null())
    if hasattr(column.type, "list_size"):
        null[~null] = inside.reshape(-1, column.type.list_size).any(axis=1)
    else:
        null[np.asarray(pc.list_parent_indices(column))[inside]] = True
    return null


def _dtype(type: "pa.DataType") -> np.dtype[Any]:
    """Of the numbers or strings in a column, or in its lists."""
    from pyarrow import types

    while is_list(type) or types.is_dictionary(type):
        type = type.value_type
    kind: np.dtype[Any] = np.dtype(type.to_pandas_dtype())
    return kind


def _length(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{shown(value)} is not a size")
    return value


def _check_sizes(layout: Layout, schema: "pa.Schema") -> None:
    """Raise ValueError unless the sizes of a header are those of the columns."""
    wanted = dict.fromkeys(ITEMS, layout.slate_size)
    if not layout.has_frames:
        wanted["context"] = math.prod(layout.context_shape)
    for name, size in wanted.items():
        type = schema.field(name).type
        found = getattr(type, "list_size", size if is_list(type) else 1)
        if size != found:
            raise ValueError(f"column {name} holds {type}, not {shown(size)} values a round")


def _with_missing(column: Any, n: int, m: int) -> npt.NDArray[np.float64]:
    """Lists of m numbers, NaN where a list or a number is null."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    rewards = np.full((n, m), np.nan)
    rewards[present] = _values(column).reshape(-1, m)
    return rewards


def _values(column: Any) -> npt.NDArray[Any]:
    while is_list(column.type):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _of_kind(batch: "pa.RecordBatch", name: str, kinds: str) -> npt.NDArray[Any]:
    """Values of a column that are strings, or of one of numpy's kinds of numbers."""
    values = _values(batch[name])
    strings = values.dtype == object and all(isinstance(entry, str) for entry in values)
    if values.dtype.kind not in kinds or (values.dtype == object and not strings):
        raise ValueError(f"column {name} must not hold {batch[name].type}")
    return values


def _fixed(column: Any, size: int, values: str | None) -> Any:
    import pyarrow as pa

    if not is_list(column.type) and size == 1 and values:
        return pa.FixedSizeListArray.from_arrays(column.cast(values), 1)
    inner = pa.type_for_alias(values) if values else column.type.value_type
    return column.cast(pa.list_(inner, size))
