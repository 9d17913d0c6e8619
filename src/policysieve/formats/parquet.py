"""Parquet: our own schema, with or without its header, and plain columns like those of CSV."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.archives import DENSEST
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.arrow_rows import row_of, unknown
from policysieve.formats.ended_slates import EndedSlates
from policysieve.formats.format import BATCH, Format
from policysieve.formats.parquet_columns import ParquetColumns, Part, unpacked_size
from policysieve.formats.parquet_mapped import MappedColumns
from policysieve.formats.parquet_opening import opened
from policysieve.formats.parquet_own import FrameColumns, ListColumns, OwnColumns, has_lists, is_log
from policysieve.formats.parquet_plain import PlainColumns
from policysieve.formats.parquet_writing import as_table
from policysieve.formats.rules import (
    BadRow,
    Report,
    Rules,
    check_rounds,
    nothing_read,
    raising,
    too_large,
)
from policysieve.formats.table import FRAME_PREFIX, check_different
from policysieve.frames import (
    ContextFrame,
    Contexts,
    FrameType,
    common_type,
    kind_of,
    levels_of,
    united,
)
from policysieve.log import Layout, Rounds
from policysieve.log.named import Names, renumbering
from policysieve.scaling import Range, range_in_words, usual_range
from policysieve.stored import arrow_source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["FORMAT", "is_parquet"]


def is_parquet(path: Path) -> bool:
    """Whether a file begins as every Parquet file does."""
    with path.open("rb") as file:
        return bool(file.read(4) == b"PAR1")


_VALUES = 1 << 22  # of all columns, in a batch of rounds
_NUMBER = 8  # bytes


class _ParquetFile:
    """One file: its layout, and its rounds as they are."""

    def __init__(self, path: Path, rules: Rules) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self._limit = path, rules.max_bytes
        try:
            with arrow_source(path) as source, pq.ParquetFile(source) as file:
                schema, metadata = file.schema_arrow, file.metadata
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileFormatError(
                f"{path} is not a readable Parquet file; if it is of another format, name that "
                f"(--from, or format=), or let its suffix tell; else it may be truncated ({error})"
            ) from error
        self.n_rounds = metadata.num_rows
        if not is_log(schema) and not self.n_rounds:
            raise nothing_read([path])
        self._columns = _columns_of(path, schema, rules)
        self.layout = self._columns.layout
        self.numbered = self._columns.numbered
        self.n_rounds //= self._columns.rows_per_round
        self.by_round = self._columns.by_round
        groups = (metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        self._ends = np.cumsum([0, *groups])[1:]  # of the row groups
        self._batch = min(BATCH, self._columns.beside.most_rows(self.layout.action_names))
        self._packed: set[str] = set()  # columns whose texts are read as they are packed
        try:
            for group in map(metadata.row_group, range(metadata.num_row_groups)):
                self._measure(group)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path} has a column without a name ({error})") from error
        if self.layout.has_frames and not is_log(schema):  # a header says what categories there are
            prefix = FRAME_PREFIX if rules.columns is None else ""
            dtype = self._with_levels(self.layout.context_dtype, prefix)
            self.layout = replace(self.layout, context_dtype=dtype)

    def _with_levels(self, dtype: FrameType, prefix: str) -> FrameType:
        """A type of rows with the categories that are in the file, in their order."""
        import pyarrow as pa

        found = dict(dtype.levels)
        columns = {name: f"{prefix}{name}" for name in found}
        if not columns:
            return dtype
        with opened(self.path, sorted(self._packed)) as file:
            for rows in self._batches(file, list(columns.values())):
                for name, column in columns.items():
                    new = levels_of(pa.chunked_array([rows[column]])).cast(found[name].type)
                    found[name] = united(name, found[name], new, ordered=False)
        return FrameType(dtype.schema, found)

    def parts(self, start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """What the rows hold, in order; of all of them, or of some where each is a round."""
        with opened(self.path, sorted(self._packed)) as file:
            if start == 0 and stop in (None, self.n_rounds):
                rows = self._batches(file, self._columns.names)
            else:
                rows = self._rows_between(file, start, self.n_rounds if stop is None else stop)
            yield from self._columns.parts(rows)

    def starts(self, most: int) -> range:
        """Where parts of about `most` rounds begin, each with a batch of its own."""
        return range(0, self.n_rounds, max(1, most // BATCH) * self._batch)

    def _rows_between(
        self, file: "pq.ParquetFile", start: int, stop: int
    ) -> "Iterator[pa.RecordBatch]":
        """Some rows, cut where a loop over all of them cuts; row groups of others are not read."""
        import pyarrow as pa

        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
        at, held = int(self._ends[first - 1]) if first else 0, []
        groups = range(int(first), int(last) + 1)
        for rows in self._batches(file, self._columns.names, list(groups)):
            begin, end = at, min(stop, at + rows.num_rows)
            while begin < end:
                cut = min(end, (begin // self._batch + 1) * self._batch)
                if cut > start:
                    held.append(rows.slice(max(begin, start) - at, cut - max(begin, start)))
                if held and (cut % self._batch == 0 or cut == stop):
                    yield held[0] if len(held) == 1 else pa.concat_batches(held)
                    held = []
                begin = cut
            at += rows.num_rows
            if at >= stop:
                return

    def _batches(
        self, file: "pq.ParquetFile", columns: list[str], groups: list[int] | None = None
    ) -> "Iterator[pa.RecordBatch]":
        """Rows that are not too long."""
        for rows in file.iter_batches(batch_size=self._batch, columns=columns, row_groups=groups):
            self._allow("rounds read at once are too long", unpacked_size(rows))
            yield rows

    def _measure(self, group: "pq.RowGroupMetaData") -> None:
        """Read fewer rounds at once if they are long, and raise if even one is too long.

        By what the file says of itself, before anything of it is unpacked. Where lists may be of
        any length, one round may have all values of its row group. A text that is packed once for
        many rounds may be as long as all of its column.
        """
        columns = [group.column(i) for i in range(group.num_columns)]
        columns = [c for c in columns if self._column_of(c.path_in_schema) is not None]
        on_disk = sum(int(column.total_compressed_size) for column in columns)
        values = max(1, sum(int(column.num_values) for column in columns))
        rounds = max(1, int(group.num_rows))
        self._allow("a round is too long", _NUMBER * (values // rounds))
        self._batch = max(1, min(self._batch, _VALUES * rounds // values))
        full = sum(int(column.total_uncompressed_size) for column in columns)
        if self._columns.any_length:
            full = max(full, _NUMBER * values)
        if full > DENSEST * on_disk:
            self._allow("a row group is too large", full)
        for column in columns:
            name, longest = column.path_in_schema, max(1, int(column.total_uncompressed_size))
            if name in self._columns.texts and longest * BATCH > self._limit:
                self._packed.add(name)
            if self._column_of(name) in self._columns.text_lists and column.has_dictionary_page:
                self._batch = max(1, min(self._batch, self._limit // longest))

    def _column_of(self, path: str) -> str | None:
        """The column that values at some path of the file belong to; None if it is not read."""
        for name in self._columns.names:
            if path == name or path.startswith(f"{name}."):
                return name
        return None

    def _allow(self, what: str, size: int) -> None:
        if size > self._limit:
            raise too_large(self.path, what, size, self._limit)


def _columns_of(path: Path, schema: "pa.Schema", rules: Rules) -> ParquetColumns:
    """The columns of a file that is not empty, by a map, by its header, or by their names."""
    if rules.columns is not None:
        return MappedColumns(path, schema, rules)
    check_different(path, schema.names, sorted(set(schema.names)))
    if is_log(schema):
        frame = any(name.startswith(FRAME_PREFIX) for name in schema.names)
        return (FrameColumns if frame else OwnColumns)(path, schema, rules)
    if has_lists(schema):
        return ListColumns(path, schema, rules)
    return PlainColumns(path, schema, rules)


class _ParquetSource:
    def __init__(self, paths: Sequence[Path], rules: Rules, report: Report | None) -> None:
        self._report = report or raising("row")
        self._files = [_ParquetFile(path, rules) for path in paths]
        self._rules = replace(rules, reward_range=_common_range(self._files, rules))
        self.n_rounds = sum(file.n_rounds for file in self._files)
        self.layout = replace(
            _common_layout(self._files, rules.actions),
            reward_range=usual_range(self._rules.reward_range),
        )
        self.numbered = all(file.numbered for file in self._files)
        self.cells: frozenset[str] = frozenset()  # columns have types

    def n_actions(self) -> int:
        """Largest action number, shown or in a distribution, plus one."""
        if self.layout.action_names is not None:
            return len(self.layout.action_names)
        return max((rounds.n_actions for rounds, _ in self._checked()), default=0)

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        return self.between(0, self.n_rounds)

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts of about `most` rounds begin, none in two files, and in which file."""
        found, before = [], 0
        for file in self._files:
            if not file.by_round:
                raise InvalidArgumentError(
                    f"{file.path} has a row for each item of a slate, and cannot be read in parts; "
                    "convert it first: policysieve convert writes one row for each round"
                )
            found += [(before + start, str(file.path)) for start in file.starts(most)]
            before += file.n_rounds
        return found

    def between(self, start: int, stop: int) -> Iterator[Rounds]:
        """The rounds from one on, up to another, in the same batches as all of them."""
        for rounds, bad in self._checked(start, stop):
            for row in bad:
                self._report(row)
            if len(rounds):
                yield _in_layout(rounds, self.layout)

    def _checked(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Rounds, list[BadRow]]]:
        """Rounds that keep to the rules, and the rows that do not, in order."""
        ended, before, stop = EndedSlates(), 0, self.n_rounds if stop is None else stop
        for file in self._files:
            begin, end = max(0, start - before), min(file.n_rounds, stop - before)
            before += file.n_rounds
            if begin >= end and (file.n_rounds or start):
                continue
            name, first = str(file.path), 1 + begin
            for whole in file.parts(begin, end):
                part = whole.without(_again(whole, ended, name, first))
                bad = [(part.wrong[i], part.why[i]) for i in np.flatnonzero(part.why)]
                raw, unnamed = _numbered(part.rounds, self.layout.action_names)
                bad += [(part.items[i, 0], reason) for i, reason in unnamed.items()]
                named = part.items
                if unnamed:
                    named = named[[i not in unnamed for i in range(len(named))]]
                rounds, faults = check_rounds(raw, self._rules)
                bad += [(row_of(named, i, fault), fault.reason) for i, fault in faults.items()]
                yield (
                    rounds,
                    [
                        BadRow(name, first + int(row), why, _as_text(part.rows, int(row)))
                        for row, why in sorted(bad)
                    ],
                )
                first += part.rows.num_rows


