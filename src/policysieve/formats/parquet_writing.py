"""Rounds as Arrow tables for Parquet files of our own, with a header."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.errors import InvalidArgumentError
from policysieve.formats.beside_names import AVAILABLE, UNIT, outcome_columns
from policysieve.formats.parquet_columns import DISTRIBUTION
from policysieve.formats.parquet_own import ITEMS, KEY, VERSION, WITH_BESIDE, WITH_NAMES
from policysieve.formats.table import FRAME_PREFIX
from policysieve.frames import ContextFrame, Contexts, FrameType
from policysieve.log import Rounds
from policysieve.naming import named

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_table"]

_LONGEST_HEADER = 1 << 25  # Parquet reads 100 MB of such, and Arrow writes it twice


def as_table(rounds: Rounds) -> "pa.Table":
    """An Arrow table of some rounds, with the header in its schema's metadata.

    A missing reward (NaN), an empty id and a time that is NaN become nulls.
    """
    import pyarrow as pa

    contexts, m = rounds.contexts, rounds.actions.shape[1]
    table: dict[str, Any] = {}
    if rounds.ids is not None:
        table["id"] = pa.array([name or None for name in rounds.ids], type=pa.string())
    if rounds.times is not None:
        table["time"] = pa.array(rounds.times, from_pandas=True)
    table |= _context_columns(contexts)
    names = rounds.action_names
    for name in ITEMS:
        values = getattr(rounds, name).reshape(-1)
        if name == "actions" and names is not None:
            items = pa.array(named(values, names), type=pa.string())
        else:
            items = pa.array(values, from_pandas=name == "rewards")
        table[name] = pa.FixedSizeListArray.from_arrays(items, m)
    if rounds.distributions is not None:
        offsets, actions = pa.array(rounds.distributions.offsets), rounds.distributions.actions
        entries = (
            pa.array(actions)
            if names is None
            else pa.array(named(actions, names), type=pa.string()),
            pa.array(rounds.distributions.propensities),
        )
        for name, column in zip(DISTRIBUTION, entries, strict=True):
            table[name] = pa.LargeListArray.from_arrays(offsets, column)
    table |= _beside_columns(rounds)
    header: dict[str, Any] = {"version": VERSION, "slate_size": m}
    if names is not None:
        header |= {"version": WITH_NAMES, "action_names": names}
    if rounds.reward_range is not None:
        header |= {"version": WITH_NAMES, "reward_range": rounds.reward_range}
    if isinstance(contexts, ContextFrame):
        kept = contexts.dtype.schema.metadata.items()
        header |= {"version": WITH_NAMES, "frame": {k.decode(): v.decode() for k, v in kept}}
        header |= {"categories": _categories(contexts.dtype)}
    else:
        header |= {"context_shape": contexts.shape[1:], "context_dtype": contexts.dtype.str}
    if rounds.beside:
        header["version"] = WITH_BESIDE
    if rounds.beside.available is not None:
        header["n_actions"] = rounds.beside.available.n_actions
    text = json.dumps(header)
    if len(text) > _LONGEST_HEADER:
        raise InvalidArgumentError(
            f"contexts must have fewer categories in a file, a header of {len(text):,} characters "
            "could not be read again; make text of columns with so many"
        )
    return pa.table(table).replace_schema_metadata({KEY: text})


def _beside_columns(rounds: Rounds) -> dict[str, Any]:
    """What rounds have beside contexts and items, as columns."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    available, names = rounds.beside.available, rounds.action_names
    if available is not None:
        ends, actions = available.flat()
        entries = pa.array(actions.astype(np.int32))
        if names is not None:
            entries = pa.array(named(actions, names), type=pa.string())
        columns[AVAILABLE] = pa.LargeListArray.from_arrays(pa.array(ends), entries)
    if rounds.beside.units is not None:
        columns[UNIT] = pa.array(rounds.beside.units, type=pa.string())
    for name, values in rounds.beside.outcomes.items():
        flat = pa.array(values.reshape(-1), from_pandas=True)
        (column,) = outcome_columns(name, 0)
        columns[column] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return columns


def _categories(dtype: FrameType) -> dict[str, Any]:
    """Categories of each column that has them, as text, in the order of their codes.

    Parquet keeps the categories of a row group that are text, and of others the values alone.
    """
    import pyarrow as pa

    return {
        name: {
            "levels": levels.cast(pa.string()).to_pylist(),
            "ordered": dtype.schema.field(name).type.ordered,
        }
        for name, levels in dtype.levels.items()
    }


def _context_columns(contexts: Contexts) -> dict[str, Any]:
    """Contexts as one column, or as those of their table, each under a name of its own."""
    import pyarrow as pa

    if isinstance(contexts, ContextFrame):
        table = contexts.table
        return {f"{FRAME_PREFIX}{name}": table[name] for name in table.schema.names}
    flat = contexts.reshape(-1)
    values = pa.array(flat.tolist(), type=pa.string()) if flat.dtype == object else pa.array(flat)
    if contexts.ndim > 1:
        values = pa.FixedSizeListArray.from_arrays(values, int(np.prod(contexts.shape[1:])))
    return {"context": values}
