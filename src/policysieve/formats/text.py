"""Text formats: files of lines, read twice, first to learn what their contexts look like."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from policysieve.checks import OF_SLATES
from policysieve.errors import FileFormatError
from policysieve.formats.actions import Actions
from policysieve.formats.ended_slates import EndedSlates
from policysieve.formats.format import BATCH, Format, not_ranged
from policysieve.formats.frame_cells import as_frame
from policysieve.formats.lines import RawRow, write_text
from policysieve.formats.rules import (
    BadRow,
    Fault,
    Report,
    Rules,
    check_rounds,
    nothing_read,
    raising,
)
from policysieve.formats.text_beside import BesideRows
from policysieve.log import Layout, Rounds
from policysieve.log.distributions import Distributions, stacked
from policysieve.scaling import usual_range

__all__ = ["ContextReader", "RowReader", "TextRow", "text_format"]

_LONG = 1 << 22  # rows may be long: a batch has at most so many characters, or entries of contexts


class TextRow(NamedTuple):
    """A row as it was understood, but for its context.

    A missing reward is NaN; without a full distribution there is None. Actions are numbers, names,
    or `ActionCell`s, which may be either. Items of a slate may have lines of their own. Where files
    do not say what was available or who came, that is None; an empty unit is missing.
    """

    context: Any
    actions: Sequence[int | str] = ()
    propensities: Sequence[float] = ()
    rewards: Sequence[float] = ()
    id: str = ""
    time: float = math.nan
    distribution: Sequence[tuple[int | str, float]] | None = None
    lines: Sequence[int] = ()
    available: Sequence[int | str] | None = None
    unit: str | None = None
    outcomes: Mapping[str, Sequence[float]] | None = None


class ContextReader(Protocol):
    """Learns from all contexts of a log what they are, then turns each into a value."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one context."""
        ...

    @property
    def dtype(self) -> Any:
        """The dtype of numbers, ``object`` for strings, or a `FrameType`."""
        ...

    def see(self, context: Any) -> None:
        """Take one context into account."""
        ...

    def value(self, context: Any) -> Any:
        """A context that was seen, as finite value of shape and dtype, or `FileFormatError`.

        A row of a table is a sequence of values.
        """
        ...


