"""From one format to another, in pieces: all of a file or nothing."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.files import AnyPath, Paths, as_paths, whole_or_nothing
from policysieve.formats.registry import find_format, open_source
from policysieve.formats.rules import BadRow, Rules, nothing_read
from policysieve.log import Rounds

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
        Mean over rounds of the sum of a round's rewards, each in [0, 1].
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
    source: Paths,
    target: AnyPath,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    reward_range: tuple[float, float] | None = None,
    n_actions: int | None = None,
    missing_reward: float | None = None,
    skip_bad: bool = False,
    track: Callable[[Iterable[Rounds], int], Iterable[Rounds]] | None = None,
) -> Conversion:
    """Convert a log from one format to another; the target appears when all is written.

    Parameters
    ----------
    source : path or sequence of paths
        Files of one format, which become one.
    target : path
        Text is compressed if the name ends in ``.gz``.
    from_format, to_format : str, optional
        Names in `FORMATS`; by default what the files' names say.
    reward_range : (low, high), optional
        Range of the source's rewards, mapped to [0, 1]; of minus the costs for formats with costs.
    n_actions : int, optional
        Number of actions: larger ones are refused, and formats with a line for each action have so
        many. By default the largest action seen, plus one.
    missing_reward : float, optional
        What a missing reward counts as, in units of the source; by default its row is bad.
    skip_bad : bool
        Leave out rows that break a rule, and write them with file, line and reason to
        ``TARGET.skipped.jsonl``. Otherwise the first is an error, and nothing is written.
    track : function, optional
        Wraps the batches as they are read, given the number of rounds; for a progress bar.

    Raises
    ------
    FileFormatError
        If the source cannot be read, a row breaks a rule or its reward is missing.
    InvalidArgumentError
        If a format is not known, or cannot hold the rounds.
    """
    out = Path(target)
    format = find_format(out, to_format)
    rules = Rules(
        reward_range=reward_range,
        n_actions=n_actions,
        allow_missing=False,
        missing_reward=missing_reward,
    )
    skipped = 0
    first_bad: BadRow | None = None
    tally = _Tally()
    with ExitStack() as stack:
        report = None
        if skip_bad:
            aside = out.with_name(out.name + ".skipped.jsonl")
            partial = stack.enter_context(whole_or_nothing(aside))
            file = stack.enter_context(partial.open("w", encoding="utf-8"))

            def report(bad: BadRow) -> None:
                nonlocal skipped, first_bad
                skipped += 1
                first_bad = first_bad or bad
                file.write(json.dumps(asdict(bad)) + "\n")

        opened = open_source(source, from_format, rules, report)
        not_held = format.not_held(opened.layout)
        known = (n_actions or opened.n_actions()) if format.needs_actions else 0
        batches: Iterable[Rounds] = opened.batches()
        if track is not None:
            batches = track(batches, opened.n_rounds)

        def written() -> Iterator[Rounds]:
            yield from tally.counted(batches)
            if not tally.rounds:
                raise nothing_read(as_paths(source), first_bad)

        format.save(out, written(), opened.layout, known)
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
