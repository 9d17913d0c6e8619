"""Rounds out of an Arrow table whose columns a map names: Parquet of others, and data frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.arrow_beside import BesideColumns
from policysieve.formats.arrow_values import as_kind, in_one_piece, kind_of_type, numbers_of
from policysieve.formats.cells import seconds
from policysieve.formats.rules import Fault, Rules
from policysieve.formats.table import keeps_missing
from policysieve.frames import ContextFrame
from policysieve.log import ColumnMap, Layout, Rounds
from policysieve.log.mapping import ITEMS
from policysieve.log.named import Names
from policysieve.naming import number_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowRows", "Slates", "note_large", "note_no_numbers", "row_of", "unknown"]

_ALLOWED = {
    "context": ("numbers", "whole numbers", "text"),
    "action": ("whole numbers", "numbers", "text"),
    "propensity": ("numbers", "whole numbers", "nothing"),
    "reward": ("numbers", "whole numbers", "nothing"),
    "id": ("text", "whole numbers", "nothing"),
    "time": ("times", "numbers", "whole numbers", "text", "nothing"),
    "slate": ("text", "whole numbers"),
    "position": ("whole numbers", "numbers"),
}


_MENDED = {
    ("reward", "text"): '; compare it with what is good, such as frame[name] == "True"',
    ("propensity", "text"): "; make numbers of it, such as frame[name].astype(float)",
}


@dataclass(frozen=True)
class Slates:
    """Rows of a table as rounds.

    Attributes
    ----------
    starts : int array of shape (n,)
        The row with which each begins.
    wrong : int array of shape (n,)
        The row that keeps it from being one, or `starts`.
    why : object array of shape (n,)
        Why it cannot be one, or "".
    items : int array of shape (k, m)
        For each of the other rounds, the rows of its items.
    rounds : Rounds
        Those others.
    """

    starts: npt.NDArray[np.intp]
    wrong: npt.NDArray[np.intp]
    why: npt.NDArray[np.object_]
    items: npt.NDArray[np.intp]
    rounds: Rounds


def row_of(items: npt.NDArray[np.intp], i: int, fault: Fault) -> int:
    """The row of an item of a round; a row may have all items."""
    return int(items[i, fault.item if items.shape[1] > 1 else 0])


class ArrowRows:
    """How tables with a schema are read.

    Parameters
    ----------
    where : str
        What holds the tables, for errors.
    schema : pyarrow.Schema
    columns : ColumnMap
    rules : Rules

    Raises
    ------
    FileFormatError
        If a column holds something that it cannot mean.

    Attributes
    ----------
    named : bool
        Whether actions are names.
    beside : BesideColumns
    """

    def __init__(self, where: str, schema: "pa.Schema", columns: ColumnMap, rules: Rules) -> None:
        self.columns = columns
        self._contexts_only = contexts_only = rules.contexts_only
        self.beside = BesideColumns.mapped(where, schema, columns, rules)
        self._schema = schema
        roles = [("context", name) for name in columns.table if isinstance(columns.context, str)]
        if not contexts_only:
            roles += [(key, name) for key in ITEMS for name in getattr(columns, key)]
        single = ["id", "time", "slate", *["position"] * (not contexts_only)]
        roles += [(key, getattr(columns, key)) for key in single if getattr(columns, key)]
        for key, name in roles:
            kind, type = kind_of_type(schema.field(name).type), schema.field(name).type
            if kind not in _ALLOWED[key]:
                raise FileFormatError(
                    f"{where}: column {name}, the {key}, must hold "
                    f"{' or '.join(what for what in _ALLOWED[key] if what != 'nothing')}, got "
                    f"{type}{_MENDED.get((key, kind), '')}"
                )
        actions = () if contexts_only else columns.action
        kinds = {kind_of_type(schema.field(name).type) for name in actions}
        self.named = "text" in kinds
        if self.named and len(kinds) > 1:
            raise FileFormatError(f"{where}: actions must be names in all columns, or in none")
        if contexts_only:
            self.named = self.beside.named(schema)
        else:
            self.beside.check_like_actions(schema, self.named)

    def layout(self, slate_size: int, names: Names) -> Layout:
        """What all rounds have in common."""
        columns = self.columns
        if isinstance(columns.context, str):
            kind = kind_of_type(self._schema.field(columns.context).type)
            plain = {"text": object, "numbers": np.float64}.get(kind, np.int64)
            dtype: Any = np.dtype(plain)
        else:
            dtype = self._contexts(self._schema.empty_table()).dtype
        layout = Layout(
            (),
            dtype,
            0 if self._contexts_only else slate_size,
            bool(columns.id or columns.slate),
            columns.time is not None,
            action_names=names,
        )
        return self.beside.add_to(layout)

    def read(
        self, table: "pa.Table", slate_size: int, names: Names, *, last: bool = True
    ) -> tuple[Slates, int]:
        """Rounds of a table, and how many of its rows they take.

        All but the last slate, unless this is the `last` table: more of its rows may come.
        """
        starts = self._starts(table)
        ends = np.append(starts[1:], table.num_rows)
        if self.columns.slate is not None and not last:
            starts, ends = starts[:-1], ends[:-1]
        used = int(ends[-1]) if len(ends) else 0
        m = slate_size if self.columns.slate is not None and not self._contexts_only else 1
        whole = table.slice(0, used)
        why, wrong = self._faults(whole, names), starts
        begin, least = why[starts], 0 if self._contexts_only else slate_size
        self.beside.note_faults(begin, whole.take(starts), self._known(names), least)
        why[starts] = np.where(why[starts] == "", begin, why[starts])
        if self.columns.slate is not None:
            why, wrong = self._slate_faults(whole, why, starts, ends, m)
        good = starts[why == ""]
        rows = good[:, None] + np.arange(m)
        if self.columns.position is not None and not self._contexts_only:
            places = as_kind(in_one_piece(table[self.columns.position]), "numbers")[rows]
            rows = np.take_along_axis(rows, np.argsort(places, axis=1, kind="stable"), axis=1)
        return Slates(starts, wrong, why, rows, self._rounds(table, good, rows, names)), used

    def _starts(self, table: "pa.Table") -> npt.NDArray[np.intp]:
        """Rows with which rounds begin."""
        n = table.num_rows
        if self.columns.slate is None:
            return np.arange(n)
        codes = _codes(table[self.columns.slate])
        new = np.ones(n, dtype=np.bool_)
        new[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0)
        return np.flatnonzero(new)

    def _faults(self, table: "pa.Table", names: Names) -> npt.NDArray[np.object_]:
        """Why rows cannot be rounds or items, or ""."""
        rows = np.full(table.num_rows, "", dtype=object)
        columns = self.columns
        known = [("the context", name) for name in columns.table if columns.context == name]
        if not self._contexts_only:
            known += [(f"the {key}", name) for key in ITEMS[:2] for name in getattr(columns, key)]
            known += [("the position", name) for name in (columns.position,) if name]
            self.beside.note_outcomes(rows, table, 1)
            if self.named:
                for name in columns.action:
                    _note_unknown(rows, table[name], name, names or ())
            else:
                for name in columns.action:
                    note_no_numbers(rows, table[name], name)
        if isinstance(columns.context, str):
            note_large(rows, table[columns.context], columns.context)
        if columns.time is not None:
            _note_times(rows, table[columns.time], columns.time)
        known += [("the slate", name) for name in (columns.slate,) if name]
        for what, name in known:
            hint = keeps_missing(name) if what == "the context" else ""
            rows[np.asarray(in_one_piece(table[name]).is_null())] = (
                f"column {name}, {what}, is null{hint}"
            )
        return rows

    def _slate_faults(
        self,
        table: "pa.Table",
        rows: npt.NDArray[np.object_],
        starts: npt.NDArray[np.intp],
        ends: npt.NDArray[np.intp],
        m: int,
    ) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.intp]]:
        """Why slates that begin and end so cannot be rounds of m items, or "", and in which row.

        The `rows` have faults of their own.
        """
        columns = self.columns
        why, wrong = rows[starts].copy(), starts.copy()
        of_round = np.repeat(np.arange(len(starts)), ends - starts)
        for row in np.flatnonzero(rows)[::-1]:
            why[of_round[row]], wrong[of_round[row]] = rows[row], row
        for name in columns.table:
            codes = _codes(table[name])
            for row in np.flatnonzero(codes != codes[starts][of_round])[::-1]:
                values = [table[name][int(at)].as_py() for at in (starts[of_round[row]], row)]
                wrong[of_round[row]] = row
                why[of_round[row]] = (
                    f"the rows of one slate must have one context, {name} is {values[0]!r} in its "
                    f"first row and {values[1]!r} in this one"
                )
        if columns.position is not None and not self._contexts_only:
            places = _codes(table[columns.position])
            pairs = of_round * (int(places.max(initial=0)) + 2) + places
            _, first = np.unique(pairs, return_index=True)
            twice = np.setdiff1d(np.arange(len(rows)), first)
            why[of_round[twice]] = f"column {columns.position} must be different in a slate"
            wrong[of_round[twice]] = twice
        _, first = np.unique(_codes(table[str(columns.slate)])[starts], return_index=True)
        for i in np.setdiff1d(np.flatnonzero(why == ""), first):
            why[i] = (
                "rows of one slate must follow each other, this one was there before; sort them by "
                f"{columns.slate}"
            )
        for i in () if self._contexts_only else np.flatnonzero(ends - starts != m):
            wrong[i] = starts[i]
            why[i] = (
                f"actions must be {m} as in the rounds before, got {ends[i] - starts[i]}; rows of "
                f"one slate must follow each other: sort them by {columns.slate}"
            )
        return why, wrong

    def _contexts(self, table: "pa.Table") -> Any:
        """Contexts of all rows."""
        columns = self.columns
        if isinstance(columns.context, str):
            kind = kind_of_type(table[columns.context].type)
            return as_kind(in_one_piece(table[columns.context]), kind)
        return ContextFrame.from_arrow(table.select(list(columns.table)))

    def _rounds(
        self,
        table: "pa.Table",
        first: npt.NDArray[np.intp],
        rows: npt.NDArray[np.intp],
        names: Names,
    ) -> Rounds:
        columns = self.columns
        firsts = table.take(first)
        ids = columns.id or columns.slate
        times = None if columns.time is None else _times(firsts[columns.time])
        n = len(first)

        def items(key: str) -> npt.NDArray[Any]:
            if self._contexts_only:
                return np.empty((n, 0))
            found = [self._values(table[name], key, names) for name in getattr(columns, key)]
            return np.concatenate([values[rows] for values in found], axis=1)

        return Rounds(
            contexts=self._contexts(firsts),
            actions=items("action").astype(np.int64),
            propensities=items("propensity"),
            rewards=items("reward"),
            ids=None if ids is None else as_kind(in_one_piece(firsts[ids]), "text"),
            times=times,
            action_names=names,
            beside=self.beside.read(
                firsts,
                self._known(names),
                lambda several: np.concatenate(
                    [as_kind(in_one_piece(table[name]), "numbers")[rows] for name in several],
                    axis=1,
                ),
            ),
        )

    def _known(self, names: Names) -> Names:
        """Names by which actions are written; None if they are written as numbers."""
        return names if self.named else None

    def _values(self, column: Any, key: str, names: Names) -> npt.NDArray[Any]:
        """Numbers in a column of all rows; 0 for an action that is null or not known."""
        if key != "action":
            return as_kind(in_one_piece(column), "numbers")
        if self.named:
            return np.maximum(numbers_of(column, names or ()), 0)
        return _as_actions(column)[0]


def _codes(column: Any) -> npt.NDArray[np.int64]:
    """A number for each different value; -1 where it is null."""
    encoded = in_one_piece(column).dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def unknown(what: str, name: str, names: Sequence[str]) -> str:
    """Why something cannot be a name of an action."""
    try:
        return f"{what} is action {number_of(what, name, names)}"
    except InvalidArgumentError as error:
        return str(error)


def _note_unknown(
    why: npt.NDArray[np.object_], column: Any, name: str, names: Sequence[str]
) -> None:
    for row in np.flatnonzero(numbers_of(column, names) < 0).tolist():
        why[row] = unknown(f"column {name}", column[row].as_py() or "", names)


def _as_actions(column: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The whole numbers in a column, and where there are none: 0 stands for those."""
    import pyarrow as pa

    whole = in_one_piece(column)
    if kind_of_type(whole.type) == "whole numbers":
        wide = pa.uint64() if pa.types.is_uint64(whole.type) else pa.int64()
        numbers = np.asarray(whole.cast(wide).fill_null(0).to_numpy(zero_copy_only=False))
        large = numbers > np.iinfo(np.int64).max
    else:
        numbers = as_kind(whole, "numbers")
        large = ~(np.abs(numbers) < 2**53) | (numbers != np.round(numbers))  # or NaN
    return np.where(large, 0, numbers).astype(np.int64), large


