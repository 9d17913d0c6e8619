"""Logs from data frames, and data frames from logs."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.arrow_rows import ArrowRows, row_of
from policysieve.formats.arrow_values import in_one_piece
from policysieve.formats.beside_names import AVAILABLE, UNIT, outcome_columns
from policysieve.formats.rules import MISSING, Fault, Rules, check_rounds
from policysieve.formats.table import ITEMS, item_names
from policysieve.frames import ContextFrame
from policysieve.frames.arrow import from_frame
from policysieve.log import ColumnMap, Log
from policysieve.log.named import Names
from policysieve.naming import named

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_arrow", "as_frame", "log_of"]


def log_of(
    frame: Any, columns: ColumnMap, actions: Names, reward_range: tuple[float, float] | None = None
) -> Log:
    """A log of the rows of a data frame; see `Log.from_frame`."""
    import pyarrow as pa

    columns.check_items()
    table = _table(frame, columns.names(contexts_only=False))
    try:
        rows = ArrowRows("frame", table.schema, columns, Rules())
    except FileFormatError as error:
        raise InvalidArgumentError(str(error)) from error
    names = actions
    if rows.named and names is None:
        texts = [in_one_piece(table[name]).to_pylist() for name in columns.action]
        if columns.available is not None:
            texts += [row for row in in_one_piece(table[columns.available]).to_pylist() if row]
        names = tuple(sorted({text for column in texts for text in column if text}))
    m = columns.slate_size
    if columns.slate is not None:
        slates = in_one_piece(table[columns.slate]).to_pylist()
        m = next((i for i, slate in enumerate(slates) if slate != slates[0]), len(slates))
    try:
        found, _ = rows.read(table, max(m, 1), names)
    except pa.ArrowException as error:
        raise InvalidArgumentError(
            f"frame must have numbers of at most 64 bits, texts and truth values ({error})"
        ) from error
    rules = Rules(actions=names, allow_missing=False, reward_range=reward_range)
    checked, faults = check_rounds(found.rounds, rules)
    bad = [(found.wrong[i], found.why[i]) for i in np.flatnonzero(found.why)]
    bad += [(row_of(found.items, i, fault), _of_frame(fault)) for i, fault in faults.items()]
    for row, reason in sorted(bad)[:1]:
        raise InvalidArgumentError(f"frame, row {row}: {reason}")
    return checked.to_log()


def _of_frame(fault: Fault) -> str:
    """A fault in the words of data frames."""
    if fault.reason != MISSING:
        return fault.reason
    return (
        "the reward is missing; if its deadline has passed, count it as 0: frame[name].fillna(0), "
        "or fill_null(0) in polars"
    )


def _table(frame: Any, names: list[str]) -> "pa.Table":
    """The columns of a data frame that are needed, as an Arrow table."""
    import narwhals.stable.v2 as nw

    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InvalidArgumentError(
            f"frame must be a pandas, polars or pyarrow table, got {type(frame).__name__}"
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise InvalidArgumentError(f"frame must have different columns ({error})") from error
    missing = [name for name in names if name not in known.columns]
    if missing:
        raise InvalidArgumentError(
            f"frame must have a column {missing[0]!r}, got {', '.join(map(str, known.columns))}"
        )
    try:
        return from_frame(known.select(names).to_native())
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"frame has columns that no log holds: {error}") from error


def as_arrow(log: Log) -> "pa.Table":
    """A table with a row for each round of a log."""
    import pyarrow as pa

    return pa.table({**_context_columns(log), **_item_columns(log)})


def as_frame(log: Log, library: Literal["pandas", "polars"]) -> Any:
    """The same as a data frame of a library that is installed.

    Contexts that came from such a frame are as they came.
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    contexts: Any = log.contexts
    table = as_arrow(log)
    if not isinstance(contexts, ContextFrame) or contexts.dtype.made_of != library:
        return nw.from_arrow(table, backend=library).to_native()
    items = nw.from_arrow(pa.table(_item_columns(log)), backend=library)
    return nw.concat([nw.from_native(contexts.native()), items], how="horizontal").to_native()


def _item_columns(log: Log) -> "dict[str, pa.Array]":
    """Actions, propensities and rewards as columns, and what else rounds have."""
    import pyarrow as pa

    m = log.slate_size if log.slate_size > 1 else 0
    items: dict[str, Any] = {"action": log.actions}
    if log.action_names is not None:
        items["action"] = named(log.actions, log.action_names)
    items |= {"propensity": log.propensities, "reward": log.rewards}
    columns = {
        name: pa.array(items[kind][:, i])
        for kind in ITEMS
        for i, name in enumerate(item_names(kind, m))
    }
    (rounds,) = log.rounds()
    if log.available is not None:
        columns[AVAILABLE] = pa.array(list(rounds.plain_available()))
    if log.units is not None:
        columns[UNIT] = pa.array(log.units, type=pa.string())
    for outcome, values in log.outcomes.items():
        for i, name in enumerate(outcome_columns(outcome, m)):
            columns[name] = pa.array(values[:, i])
    return columns


def _context_columns(log: Log) -> "dict[str, Any]":
    """The contexts as columns with names, none of which an item has."""
    import pyarrow as pa

    contexts: Any = log.contexts
    if isinstance(contexts, ContextFrame):
        if contexts.dtype.is_sparse:
            raise InvalidArgumentError(
                f"contexts must be rows with names or numbers in a table, got {contexts.dtype}"
            )
        for name in _item_columns(log[:0]):
            if name in contexts.dtype.names:
                raise InvalidArgumentError(
                    f"a column of the contexts must not be called {name!r} in a table of a log; "
                    "rename it"
                )
        return {name: contexts.table[name] for name in contexts.dtype.names}
    if contexts.ndim == 1:
        return {"context": pa.array(contexts)}
    flat = contexts.reshape(len(contexts), -1)
    return {f"x{i}": pa.array(flat[:, i]) for i in range(flat.shape[1])}