def _again(part: Part, ended: EndedSlates, file: str, first: int) -> dict[int, str]:
    """Why rounds have slates that were there before; the part begins with a row of the file."""
    found: dict[int, str] = {}
    for i, slate in enumerate(part.slates):
        fault = "" if slate is None else ended.fault(slate, f"{file}, row {first + part.wrong[i]}")
        if fault and part.why[i] == "":
            found[i] = fault
    return found


def _numbered(rounds: Rounds, names: Names) -> tuple[Rounds, dict[int, str]]:
    """Rounds with the numbers that actions have in the whole log, and why others cannot have any.

    The others are left out.
    """
    mine = rounds.action_names
    if mine is None or names is None:
        return rounds if names is None else replace(rounds, action_names=names), {}
    reasons: dict[int, str] = {}
    numbers = np.append(renumbering(mine, names), [-1])  # the last for what has no name in the file
    lists = rounds.distributions
    shown = np.where((rounds.actions >= 0) & (rounds.actions < len(mine)), rounds.actions, -1)
    rows, actions = np.repeat(np.arange(len(rounds)), shown.shape[1]), shown.reshape(-1)
    if lists is not None:
        inside = (lists.actions >= 0) & (lists.actions < len(mine))
        rows = np.append(rows, lists.rows)
        actions = np.append(actions, np.where(inside, lists.actions, -1))
    for row, action in _not_known(rounds, numbers[:-1]):
        reasons[row] = unknown("an action that is available", mine[action], names)
    for at in np.flatnonzero(numbers[actions] < 0).tolist():
        known = actions[at] >= 0
        reasons.setdefault(
            int(rows[at]),
            unknown("an action", mine[actions[at]], names)
            if known
            else f"an action must be one of the {len(mine):,} that the file names",
        )
    good = np.ones(len(rounds), dtype=np.bool_)
    good[list(reasons)] = False
    kept = rounds.where(good) if reasons else rounds
    return kept.with_action_names(names), reasons


