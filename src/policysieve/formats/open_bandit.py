"""Open Bandit Pipeline: its bandit feedback, a dictionary of arrays, and its CSV of shown items."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array
from policysieve.checks import MOST_ACTIONS, context_array, integer
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.beside_names import not_beside
from policysieve.formats.cells import as_number, as_timestamp, finite, finite_row, seconds, whole
from policysieve.formats.csv_file import CsvReader, csv_text, read_header
from policysieve.formats.format import (
    DISTRIBUTIONS,
    not_named,
    refuse_frames,
    refuse_slates,
    refuse_text_rows,
)
from policysieve.formats.lines import RawRow
from policysieve.formats.rules import Rules, check_rounds
from policysieve.formats.text import TextRow, text_format
from policysieve.frames import kind_of
from policysieve.log import AnyLog, Layout, Log, Rounds

__all__ = ["FORMAT", "from_bandit_feedback", "to_bandit_feedback"]

_KEYS = ("context", "action", "reward", "pscore")  # of bandit feedback
_TITLE = "Open Bandit Pipeline's CSV"
_COLUMNS = ("item_id", "position", "click", "propensity_score")  # of the CSV
_FEATURES = ("user_feature_", "user-item_affinity_")


def from_bandit_feedback(
    feedback: Mapping[str, Any], *, reward_range: tuple[float, float] | None = None
) -> Log:
    """A log from Open Bandit Pipeline's bandit feedback.

    Parameters
    ----------
    feedback : mapping
        With ``context`` (n, d), ``action``, ``reward`` and ``pscore`` (n,). If ``position`` (n,)
        has several values, it becomes the last feature of the contexts. Other keys are not used.
    reward_range : (low, high), optional
        Range of the rewards, which the log keeps; needed when one is outside [0, 1].

    Raises
    ------
    InvalidArgumentError
        If a key is missing, or a round breaks a rule; the row is named.
    """
    missing = [key for key in _KEYS if feedback.get(key) is None]
    if missing:
        raise InvalidArgumentError(
            f"feedback must have {', '.join(_KEYS)}, {missing[0]!r} is missing"
        )
    contexts = context_array(feedback["context"])
    if contexts.ndim == 0 or contexts.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            "feedback['context'] must be numbers, a row for each round, got shape "
            f"{contexts.shape} of {contexts.dtype}"
        )
    n = len(contexts)
    action, reward, pscore = (_column(feedback, key, n) for key in _KEYS[1:])
    if feedback.get("position") is not None:
        position = _column(feedback, "position", n)
        if len(np.unique(position)) > 1:
            contexts = np.column_stack([contexts, position])
    n_actions = feedback.get("n_actions")
    rounds = Rounds(
        contexts, action[:, None], pscore[:, None].astype(float), reward[:, None].astype(float)
    )
    if n_actions is not None:
        n_actions = integer("feedback['n_actions']", n_actions, low=1, high=MOST_ACTIONS)
    rules = Rules(reward_range=reward_range, n_actions=n_actions, allow_missing=False)
    checked, faults = check_rounds(rounds, rules)
    for row, fault in faults.items():
        raise InvalidArgumentError(f"feedback, row {row}: {fault.reason}")
    return checked.to_log()


def _column(feedback: Mapping[str, Any], key: str, n: int) -> npt.NDArray[Any]:
    column = plain_array(f"feedback[{key!r}]", feedback[key], f"{n} numbers")
    if column.shape != (n,) or column.dtype.kind not in ("iu" if key == "action" else "biuf"):
        raise InvalidArgumentError(
            f"feedback[{key!r}] must be {n} numbers, one for each context, got shape "
            f"{column.shape} of {column.dtype}"
        )
    return column


def to_bandit_feedback(log: AnyLog, n_actions: int) -> dict[str, Any]:
    """Open Bandit Pipeline's bandit feedback from a log.

    All rounds are at position 0, and an action's context is its indicator vector: a log knows of
    neither. Row numbers become contexts of one feature.

    Parameters
    ----------
    log : Log, LogFile, path or paths
        With one action a round and numbers as contexts.
    n_actions : int
        Number of actions.

    Returns
    -------
    dict
        With n_rounds, n_actions, context, action_context, action, position, reward and pscore.

    Raises
    ------
    InvalidArgumentError
        If the log has slates, strings as contexts, or an action that is not below `n_actions`.
    """
    log = Log.load(log)
    contexts = log.contexts
    refuse_slates(
        Layout(contexts.shape[1:], contexts.dtype, log.slate_size),
        "Open Bandit Pipeline's bandit feedback",
    )
    if kind_of(contexts.dtype) != "numbers":
        raise InvalidArgumentError(
            f"contexts must be numbers for Open Bandit Pipeline, got {kind_of(contexts.dtype)}; "
            "encode them first"
        )
    seen = int(log.actions.max(initial=-1)) + 1
    n_actions = integer("n_actions", n_actions, low=max(seen, 1), hint="the log's actions need it")
    return {
        "n_rounds": len(log),
        "n_actions": n_actions,
        "context": contexts.reshape(len(log), -1).copy(),
        "action_context": np.eye(n_actions, dtype=np.int64),
        "action": log.actions[:, 0].astype(np.int64),
        "position": np.zeros(len(log), dtype=np.int64),
        "reward": log.rewards[:, 0].copy(),
        "pscore": log.propensities[:, 0].copy(),
    }


def _is_open_bandit(path: Path) -> bool:
    """Whether a CSV file has the columns of Open Bandit Pipeline's."""
    try:
        names, _ = read_header(path, Rules().longest_row)
    except FileFormatError:  # said again when the file is opened
        return False
    return set(_COLUMNS) <= set(names)


