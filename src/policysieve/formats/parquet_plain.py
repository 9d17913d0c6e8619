"""Parquet with a column for each number or text, as data frames write it: the columns of CSV."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError
from policysieve.formats.arrow_beside import BesideColumns
from policysieve.formats.arrow_rows import note_large, note_no_numbers
from policysieve.formats.arrow_values import as_kind, kind_of_type, numbers_of
from policysieve.formats.parquet_columns import (
    DISTRIBUTION,
    RowColumns,
    distribution_columns,
    distributions,
    frame_of,
)
from policysieve.formats.parquet_opening import names_in
from policysieve.formats.rules import Rules
from policysieve.formats.table import FRAME_PREFIX, understand
from policysieve.log import Layout, Rounds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PlainColumns"]

_INDEX = "__index_level_"  # what pandas calls an index without a name


class PlainColumns(RowColumns):
    """Columns of numbers and strings with the names that CSV has, as data frames write them."""

    def __init__(self, path: Path, schema: "pa.Schema", rules: Rules) -> None:
        contexts_only = rules.contexts_only
        names = [name for name in schema.names if not name.startswith(_INDEX)]
        self._table = table = understand(
            path, names, optional=list(DISTRIBUTION), contexts_only=contexts_only
        )
        listed = distribution_columns(path, schema, contexts_only)
        wanted = {*table.needed, "id", "time"}
        fields = [field for field in schema if field.name in wanted]
        numbered = len(table.items["action"]) if table.items["action"] != ["action"] else 0
        self.beside = BesideColumns.plain(path, schema, rules, numbered)
        self.names = [*(field.name for field in fields), *listed, *self.beside.names]
        kinds = {field.name: kind_of_type(field.type) for field in fields}
        for field in fields:
            if kinds[field.name] not in _allowed(field.name):
                raise FileFormatError(
                    f"{path}: column {field.name} must hold {' or '.join(_allowed(field.name))}, "
                    f"got {field.type}; a row of features is columns x0, x1, ..."
                )
        may_be_null = {*table.items["reward"], *(table.features if table.framed else ())}
        self.needed = [*(name for name in table.needed if name not in may_be_null), *listed]
        actions = table.items["action"]
        named = any(kinds[name] == "text" for name in actions)
        if actions:
            self.beside.check_like_actions(schema, named)
        columns = actions
        if self.beside.named(schema):
            named, columns = True, [*actions, str(self.beside.available)]
        shape, dtype = self._kind_of_contexts(schema, kinds)
        plain = Layout(
            shape,
            dtype,
            len(table.items["action"]),
            "id" in kinds,
            "time" in kinds,
            bool(listed),
            names_in(path, schema, columns, rules.max_bytes) if named else None,
        )
        self.layout = self.beside.add_to(plain)
        self._note_types(schema)

    def _kind_of_contexts(
        self, schema: "pa.Schema", kinds: Mapping[str, str]
    ) -> tuple[tuple[int, ...], Any]:
        """Shape and type of one context."""
        import pyarrow as pa

        features = self._table.features
        if self._table.framed:
            self._context = "frame"
            fields = [schema.field(name) for name in features]
            return (), frame_of(pa.schema(fields).empty_table(), features).dtype
        found = {kinds[name] for name in features or ["context"]}
        self._context = next(kind for kind in ("text", "numbers", "whole numbers") if kind in found)
        dtype = {"text": object, "numbers": np.float64}.get(self._context, np.int64)
        return (len(features),) if features else (), np.dtype(dtype)

    def _read_contexts(self, batch: "pa.RecordBatch") -> Any:
        import pyarrow as pa

        features = self._table.features
        if self._table.framed:
            return frame_of(pa.Table.from_batches([batch]), features)
        if features:
            return np.stack([as_kind(batch[name], self._context) for name in features], axis=1)
        return as_kind(batch["context"], self._context)

    def _listed_outcomes(self, slate_size: int) -> int:
        return 1

    def faults(self, batch: "pa.RecordBatch") -> npt.NDArray[np.object_]:
        """Why prepared rows cannot be rounds, or "" where they can."""
        why = super().faults(batch)
        more = np.full(batch.num_rows, "", dtype=object)
        if self.layout.action_names is None:
            for name in self._table.items["action"]:
                note_no_numbers(more, batch[name], name)
        if self._context == "whole numbers":
            for name in self._table.features or ["context"]:
                note_large(more, batch[name], name)
        return np.where(why == "", more, why)

    def rounds(self, batch: "pa.RecordBatch") -> Rounds:
        """Prepared rows without faults."""

        def stacked(names: list[str], kind: str) -> npt.NDArray[Any]:
            columns = [as_kind(batch[name], kind) for name in names]
            if columns:
                return np.stack(columns, axis=1)
            return np.empty(
                (batch.num_rows, 0), np.int64 if kind == "whole numbers" else np.float64
            )

        items, names = self._table.items, self.layout.action_names
        return Rounds(
            contexts=self._read_contexts(batch),
            actions=stacked(items["action"], "whole numbers")
            if names is None or not items["action"]
            else np.stack([numbers_of(batch[name], names) for name in items["action"]], axis=1),
            propensities=stacked(items["propensity"], "numbers"),
            rewards=stacked(items["reward"], "numbers"),
            ids=as_kind(batch["id"], "text") if self.layout.has_ids else None,
            times=as_kind(batch["time"], "times") if self.layout.has_times else None,
            distributions=distributions(batch, names) if self.layout.has_distributions else None,
            action_names=names,
            beside=self.beside.read(
                batch, names, lambda columns: stacked(list(columns), "numbers")
            ),
        )


def _allowed(name: str) -> tuple[str, ...]:
    if name == "time":
        return ("numbers", "whole numbers", "times")
    if name.startswith(FRAME_PREFIX):
        return ("numbers", "whole numbers", "text", "times", "nothing")
    texts = name in ("context", "id") or name.startswith("action")
    return ("numbers", "whole numbers", *["text"] * texts)