def _not_known(rounds: Rounds, numbers: npt.NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """Rows that have an action available which has no number, and the first such action."""
    available, lacking = rounds.beside.available, np.flatnonzero(numbers < 0)
    if available is None or not len(lacking):
        return
    for row, actions in enumerate(available.lists()):
        found = np.intersect1d(actions, lacking)
        if len(found):
            yield row, int(found[0])


def _common_layout(files: Sequence[_ParquetFile], declared: Names) -> Layout:
    """The layout of files that are one log; numbers have the type that holds all of them."""
    first = files[0]
    common = first.layout
    known = {file.layout.has_distributions: file for file in files if file.n_rounds}
    if len(known) > 1:
        raise FileFormatError(
            f"{known[True].path} has full distributions, but {known[False].path} has not; all "
            "files of one log must have them, or none"
        )
    _check_beside(files)
    for file in files[1:]:
        mine = file.layout
        if mine.slate_size != common.slate_size:
            raise FileFormatError(
                f"{file.path} has slates of {mine.slate_size}, but {first.path} of "
                f"{common.slate_size}; the files of one log must have slates of one size"
            )
        kinds = [(each.context_shape, kind_of(each.context_dtype)) for each in (mine, common)]
        if kinds[0] != kinds[1]:
            raise FileFormatError(
                f"contexts of {file.path} are {mine}, but those of {first.path} are {common}; the "
                "files of one log must have contexts of one kind"
            )
        try:
            dtype = common_type(common.context_dtype, mine.context_dtype)
        except InvalidArgumentError as error:
            raise FileFormatError(f"{file.path} does not fit to {first.path}: {error}") from error
        common = replace(
            common,
            context_dtype=dtype,
            has_ids=common.has_ids or mine.has_ids,
            has_times=common.has_times or mine.has_times,
        )
    common = replace(common, action_names=_common_names(files, declared))
    return replace(common, has_distributions=True in known) if known else common


def _check_beside(files: Sequence[_ParquetFile]) -> None:
    """Raise unless all files have the same columns beside contexts and items."""
    for what, found in (
        ("what was available", "has_available"),
        ("units", "has_units"),
        ("these outcomes", "outcomes"),
    ):
        known = {getattr(file.layout, found): file for file in files if file.n_rounds}
        if len(known) > 1:
            first, second, *_ = sorted(known, reverse=True)
            raise FileFormatError(
                f"{known[first].path} has {what}, but {known[second].path} has not; all files of "
                "one log must have the same, or none"
            )


def _common_range(files: Sequence[_ParquetFile], rules: Rules) -> Range:
    """The range of the rewards: declared, or as files say, which must not contradict it."""
    found, said = rules.reward_range, "reward_range"
    for file in files:
        mine = file.layout.reward_range
        if mine is None:  # it does not say
            continue
        if found is not None and found != mine:
            raise FileFormatError(
                f"{file.path} says that its rewards lie in {range_in_words(mine)}, but {said} is "
                f"{range_in_words(found)}; rewards of one log have one range"
            )
        found, said = mine, f"that of {file.path}"
    return found


def _common_names(files: Sequence[_ParquetFile], declared: Names) -> Names:
    """Names of the actions of all files: declared ones, or their own if these are the same."""
    named = {file.layout.action_names is not None: file for file in files if file.n_rounds}
    if len(named) > 1:
        raise FileFormatError(
            f"{named[True].path} has names of actions, but {named[False].path} has numbers; all "
            "files of one log must have names, or none"
        )
    if declared is not None:
        return declared
    every = dict.fromkeys(file.layout.action_names for file in files)
    if len(every) == 1:
        return files[0].layout.action_names
    return tuple(sorted({name for names in every for name in names or ()})) or None


def _of_type(contexts: Contexts, dtype: Any) -> Any:
    if isinstance(contexts, ContextFrame):
        try:
            return contexts.as_type(dtype)
        except InvalidArgumentError as error:
            raise FileFormatError(f"the files are not one log: {error}") from error
    return contexts.astype(dtype, copy=False)


def _in_layout(rounds: Rounds, layout: Layout) -> Rounds:
    """The rounds of one file as those of the whole log."""
    return replace(
        rounds,
        contexts=_of_type(rounds.contexts, layout.context_dtype),
        ids=np.full(len(rounds), "", dtype=object)
        if layout.has_ids and rounds.ids is None
        else rounds.ids,
        times=np.full(len(rounds), np.nan)
        if layout.has_times and rounds.times is None
        else rounds.times,
    )


def _as_text(batch: "pa.RecordBatch | pa.Table", row: int) -> str:
    """A row in words of JSON."""
    return json.dumps(batch.slice(row, 1).to_pylist()[0], default=str)


def _write(
    path: Path, batches: Iterable[Rounds], _layout: Layout, _n_actions: int, _compressed: bool
) -> None:
    import pyarrow.parquet as pq

    writer = None
    try:
        for rounds in batches:
            table = as_table(rounds)
            writer = writer or pq.ParquetWriter(path, table.schema, write_page_checksum=True)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    open=_ParquetSource,
    write=_write,
    tabular=True,
    not_held=lambda layout: (),
)
