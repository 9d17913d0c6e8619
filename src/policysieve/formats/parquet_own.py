"""Columns of Parquet files that are ours, with a header or without it."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import FileFormatError
from policysieve.formats.arrow_beside import BesideColumns, in_lists
from policysieve.formats.arrow_values import is_list, kind_of_type
from policysieve.formats.parquet_arrays import (
    dtype_of,
    fixed_lists,
    of_kind,
    values_of,
    with_missing,
)
from policysieve.formats.parquet_columns import (
    RowColumns,
    action_numbers,
    distribution_columns,
    distributions,
    frame_of,
)
from policysieve.formats.parquet_opening import names_in, opened
from policysieve.formats.rules import Rules
from policysieve.formats.table import FRAME_PREFIX
from policysieve.frames import ContextFrame, FrameType
from policysieve.log import Layout, Rounds
from policysieve.naming import as_names
from policysieve.scaling import usual_range

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ITEMS",
    "KEY",
    "VERSION",
    "WITH_BESIDE",
    "WITH_NAMES",
    "FrameColumns",
    "ListColumns",
    "OwnColumns",
    "has_lists",
    "is_log",
]

KEY = b"policysieve.log"
VERSION, WITH_NAMES = 1, 2  # the second has names of actions or columns, or a range of rewards
WITH_BESIDE = 3  # what was available, who came, other outcomes: who cannot read it must not drop it
_NEEDED = ("actions", "propensities")  # columns that have no nulls
ITEMS = {"actions": None, "propensities": "float64", "rewards": "float64"}  # None: as they are


def is_log(schema: "pa.Schema") -> bool:
    """Whether a Parquet file says that it is a log of ours."""
    return KEY in (schema.metadata or {})


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
        return shape, dtype_of(schema.field("context").type)

    def _read_contexts(self, batch: "pa.RecordBatch") -> Any:
        """Contexts of prepared rows."""
        values = of_kind(batch, "context", "biufO")
        return values.reshape(batch.num_rows, *self._file.context_shape)

    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without faults."""
        n, m, shown = batch.num_rows, self._file.slate_size, self.layout.slate_size
        return Rounds(
            contexts=self._read_contexts(batch),
            actions=action_numbers(batch, self.layout.action_names).reshape(n, m)[:, :shown],
            propensities=of_kind(batch, "propensities", "biuf")
            .astype(np.float64, copy=False)
            .reshape(n, m)[:, :shown],
            rewards=with_missing(batch["rewards"], n, m)[:, :shown],
            ids=values_of(batch["id"].fill_null("")) if self.layout.has_ids else None,
            times=values_of(batch["time"].cast("float64")) if self.layout.has_times else None,
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
            dtype: Any = dtype_of(kind)
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
            columns["context"] = fixed_lists(columns["context"], self._file.context_shape[0], None)
        for name, type in ITEMS.items():
            columns[name] = fixed_lists(columns[name], self._file.slate_size, type)
        return pa.RecordBatch.from_pydict(columns)


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