class RowReader(Protocol):
    """How the files of one log are read."""

    @property
    def contexts(self) -> ContextReader:
        """How contexts are read."""
        ...

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Cut a file into rows; raises only if the file as a whole is wrong."""
        ...

    def row(self, raw: RawRow) -> TextRow:
        """Understand one row, or raise `FileFormatError` with the reason."""
        ...


def text_format(
    *,
    reader: Callable[[Rules], RowReader],
    text: Callable[[Iterable[Rounds], Layout, int], Iterable[str]],
    not_held: Callable[[Layout], tuple[str, ...]],
    check: Callable[[RowReader, Sequence[Path]], None] | None = None,
    **others: Any,
) -> Format:
    """A format of text files: what reads their rows, and the text of batches of rounds.

    A `check` is called when all rows were read once, and raises if together they lack something.
    The other attributes are those of `Format`.
    """

    def open_files(paths: Sequence[Path], rules: Rules, report: Report | None) -> _TextSource:
        rows = reader(rules)
        source = _TextSource(paths, rows, rules, report)
        if check is not None:
            check(rows, paths)
        return source

    def write(
        path: Path, batches: Iterable[Rounds], layout: Layout, n_actions: int, compressed: bool
    ) -> None:
        write_text(path, text(batches, layout, n_actions), compressed=compressed)

    def dropped(layout: Layout) -> tuple[str, ...]:
        return (*not_held(layout), *not_ranged(layout))

    return Format(open=open_files, write=write, not_held=dropped, **others)


class _TextSource:
    """Text files that are one log, looked through once when they are opened.

    Parameters
    ----------
    paths : sequence of Path
    reader : RowReader
        Of these files alone.
    rules : Rules
    report : function, optional
        Called with each bad row, in the order of the files, when the rounds are read. By default
        the first bad row is an error.
    """

    def __init__(
        self, paths: Sequence[Path], reader: RowReader, rules: Rules, report: Report | None
    ) -> None:
        self._paths, self._reader, self._rules = paths, reader, rules
        self._report = report or raising("line")
        self._slate_size = self._n_actions = self.n_rounds = 0
        self._actions = Actions(rules.actions)
        self._beside = BesideRows(rules, implied=getattr(reader, "has_action_sets", False))
        self._has_distributions = False
        has_ids = has_times = False
        first_bad: BadRow | None = None
        used: set[int] = set()  # numbers of names

        def note(bad: BadRow) -> None:
            """Bad rows are reported when the rounds are read, not when the files are surveyed."""
            nonlocal first_bad
            first_bad = first_bad or bad

        survey = self._pieces(self._report if report is None else note, surveying=True)
        for rows, rounds in survey:
            for row in rows:
                reader.contexts.see(row.context)
            self.n_rounds += len(rows)
            self._n_actions = max(self._n_actions, rounds.n_actions)
            used.update(_used(rounds), self._beside.see(rows))
            has_ids = has_ids or any(row.id for row in rows)
            has_times = has_times or not all(math.isnan(row.time) for row in rows)
        if not self.n_rounds:
            raise nothing_read(paths, first_bad)
        if self._beside.has_available:
            self._n_actions = max(self._n_actions, self._beside.n_actions)
        self._actions.settle(used)
        self.numbered, self.cells = self._actions.are_numbers, self._actions.cells
        names = self._actions.names
        self._n_actions = len(names) if names else self._n_actions
        self.layout = Layout(
            reader.contexts.shape,
            reader.contexts.dtype,
            self._slate_size,
            has_ids,
            has_times,
            self._has_distributions,
            names,
            self._beside.has_available,
            self._beside.has_units,
            tuple(self._beside.outcomes),
            usual_range(rules.reward_range),
        )

    def n_actions(self) -> int:
        """Largest action number, shown or in a distribution, plus one."""
        return self._n_actions

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        for _, rounds in self._pieces(self._report, surveying=False):
            if len(rounds):
                yield rounds

    def _pieces(self, report: Report, *, surveying: bool) -> Iterator[tuple[list[TextRow], Rounds]]:
        """Rows that keep to the rules, and the same as rounds; while surveying without contexts."""
        limit = BATCH
        if not surveying:
            most = self._beside.most_rows(self._paths[0], self._n_actions)
            limit = max(1, min(BATCH, _LONG // max(1, self.layout.width), most))
        ended = EndedSlates()
        for path in self._paths:
            piece = _Piece(str(path))
            for raw in self._reader.raw_rows(path):
                again = ""
                if raw.slate not in (None, ""):  # else that is what is wrong
                    again = ended.fault(raw.slate, f"{path}, line {raw.line}")
                try:
                    row = self._row(raw)
                except FileFormatError as error:
                    piece.refuse(raw, again or str(error))
                else:
                    if again:
                        piece.refuse(raw, again)
                    else:
                        piece.kept.append((raw, row))
                piece.size += len(raw.text)
                if len(piece.kept) + len(piece.bad) >= limit or piece.size >= _LONG:
                    yield self._checked(piece, report, surveying)
                    piece = _Piece(str(path))
            if piece.kept or piece.bad:
                yield self._checked(piece, report, surveying)

    def _row(self, raw: RawRow) -> TextRow:
        """One row; slates and distributions are as in the first row that can be read."""
        row = self._reader.row(raw)
        if self._rules.contexts_only:
            row = TextRow(
                row.context, id=row.id, time=row.time, available=row.available, unit=row.unit
            )
            return self._beside.checked(row, self._actions.numbered, 0)
        has_distribution = row.distribution is not None
        if not self._slate_size:
            self._slate_size, self._has_distributions = len(row.actions), has_distribution
        for name in ("actions", "propensities", "rewards"):
            length = len(getattr(row, name))
            if length != self._slate_size:
                raise FileFormatError(
                    f"{name} must be {self._slate_size} as in the rounds before, got {length}"
                    f"{self._about_slates(name, length)}"
                )
        if has_distribution != self._has_distributions:
            raise FileFormatError(
                f"there is {'a' if has_distribution else 'no'} full distribution, unlike in the "
                "rounds before; all rounds of a log must have one, or none"
            )
        numbers = self._actions.numbered
        row = self._beside.checked(row, numbers, self._slate_size)
        pairs = row.distribution or ()
        listed = numbers((action for action, _ in pairs), "an action of the distribution")
        return row._replace(
            actions=self._numbered(row),
            distribution=[(a, w) for a, (_, w) in zip(listed, pairs, strict=True)]
            if has_distribution
            else None,
        )

    def _numbered(self, row: TextRow) -> list[int]:
        """Numbers of a row's actions; an error says in which of several lines one is wrong."""
        if len(row.lines) <= 1:
            return self._actions.numbered(row.actions)
        return [
            self._actions.numbered([action], f"in line {line}, an action")[0]
            for line, action in zip(row.lines, row.actions, strict=True)
        ]

    def _about_slates(self, name: str, length: int) -> str:
        if name == "rewards" and length == 1:
            return f", for the whole slate: {OF_SLATES}"
        columns = self._rules.columns
        if columns is None or columns.slate is None:
            return ""
        return f"; rows of one slate must follow each other: sort them by {columns.slate}"

    def _checked(
        self, piece: "_Piece", report: Report, surveying: bool
    ) -> tuple[list[TextRow], Rounds]:
        rows = [row for _, row in piece.kept]
        n, m = len(rows), self._slate_size
        with_ids = not surveying and self.layout.has_ids
        with_times = surveying or self.layout.has_times
        rounds = Rounds(
            np.zeros(n),
            np.array([row.actions for row in rows], dtype=np.int64).reshape(n, m),
            np.array([row.propensities for row in rows], dtype=np.float64).reshape(n, m),
            np.array([row.rewards for row in rows], dtype=np.float64).reshape(n, m),
            np.array([row.id for row in rows], dtype=object) if with_ids else None,
            np.array([row.time for row in rows]) if with_times else None,
            _lists(rows) if self._has_distributions else None,
            self._actions.names,
        )
        checked, reasons = check_rounds(rounds, self._rules)
        if not surveying:
            checked, more = self._with_contexts(checked, rows, reasons)
            reasons = {**reasons, **more}
        for i, (why, item) in reasons.items():
            lines = rows[i].lines
            piece.refuse(
                piece.kept[i][0], f"in line {lines[item]}, {why}" if len(lines) > 1 else why
            )
        for row in sorted(piece.bad, key=lambda row: row.line):
            report(row)
        return [row for i, row in enumerate(rows) if i not in reasons], checked

    def _with_contexts(
        self, checked: Rounds, rows: list[TextRow], reasons: dict[int, Fault]
    ) -> tuple[Rounds, dict[int, Fault]]:
        """Add the contexts of the rows that keep to the rules, which alone were surveyed."""
        values: list[Any] = []
        more: dict[int, Fault] = {}
        good = np.ones(len(checked), dtype=np.bool_)
        held: list[TextRow] = []
        for place, i in enumerate(i for i in range(len(rows)) if i not in reasons):
            try:
                values.append(self._reader.contexts.value(rows[i].context))
            except FileFormatError as error:
                more[i] = Fault(str(error))
                good[place] = False
            else:
                held.append(rows[i])
        if self.layout.has_frames:
            contexts: Any = as_frame(values, self.layout.context_dtype)
        else:
            contexts = np.array(values, dtype=self.layout.context_dtype)
            contexts = contexts.reshape(len(values), *self.layout.context_shape)
        kept = checked.where(good) if more else checked
        names = self.layout.action_names  # bad rows may have had others
        beside = self._beside.of(held, self._n_actions, self._slate_size)
        return replace(kept, contexts=contexts, action_names=names, beside=beside), more


def _lists(rows: list[TextRow]) -> Distributions:
    """Distributions of rows whose actions are numbers by now."""
    lists: Any = [row.distribution or () for row in rows]
    return stacked(lists)


def _used(rounds: Rounds) -> list[int]:
    """Numbers of the names in rounds; none if they have none."""
    if rounds.action_names is None:
        return []
    used = [rounds.actions.reshape(-1)]
    if rounds.distributions is not None:
        used.append(rounds.distributions.actions)
    return list(np.unique(np.concatenate(used)).tolist())


class _Piece:
    """Rows of one file on their way into a batch."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.kept: list[tuple[RawRow, TextRow]] = []
        self.bad: list[BadRow] = []
        self.size = 0  # characters

    def refuse(self, raw: RawRow, reason: str) -> None:
        """Note a bad row."""
        self.bad.append(BadRow(self.file, raw.line, reason, raw.text))
