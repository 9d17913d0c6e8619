"""Arrow columns beside contexts and items: what was available, who came, other outcomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import FileFormatError
from policysieve.formats.arrow_values import (
    as_kind,
    in_one_piece,
    is_list,
    kind_of_type,
    numbers_of,
)
from policysieve.formats.beside_names import AVAILABLE, OUTCOME, UNIT, outcomes_in
from policysieve.formats.rules import Rules, too_large
from policysieve.log import Beside, ColumnMap, Layout
from policysieve.log.named import Names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BesideColumns", "in_lists"]

_BYTES = 1 << 26  # of the bits of what is available, in a batch


@dataclass(frozen=True, kw_only=True)
class BesideColumns:
    """The columns of a table that hold what rounds have beside contexts and items.

    Attributes
    ----------
    where : str
        What holds the table, for errors.
    rules : Rules
    available, unit : str or None
    outcomes : dict of str to sequence of str
        For each outcome a column of each item, or one with lists of all.
    n_actions : int
        At least so many actions are told apart.
    """

    where: str
    rules: Rules
    available: str | None = None
    unit: str | None = None
    outcomes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    n_actions: int = 1

    @classmethod
    def own(cls, path: object, schema: "pa.Schema", rules: Rules) -> "BesideColumns":
        """Columns by our own names, with lists of outcomes."""
        names = () if rules.contexts_only else schema.names
        found = [match for match in map(OUTCOME.fullmatch, names) if match and not match[1]]
        return cls._of(path, schema, rules, {match[2]: [match[0]] for match in found})

    @classmethod
    def plain(
        cls, path: object, schema: "pa.Schema", rules: Rules, numbered: int
    ) -> "BesideColumns":
        """Columns by our own names, with a column of an outcome for each item."""
        found = {} if rules.contexts_only else outcomes_in(path, schema.names, numbered)
        return cls._of(path, schema, rules, found)

    @classmethod
    def _of(
        cls, path: object, schema: "pa.Schema", rules: Rules, outcomes: dict[str, list[str]]
    ) -> "BesideColumns":
        return cls(
            where=str(path),
            rules=rules,
            available=AVAILABLE if AVAILABLE in schema.names else None,
            unit=UNIT if UNIT in schema.names else None,
            outcomes=outcomes,
        ).checked(schema)

    @classmethod
    def mapped(
        cls, where: str, schema: "pa.Schema", columns: ColumnMap, rules: Rules
    ) -> "BesideColumns":
        """Columns that a map names."""
        return cls(
            where=where,
            rules=rules,
            available=columns.available,
            unit=columns.unit,
            outcomes={} if rules.contexts_only else columns.outcome,
        ).checked(schema)

    @property
    def names(self) -> list[str]:
        """All of them."""
        single = [name for name in (self.available, self.unit) if name is not None]
        return [*single, *(name for several in self.outcomes.values() for name in several)]

    def at_least(self, n_actions: int) -> "BesideColumns":
        """The same where so many actions are told apart, whatever is available."""
        return replace(self, n_actions=n_actions)

    def checked(self, schema: "pa.Schema") -> "BesideColumns":
        """The same if columns hold what they should, else raise."""
        numbers = ("numbers", "whole numbers", "nothing")
        found: list[tuple[str, tuple[str, ...], bool]] = []
        if self.unit is not None:
            found.append((self.unit, ("text", "whole numbers"), False))
        if self.available is not None:
            found.append((self.available, ("text", "whole numbers"), True))
        found += [(name, numbers, False) for several in self.outcomes.values() for name in several]
        for name, allowed, lists in found:
            type = schema.field(name).type
            inner = type.value_type if is_list(type) and name != self.unit else type
            if kind_of_type(inner) not in allowed or (lists and not is_list(type)):
                what = " or ".join(kind for kind in allowed if kind != "nothing")
                raise FileFormatError(
                    f"{self.where}: column {name} must hold {'lists of ' * lists}{what}, got {type}"
                    f"{_advice(name, kind_of_type(inner), lists=lists, unit=name == self.unit)}"
                )
        return self

    def named(self, schema: "pa.Schema") -> bool:
        """Whether what is available has names."""
        if self.available is None:
            return False
        return kind_of_type(schema.field(self.available).type.value_type) == "text"

    def check_like_actions(self, schema: "pa.Schema", named: bool) -> None:
        """Raise unless what is available has names if shown actions have them, else numbers."""
        if self.available is not None and self.named(schema) != named:
            raise FileFormatError(
                f"{self.where}: column {self.available} must hold lists of "
                f"{'names' if named else 'whole numbers'} like the actions, got "
                f"{schema.field(self.available).type}"
            )

    def add_to(self, layout: Layout) -> Layout:
        """A layout with these columns."""
        return replace(
            layout,
            has_available=self.available is not None,
            has_units=self.unit is not None,
            outcomes=tuple(self.outcomes),
        )

    def most_rows(self, names: Names) -> int:
        """How many rounds may be read at once."""
        if self.available is None:
            return 1 << 62
        size = -(-max(self.n_actions, len(names or ())) // 8)
        return max(1, min(_BYTES, self.rules.max_bytes) // size)

    def note_faults(
        self, why: npt.NDArray[np.object_], rows: Any, names: Names, slate_size: int
    ) -> None:
        """Note why rows, with each of which a round begins, cannot have what they say."""
        if self.unit is not None:
            empty = as_kind(in_one_piece(rows[self.unit]), "text") == ""
            why[empty] = (
                f"column {self.unit} must name the user or session, got nothing; a round whose "
                "user is not known needs a name of its own"
            )
        if self.available is not None:
            self._note_available(why, rows[self.available], names, max(1, slate_size))

    def note_outcomes(self, why: npt.NDArray[np.object_], rows: Any, slate_size: int) -> None:
        """Note where outcomes are not finite, or not one for each item."""
        for name in (name for several in self.outcomes.values() for name in several):
            column = in_one_piece(rows[name])
            if is_list(column.type):
                lengths = np.asarray(column.value_lengths().fill_null(slate_size))
                why[lengths != slate_size] = (
                    f"column {name} must have lists of {slate_size}, one entry for each item shown"
                )
                parents, values = _flat(column)
                why[parents[np.isinf(as_kind(values, "numbers"))]] = f"column {name} must be finite"
            else:
                why[np.isinf(as_kind(column, "numbers"))] = f"column {name} must be finite"

    def _note_available(
        self, why: npt.NDArray[np.object_], column: Any, names: Names, least: int
    ) -> None:
        lists = in_one_piece(column)
        lengths = np.asarray(lists.value_lengths().fill_null(0))
        for row in np.flatnonzero(lengths < least):
            why[row] = (
                f"column {self.available} must list at least {least} action{'s' * (least > 1)} to "
                f"show, got {lengths[row]}; list all if all were available"
            )
        parents, values = _flat(lists)
        why[parents[np.asarray(values.is_null())]] = f"column {self.available} has a null in a list"
        known = values.fill_null("") if names is not None and len(values) else values
        if names is not None:
            numbers, limit = numbers_of(known, names), len(names) - 1
        else:
            numbers, limit = _whole(values), self.rules.largest_action
        rule = f"a number from 0 to {limit}" if names is None else "one of the names of actions"
        for at in np.flatnonzero((numbers < 0) | (numbers > limit)):
            if why[parents[at]] == "":
                got = values[int(at)].as_py()
                why[parents[at]] = (
                    f"an action in column {self.available} must be {rule}, got {got!r}"
                )

    def read(self, rows: Any, names: Names, outcome: Callable[[Sequence[str]], Any]) -> Beside:
        """What rounds without faults have, each of which begins with one of the rows.

        An `outcome` is found from its columns, shape (n, m).
        """
        available = units = None
        if self.available is not None:
            lists = in_one_piece(rows[self.available])
            ends = np.append([0], np.cumsum(np.asarray(lists.value_lengths()), dtype=np.int64))
            _, values = _flat(lists)
            numbers = _whole(values) if names is None else numbers_of(values, names)
            width = self.n_actions if names is None else len(names)
            width = max(width, int(numbers.max(initial=-1)) + 1)
            size, limit = (len(ends) - 1) * -(-width // 8), self.rules.max_bytes
            if size > limit:
                what = "what is available in rounds read at once is too long"
                raise too_large(self.where, what, size, limit)
            available = Available.of_lists(ends, numbers, width)
        if self.unit is not None:
            units = as_kind(in_one_piece(rows[self.unit]), "text").astype(object)
        found = {name: outcome(columns) for name, columns in self.outcomes.items()}
        return Beside(available, units, found)


def in_lists(column: Any, n: int, slate_size: int) -> npt.NDArray[np.float64]:
    """Numbers in lists of m, or single ones, as an array of shape (n, m); NaN for null."""
    values = np.full((n, slate_size), np.nan)
    if not is_list(column.type):
        values[:, 0] = as_kind(column, "numbers")
        return values
    present = np.asarray(column.is_valid())
    values[present] = as_kind(_flat(column)[1], "numbers").reshape(-1, slate_size)
    return values


def _flat(lists: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """For each entry the row of its list, and the entries themselves."""
    import pyarrow as pa
    import pyarrow.compute as pc

    large = lists.cast(pa.large_list(lists.type.value_type))
    parents = np.asarray(pc.list_parent_indices(large), dtype=np.int64)
    return parents, in_one_piece(large.flatten())


def _whole(values: Any) -> npt.NDArray[np.int64]:
    """Whole numbers; -1 where one is null or beyond 63 bits."""
    import pyarrow as pa

    wide = pa.uint64() if pa.types.is_uint64(values.type) else pa.int64()
    numbers = np.asarray(values.cast(wide).fill_null(0).to_numpy(zero_copy_only=False))
    odd = np.asarray(values.is_null()) | (numbers > np.iinfo(np.int64).max)
    return np.where(odd, -1, numbers.astype(np.int64))


def _advice(name: str, kind: str | None, *, lists: bool, unit: bool) -> str:
    """What to do about a column of another kind."""
    if lists and kind == "text":
        return f"; make lists of its texts, such as frame[{name!r}].str.split()"
    if unit and kind == "numbers":
        return (
            "; if whole numbers became these because some are missing, make them text, and note "
            "that a round whose user is not known needs a name of its own"
        )
    return ""