class _OpenBanditReader(CsvReader):
    def _understand(self, path: Path, names: list[str]) -> None:
        missing = [name for name in _COLUMNS if name not in names]
        if missing:
            raise FileFormatError(
                f"{path} has no column {missing[0]!r}; {_TITLE} has {', '.join(_COLUMNS)}"
            )
        self._features = [i for i, name in enumerate(names) if name.startswith(_FEATURES)]
        self.contexts = _CodedCells([names[i] for i in self._features])

    def row(self, raw: RawRow) -> TextRow:
        """Understand one row."""
        cells = self._cells(raw)
        item, position, click, propensity = (cells[self._columns[name]] for name in _COLUMNS)
        time = cells[self._columns["timestamp"]] if "timestamp" in self._columns else ""
        return TextRow(
            context=[*(cells[i] for i in self._features), str(whole("position", position))],
            actions=[whole("item_id", item)],
            propensities=[finite("propensity_score", propensity)],
            rewards=[finite("click", click) if click else np.nan],
            time=seconds("timestamp", time) if time else np.nan,
        )


class _CodedCells:
    """Features as numbers, and the position as the last of them if there are several positions.

    A column whose first cell is not a number is coded: a cell becomes its place among the
    different cells of the column in alphabetical order. Positions are numbered from 0 in their
    own order.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._seen: dict[int, set[str]] | None = None
        self._positions: set[int] = set()
        self._codes: dict[int, dict[str, str]] | None = None

    @property
    def _with_position(self) -> bool:
        return len(self._positions) > 1 or not self._names

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of features, and one more for the position."""
        return (len(self._names) + self._with_position,)

    def see(self, context: list[str]) -> None:
        """Take one row of cells into account."""
        if self._seen is None:
            text = [i for i, cell in enumerate(context[:-1]) if as_number(cell) is None]
            self._seen = {i: set() for i in text}
        for i, cells in self._seen.items():
            cells.add(context[i])
        self._positions.add(int(context[-1]))

    def value(self, context: list[str]) -> list[float]:
        """The row as numbers."""
        if self._codes is None:
            self._codes = {i: _codes(sorted(cells)) for i, cells in (self._seen or {}).items()}
            self._codes[len(self._names)] = _codes(map(str, sorted(self._positions)))
        coded = [
            self._codes[i][cell] if i in self._codes else cell for i, cell in enumerate(context)
        ]
        row = finite_row([*self._names, "position"], coded)
        return row if self._with_position else row[:-1]


def _codes(cells: Iterable[str]) -> dict[str, str]:
    return {cell: str(code) for code, cell in enumerate(cells)}


def _text(batches: Iterable[Rounds], layout: Layout, _n_actions: int) -> Iterator[str]:
    features = [f"user_feature_{i}" for i in range(layout.width)]
    yield csv_text([["", "timestamp", *_COLUMNS, *features]])
    first = 0
    for rounds in batches:
        contexts = rounds.plain_contexts(flat=True)
        columns = (
            contexts if layout.context_shape else [[context] for context in contexts],
            rounds.actions[:, 0].tolist(),
            rounds.rewards[:, 0].tolist(),
            rounds.propensities[:, 0].tolist(),
            _timestamps(rounds, first),
        )
        yield csv_text(
            [
                [first + i, time, action, 1, int(r) if r.is_integer() else r, propensity, *context]
                for i, (context, action, r, propensity, time) in enumerate(
                    zip(*columns, strict=True)
                )
            ]
        )
        first += len(rounds)


def _timestamps(rounds: Rounds, first: int) -> list[Any]:
    """Times, or numbers of the rounds where there are none: Open Bandit Pipeline sorts by them."""
    if rounds.times is None:
        return list(range(first, first + len(rounds)))
    return ["" if np.isnan(time) else as_timestamp(time) for time in rounds.times.tolist()]


def _not_held(layout: Layout) -> tuple[str, ...]:
    refuse_slates(layout, _TITLE)
    refuse_text_rows(layout, _TITLE)
    refuse_frames(layout, _TITLE)
    notes = ["positions: all rounds are at position 1", *not_named(layout), *not_beside(layout)]
    if layout.has_distributions:
        notes.append(DISTRIBUTIONS)
    if layout.has_ids:
        notes.append("ids")
    if layout.has_times:
        notes.append("parts of a microsecond of the times")
    else:
        notes.append("that there are no times: the rounds' numbers stand for them")
    if layout.has_text:
        notes.append("strings: read again, they are codes in alphabetical order")
    elif len(layout.context_shape) != 1:
        notes.append(f"the shape of the contexts: they are rows of {layout.width} features")
    return tuple(notes)


FORMAT = text_format(
    name="obp-csv",
    title=_TITLE,
    suffixes=(".csv",),
    recognises=_is_open_bandit,
    reader=_OpenBanditReader,
    text=_text,
    not_held=_not_held,
)
