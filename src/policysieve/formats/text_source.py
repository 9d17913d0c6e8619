"""Reading text twice: once to learn what contexts look like, once to convert."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.checking import check_rounds
from policysieve.formats.files import read_lines
from policysieve.formats.format import BATCH, BadRow, Report, Rules, nothing_read, raising
from policysieve.formats.rounds import Layout, Rounds

__all__ = ["ContextReader", "Record", "RowReader", "TextRow", "TextSource"]

_LONG = 1 << 22  # rows may be long: a batch has at most so many characters, or entries of contexts


class Record(NamedTuple):
    """A row before it is understood: its first line counted from 1, its text, its parts."""

    line: int
    text: str
    parts: Any


class TextRow(NamedTuple):
    """A row as it was understood, but for its context; a missing reward is NaN."""

    context: Any
    actions: Sequence[int] = ()
    propensities: Sequence[float] = ()
    rewards: Sequence[float] = ()
    id: str = ""
    time: float = math.nan


class ContextReader(Protocol):
    """Learns from all contexts of a file what they are, then turns each into a value."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one context."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of numbers, or ``object`` for strings."""
        ...

    def see(self, context: Any) -> None:
        """Take one context into account."""
        ...

    def value(self, context: Any) -> Any:
        """A context that was seen, as finite value of shape and dtype, or `FileFormatError`."""
        ...


class RowReader(Protocol):
    """How one format is read."""

    @property
    def contexts(self) -> ContextReader:
        """How contexts are read."""
        ...

    def records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Cut a file into rows; raises only if the file as a whole is wrong."""
        ...

    def row(self, record: Record) -> TextRow:
        """Understand one row, or raise `FileFormatError` with the reason."""
        ...


class TextSource:
    """A text file, looked through once when it is opened.

    Parameters
    ----------
    path : Path
    reader : RowReader
        Of this file alone.
    rules : Rules
    report : function, optional
        Called with each bad row, in the order of the file, when the rounds are read. By default
        the first bad row is an error.
    """

    def __init__(self, path: Path, reader: RowReader, rules: Rules, report: Report | None) -> None:
        self._path, self._reader, self._rules = path, reader, rules
        self._report = report or raising(path, "line")
        self._slate_size = self._n_actions = self.n_rounds = 0
        has_ids = has_times = False
        first_bad: BadRow | None = None

        def note(bad: BadRow) -> None:
            """Bad rows are reported when the rounds are read, not when the file is surveyed."""
            nonlocal first_bad
            first_bad = first_bad or bad

        survey = self._pieces(self._report if report is None else note, surveying=True)
        for rows, rounds in survey:
            for row in rows:
                reader.contexts.see(row.context)
            self.n_rounds += len(rows)
            self._n_actions = max(self._n_actions, int(rounds.actions.max(initial=-1)) + 1)
            has_ids = has_ids or any(row.id for row in rows)
            has_times = has_times or not all(math.isnan(row.time) for row in rows)
        if not self.n_rounds:
            raise nothing_read(path, first_bad)
        self.layout = Layout(
            reader.contexts.shape, reader.contexts.dtype, self._slate_size, has_ids, has_times
        )

    def n_actions(self) -> int:
        """Largest action number, plus one."""
        return self._n_actions

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order; rows that break a rule are reported and left out."""
        for _, rounds in self._pieces(self._report, surveying=False):
            if len(rounds):
                yield rounds

    def _pieces(self, report: Report, *, surveying: bool) -> Iterator[tuple[list[TextRow], Rounds]]:
        """Rows that keep to the rules, and the same as rounds; while surveying without contexts."""
        kept: list[tuple[Record, TextRow]] = []
        bad: list[BadRow] = []
        size = 0
        limit = BATCH if surveying else max(1, min(BATCH, _LONG // max(1, self.layout.width)))
        for record in self._reader.records(read_lines(self._path)):
            try:
                row = self._row(record)
            except FileFormatError as error:
                bad.append(BadRow(record.line, str(error), record.text))
            else:
                kept.append((record, row))
            size += len(record.text)
            if len(kept) + len(bad) >= limit or size >= _LONG:
                yield self._checked(kept, bad, report, surveying)
                kept, bad, size = [], [], 0
        if kept or bad:
            yield self._checked(kept, bad, report, surveying)

    def _row(self, record: Record) -> TextRow:
        """One row; slates are as long as those of the first row that can be read."""
        row = self._reader.row(record)
        if self._rules.contexts_only:
            return TextRow(row.context, id=row.id, time=row.time)
        self._slate_size = self._slate_size or len(row.actions)
        for name in ("actions", "propensities", "rewards"):
            length = len(getattr(row, name))
            if length != self._slate_size:
                raise FileFormatError(
                    f"{name} must be {self._slate_size} as in the rounds before, got {length}"
                )
        return row

    def _checked(
        self,
        kept: list[tuple[Record, TextRow]],
        bad: list[BadRow],
        report: Report,
        surveying: bool,
    ) -> tuple[list[TextRow], Rounds]:
        n, m, rows = len(kept), self._slate_size, [row for _, row in kept]
        with_ids = not surveying and self.layout.has_ids
        with_times = surveying or self.layout.has_times
        rounds = Rounds(
            np.zeros(n),
            np.array([row.actions for row in rows], dtype=np.int64).reshape(n, m),
            np.array([row.propensities for row in rows], dtype=np.float64).reshape(n, m),
            np.array([row.rewards for row in rows], dtype=np.float64).reshape(n, m),
            np.array([row.id for row in rows], dtype=object) if with_ids else None,
            np.array([row.time for row in rows]) if with_times else None,
        )
        checked, reasons = check_rounds(rounds, self._rules)
        if not surveying:
            checked, more = self._with_contexts(checked, rows, reasons)
            reasons = {**reasons, **more}
        bad = bad + [BadRow(kept[i][0].line, why, kept[i][0].text) for i, why in reasons.items()]
        for row in sorted(bad, key=lambda row: row.line):
            report(row)
        return [row for i, row in enumerate(rows) if i not in reasons], checked

    def _with_contexts(
        self, checked: Rounds, rows: list[TextRow], reasons: dict[int, str]
    ) -> tuple[Rounds, dict[int, str]]:
        """Add the contexts of the rows that keep to the rules, which alone were surveyed."""
        values: list[Any] = []
        more: dict[int, str] = {}
        good = np.ones(len(checked), dtype=np.bool_)
        for place, i in enumerate(i for i in range(len(rows)) if i not in reasons):
            try:
                values.append(self._reader.contexts.value(rows[i].context))
            except FileFormatError as error:
                more[i] = str(error)
                good[place] = False
        contexts = np.array(values, dtype=self.layout.context_dtype)
        contexts = contexts.reshape(len(values), *self.layout.context_shape)
        return replace(checked.where(good) if more else checked, contexts=contexts), more
