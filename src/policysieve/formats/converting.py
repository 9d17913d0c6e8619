"""From one format to another, in pieces: all of a file or nothing."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.checks import as_path, integer
from policysieve.errors import InvalidArgumentError
from policysieve.files import AnyPath, as_paths, whole_or_nothing
from policysieve.formats.format import BATCH, Source
from policysieve.formats.registry import find_format, open_source
from policysieve.formats.rules import MAX_BYTES, BadRow, Report, Rules, nothing_read
from policysieve.log import AnyLog, ColumnMap, Log, LogFile, Rounds, log_paths
from policysieve.naming import as_names

__all__ = ["Conversion", "convert"]


@dataclass(frozen=True)
class Conversion:
    """What was converted, and what was not.

    Attributes
    ----------
    target_format : str
        Name of the format that was written.
    rounds : int
        Rounds written.
    contexts : str
        What contexts are: row numbers, numbers, text, or so many features.
    slate_size : int
        Items shown each round.
    actions_seen : int
        Different actions among them.
    mean_reward : float
        Mean over rounds of the sum of a round's rewards.
    smallest_propensity : float
        Smallest propensity of a shown item.
    skipped : int
        Rows left out because they break a rule.
    skipped_file : str or None
        Where those rows are, if they were to be skipped.
    not_held : tuple of str
        What the target format drops or changes.
    """

    target_format: str
    rounds: int
    contexts: str
    slate_size: int
    actions_seen: int
    mean_reward: float
    smallest_propensity: float
    skipped: int
    skipped_file: str | None
    not_held: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {**asdict(self), "not_held": list(self.not_held)}


def convert(
    source: AnyLog,
    target: AnyPath,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    reward_range: tuple[float, float] | None = None,
    n_actions: int | None = None,
    missing_reward: float | None = None,
    columns: Mapping[str, Any] | ColumnMap | None = None,
    actions: Sequence[str] | None = None,
    max_bytes: int | None = None,
    skip_bad: bool = False,
    overwrite: bool = False,
    track: Callable[[Iterable[Rounds], int], Iterable[Rounds]] | None = None,
) -> Conversion:
    """Write a log to a file of any format; the target appears when all is written.

    Parameters
    ----------
    source : path, paths, LogFile or Log
        Several files are of one format, and become one. A `LogFile` says itself how it is read:
        its format, range of rewards and missing reward are not given again.
    target : path
        Text is compressed if the name ends in ``.gz``.
    from_format, to_format : str, optional
        Names in `FORMATS`; by default what the files' names say.
    reward_range : (low, high), optional
        Range of the source's rewards, if not 0 to 1; of minus the costs for formats with costs.
        Rewards are written as they are; Parquet keeps their range.
    n_actions : int, optional
        Number of actions: larger ones are refused, and formats with a line for each action have so
        many. By default the largest action seen, plus one.
    missing_reward : float, optional
        What a missing reward counts as, in units of the source; by default its row is bad.
    columns, actions, max_bytes
        As `LogFile` has them.
    skip_bad : bool
        Leave out rows that break a rule, and write them with file, line and reason to
        ``TARGET.skipped.jsonl``. Otherwise the first is an error, and nothing is written.
    overwrite : bool
        Replace a target that exists, and its ``TARGET.skipped.jsonl``; otherwise that is an error.
    track : function, optional
        Wraps the batches as they are read, given the number of rounds; for a progress bar.

    Raises
    ------
    FileFormatError
        If the source cannot be read, a row breaks a rule or its reward is missing.
    InvalidArgumentError
        If a format is not known or cannot hold the rounds, if the target exists, or if a log that
        is open already comes with arguments that say how files are read.
    """
    out = as_path(target, name="target")
    aside = out.with_name(out.name + ".skipped.jsonl")
    if not overwrite:
        _refuse_existing([out, aside] if skip_bad else [out])
    format = find_format(out, to_format)
    rules = Rules(
        reward_range=reward_range,
        n_actions=n_actions,
        allow_missing=False,
        missing_reward=missing_reward,
        columns=columns if columns is None else ColumnMap.of(columns),
        actions=actions if actions is None else as_names("actions", actions),
        max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
    )
    skipped = 0
    first_bad: BadRow | None = None
    tally = _Tally()
    with ExitStack() as stack:
        report = None
        if skip_bad:
            partial = stack.enter_context(whole_or_nothing(aside, new=not overwrite))
            file = stack.enter_context(partial.open("w", encoding="utf-8"))

            def report(bad: BadRow) -> None:
                nonlocal skipped, first_bad
                skipped += 1
                first_bad = first_bad or bad
                file.write(json.dumps(asdict(bad)) + "\n")

        opened = _opened(source, from_format, rules, report, max_bytes)
        not_held = format.not_held(opened.layout)
        known = (n_actions or opened.n_actions()) if format.needs_actions else 0
        batches: Iterable[Rounds] = opened.batches()
        if track is not None:
            batches = track(batches, opened.n_rounds)

        def written() -> Iterator[Rounds]:
            yield from tally.counted(batches)
            if not tally.rounds:
                raise nothing_read(_names(source), first_bad)

        format.save(out, written(), opened.layout, known, new=not overwrite)
    return Conversion(
        target_format=format.name,
        rounds=tally.rounds,
        contexts=str(opened.layout),
        slate_size=opened.layout.slate_size,
        actions_seen=len(tally.actions),
        mean_reward=tally.reward / tally.rounds,
        smallest_propensity=tally.smallest,
        skipped=skipped,
        skipped_file=str(aside) if skip_bad else None,
        not_held=not_held,
    )


def _refuse_existing(paths: list[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InvalidArgumentError(
                f"{path} exists, and convert writes to a new file, the last one named; name "
                "another, or replace it with --overwrite (overwrite=True)"
            )


def _opened(
    source: AnyLog,
    from_format: str | None,
    rules: Rules,
    report: Report | None,
    max_bytes: int | None,
) -> Source:
    if not isinstance(source, Log | LogFile):
        return open_source(log_paths(source), from_format, rules, report)
    of_files = {
        "from_format": from_format,
        "reward_range": rules.reward_range,
        "missing_reward": rules.missing_reward,
        "columns": rules.columns,
        "actions": rules.actions,
        "max_bytes": max_bytes,
    }
    for name, value in of_files.items():
        if value is not None:
            raise InvalidArgumentError(
                f"{name} says how files are read and must be None for a {type(source).__name__}, "
                f"which is open already, got {value!r}; give it to LogFile"
            )
    if isinstance(source, LogFile):
        return source.reopened(report, n_actions=rules.n_actions, allow_missing=False)
    return _LogSource(source, rules.n_actions)


def _names(source: AnyLog) -> list[Any]:
    return [source] if isinstance(source, Log | LogFile) else list(as_paths(source))


class _LogSource:
    """A log in memory, whose rounds were checked when it was made, in batches like those of files.

    Raises `InvalidArgumentError` if an action is not below the declared number of actions.
    """

    def __init__(self, log: Log, n_actions: int | None) -> None:
        self._log = log
        self.layout = next(log.rounds()).layout
        self.n_rounds = len(log)
        self.numbered, self.cells = log.action_names is None, frozenset[str]()
        if n_actions is not None:
            integer("n_actions", n_actions, low=self.n_actions(), hint="the log's actions need it")

    def n_actions(self) -> int:
        """Largest action number, plus one."""
        if self._log.action_names is not None:
            return len(self._log.action_names)
        available = self._log.available
        known = int(self._log.actions.max(initial=-1)) + 1
        return known if available is None else max(known, available.n_actions)

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order."""
        for start in range(0, len(self._log), BATCH):
            yield from self._log[start : start + BATCH].rounds()


class _Tally:
    """What passes by."""

    def __init__(self) -> None:
        self.rounds = 0
        self.reward = 0.0
        self.smallest = 1.0
        self.actions: set[int] = set()

    def counted(self, batches: Iterable[Rounds]) -> Iterator[Rounds]:
        for rounds in batches:
            self.rounds += len(rounds)
            self.reward += float(rounds.rewards.sum())
            self.smallest = min(self.smallest, float(rounds.propensities.min()))
            self.actions.update(np.unique(rounds.actions).tolist())
            yield rounds
