"""Open files of a log, seen in another way: with other names, in part, or from a round on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.log.rounds import Rounds
from policysieve.naming import number_of

if TYPE_CHECKING:
    from policysieve.formats.format import PartedSource, Source

__all__ = ["Between", "Later", "Renumbered", "parted"]


def parted(source: "Source") -> "PartedSource":
    """The same files, if they can be read in parts, else an error."""
    from policysieve.formats.format import PartedSource

    if not isinstance(source, PartedSource):
        raise InvalidArgumentError(
            "log must be Parquet to be read in parts; convert it first, with policysieve convert"
        )
    return source


class Renumbered:
    """Files that are open, with actions in another order of names."""

    def __init__(self, source: "Source", names: tuple[str, ...], where: str) -> None:
        self._source, self._names, self._where = source, names, where
        self.layout = replace(source.layout, action_names=names)
        self.n_rounds, self.numbered = source.n_rounds, source.numbered
        self.cells: frozenset[str] = frozenset()  # named by now

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order."""
        return self._named(self._source.batches(), 0)

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts begin."""
        return parted(self._source).starts(most)

    def between(self, start: int, stop: int) -> Iterator[Rounds]:
        """Some of the rounds."""
        return self._named(parted(self._source).between(start, stop), start)

    def _named(self, batches: Iterator[Rounds], first: int) -> Iterator[Rounds]:
        known = frozenset(self._source.layout.action_names or ()) <= frozenset(self._names)
        for rounds in batches:
            if not known:
                self._check_known(rounds, first)
            first += len(rounds)
            yield rounds.with_action_names(self._names)

    def _check_known(self, rounds: Rounds, first: int) -> None:
        """Raise if a round has an action without its name among the new ones."""
        lacking = set(rounds.action_names or ()) - set(self._names)
        every = zip(
            rounds.plain_actions(),
            rounds.plain_distributions(),
            rounds.plain_available(),
            strict=True,
        )
        for i, (shown, pairs, available) in enumerate(every):
            for name in [*shown, *(action for action, _ in pairs or ()), *(available or ())]:
                if name in lacking:
                    what = f"{self._where}, round {first + i}: an action"
                    try:
                        number_of(what, name, self._names)
                    except InvalidArgumentError as error:
                        raise FileFormatError(str(error)) from None

    def n_actions(self) -> int:
        """How many names there are."""
        return len(self._names)


class Between:
    """Files that are open, but for some of their rounds."""

    def __init__(self, source: "PartedSource", start: int, stop: int) -> None:
        self._source, self._start = source, start
        self.layout, self.numbered, self.cells = source.layout, source.numbered, source.cells
        self.n_rounds = stop - start

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order."""
        return self._source.between(self._start, self._start + self.n_rounds)

    def n_actions(self) -> int:
        """The number of actions of all rounds."""
        return self._source.n_actions()


class Later:
    """Files that are open, without their first rounds."""

    def __init__(self, source: "Source", skipped: int) -> None:
        self._source, self._skipped = source, skipped
        self.layout, self.numbered, self.cells = source.layout, source.numbered, source.cells
        self.n_rounds = source.n_rounds - skipped

    def batches(self) -> Iterator[Rounds]:
        """The rounds in order."""
        left = self._skipped
        for rounds in self._source.batches():
            if left < len(rounds):
                yield rounds.where(np.arange(len(rounds)) >= left) if left else rounds
            left = max(0, left - len(rounds))

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts begin."""
        every = parted(self._source).starts(most)
        first = max((one for one in every if one[0] <= self._skipped), default=(0, ""))
        later = [(start - self._skipped, file) for start, file in every if start > self._skipped]
        return [(0, first[1]), *later]

    def between(self, start: int, stop: int) -> Iterator[Rounds]:
        """Some of the rounds."""
        before = self._skipped
        return parted(self._source).between(before + start, before + stop)

    def n_actions(self) -> int:
        """The number of actions of all rounds, so that formats agree on it."""
        return self._source.n_actions()