def note_no_numbers(why: npt.NDArray[np.object_], column: Any, name: str) -> None:
    """Note where a column of actions has something that is no whole number."""
    for row in np.flatnonzero(_as_actions(column)[1]).tolist():
        why[row] = f"column {name} must be a whole number, got {column[row].as_py()}"


def note_large(why: npt.NDArray[np.object_], column: Any, name: str) -> None:
    """Note where a context of 64 bits without a sign does not fit into those with one."""
    import pyarrow as pa

    values = in_one_piece(column)
    if not pa.types.is_uint64(values.type):
        return
    numbers = np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False))
    for row in np.flatnonzero(numbers > np.iinfo(np.int64).max).tolist():
        why[row] = (
            f"column {name}, the context, must be below 2**63, got {numbers[row]}; if it is an id, "
            "write it as text, or read it as a table of contexts, which holds it: a map with "
            f'context = ["{name}"]'
        )


def _note_times(why: npt.NDArray[np.object_], column: Any, name: str) -> None:
    if kind_of_type(column.type) != "text":
        return
    for row, text in enumerate(in_one_piece(column).to_pylist()):
        try:
            if text:
                seconds(f"column {name}", text)
        except FileFormatError as error:
            why[row] = str(error)


def _times(column: Any) -> npt.NDArray[np.float64]:
    """Seconds since 1970, NaN where there is none."""
    if kind_of_type(column.type) != "text":
        return as_kind(in_one_piece(column), "times")
    texts = in_one_piece(column).to_pylist()
    return np.array([seconds("time", text) if text else np.nan for text in texts], dtype=float)
