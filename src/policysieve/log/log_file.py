"""A log on disk, in files of any format, read in pieces."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from policysieve.archives import most_bytes
from policysieve.checks import integer
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.files import Paths, as_paths
from policysieve.log.log import Log
from policysieve.log.mapping import ColumnMap
from policysieve.log.named import Names
from policysieve.log.rounds import Layout, Rounds
from policysieve.log.sources import Between, Later, Renumbered, parted
from policysieve.naming import as_names
from policysieve.reported import Carded
from policysieve.scaling import Range

if TYPE_CHECKING:
    from policysieve.formats.format import Source
    from policysieve.formats.rules import Report

__all__ = ["LogFile"]

Value = TypeVar("Value")


class LogFile(Carded):
    """A log on disk, in one file or several, of any format, read in pieces.

    It may be larger than memory. Text is looked through when it is opened, to find out what its
    contexts are, and read again by each loop over `pieces` or `rounds`: convert a log to Parquet if
    it is read often.

    Parameters
    ----------
    paths : path or sequence of paths
        Files of one format, read one after the other as one log; text may be compressed (``.gz``).
    format : str, optional
        A name in `policysieve.formats.FORMATS`; by default what the files' names and their first
        lines say.
    reward_range : (low, high), optional
        Least and largest reward that an item can have, if not 0 and 1; for formats with costs it
        is the range of minus the costs. By default what the files say, if they do: Parquet does.
    missing_reward : float, optional
        What a missing reward counts as, in units of the files.
    columns : mapping, optional
        Which columns of a table (CSV, newline JSON or Parquet) hold what, where they do not have
        names of our own: ``context`` (one column, or a list of the columns of a table of contexts),
        ``action``, ``propensity``, ``reward`` (one each, or a list with one for each item), and if
        need be ``id``, ``time``, ``slate``, ``position``, ``available``, ``unit``, and ``outcome``,
        a mapping from names of outcomes to columns. Other columns are not read.
    actions : sequence of str, optional
        Names of all actions, in the order of their numbers. By default actions that are names are
        numbered in alphabetical order.
    max_bytes : int, optional
        Memory that may be held at once: all of a log in `Log.load`, else one batch of rounds. A
        small file can unpack to any size. By default 4 GiB, and for all of a log a hundred times
        the size of its files if that is more.

    Attributes
    ----------
    layout : Layout
        What all its rounds have in common.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If a file cannot be read, holds no rounds, does not fit those before it, or a row of it
        breaks a rule; the file, the line and the reason are named. Some rows are judged only when
        they are read.
    InvalidArgumentError
        If the format is not known, the files are of several, or the range is none.
    """

    def __init__(
        self,
        paths: Paths,
        format: str | None = None,
        *,
        reward_range: tuple[float, float] | None = None,
        missing_reward: float | None = None,
        columns: Mapping[str, Any] | ColumnMap | None = None,
        actions: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> None:
        from policysieve.formats.rules import MAX_BYTES, Rules

        self._paths, self._format, self._limit = paths, format, max_bytes
        self._order: Names = None  # of actions, if not that of the files or of the rules
        self._rules = Rules(
            reward_range=reward_range,
            missing_reward=missing_reward,
            columns=columns if columns is None else ColumnMap.of(columns),
            actions=actions if actions is None else as_names("actions", actions),
            max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
        )
        self._skipped = 0
        self._source = self.reopened()
        if self.action_names is not None:
            try:
                as_names("actions", self.action_names)
            except InvalidArgumentError as error:
                raise FileFormatError(f"{paths}: {error}") from error

    @property
    def layout(self) -> Layout:
        """What all rounds have in common."""
        return self._source.layout

    @property
    def action_names(self) -> Names:
        """What the numbers of the actions stand for; None if nothing is known of that."""
        return self.layout.action_names

    @property
    def reward_range(self) -> Range:
        """Least and largest reward that an item can have; None for 0 and 1."""
        return self.layout.reward_range

    @property
    def says_range(self) -> bool:
        """Whether the files say in which range rewards lie, or it was given."""
        return self._rules.reward_range is not None or self.reward_range is not None

    @property
    def has_distributions(self) -> bool:
        """Whether the propensities of all actions are known."""
        return self.layout.has_distributions

    @property
    def has_units(self) -> bool:
        """Whether the user or session of each round is named."""
        return self.layout.has_units

    @property
    def slate_size(self) -> int:
        """Number of items shown each round."""
        return self.layout.slate_size

    def __len__(self) -> int:
        return self._source.n_rounds

    def __repr__(self) -> str:
        return f"LogFile({len(self):,} rounds, slate_size={self.slate_size}, {self.layout})"

    def whole(self) -> list[Log]:
        """All `pieces`, or raise if they take too much memory together."""
        from policysieve.formats.rules import too_large

        on_disk = sum(path.stat().st_size for path in as_paths(self._paths))
        limit = most_bytes(on_disk) if self._limit is None else self._limit
        held, pieces = 0, []
        for piece in self.pieces():
            held += piece.nbytes
            if held > limit:
                raise too_large(self, "the whole log is too large", held, limit)
            pieces.append(piece)
        return pieces

    def pieces(self) -> Iterator[Log]:
        """The rounds in order, as logs that fit into memory; a missing reward is an error."""
        for rounds in self.rounds():
            if np.isnan(rounds.rewards).any():
                self._refuse_missing_rewards()
            yield Log.trusted(
                rounds.contexts,
                rounds.actions,
                rounds.propensities,
                rounds.rewards,
                distributions=rounds.distributions,
                action_names=rounds.action_names,
                beside=rounds.beside,
                reward_range=rounds.reward_range,
            )

    def mapped(
        self,
        function: Callable[..., Value],
        what: str = "a function",
        now: Callable[[], Any] | None = None,
    ) -> Iterator[Value]:
        """What a function says of each of the `pieces`, in order.

        A log whose parts others read has it called there, too: `what` says in words what goes with
        the function to them. With `now` it is also given what that returns, when it is called or
        some time before.
        """
        if now is None:
            return map(function, self.pieces())
        return (function(piece, now()) for piece in self.pieces())

    def starts(self, most: int) -> list[tuple[int, str]]:
        """Where parts of about `most` rounds begin, none in two files, and in which file.

        Raises
        ------
        InvalidArgumentError
            If the files cannot be read in parts: only Parquet with one row for each round can.
        """
        return parted(self._source).starts(integer("most", most, low=1))

    def between(self, start: int, stop: int) -> "LogFile":
        """Some rounds of files that can be read in parts, from number `start` up to `stop`."""
        part = copy(self)
        part._source = Between(parted(self._source), start, stop)
        return part

    def rounds(self) -> Iterator[Rounds]:
        """The same with ids and times, and with NaN for missing rewards."""
        return self._source.batches()

    def since(self, start: int) -> "LogFile":
        """The same files without their first rounds: from number `start` on, counted from 0.

        Raises
        ------
        InvalidArgumentError
            If there is no such round.
        """
        skipped = integer("since", start, low=0, high=max(0, len(self) - 1))
        later = copy(self)
        later._skipped += skipped
        later._source = Later(self._source, skipped)
        return later

    def with_action_names(self, names: Sequence[str]) -> "LogFile":
        """The same files, with actions numbered in the order of `names`.

        Raises
        ------
        FileFormatError
            If an action has no name among them; the file, the line and the closest name are said.
        """
        wanted = as_names("names", names)
        known = self.action_names
        if known is not None and (self._source.numbered or set(known) <= set(wanted)):
            same = copy(self)  # numbers of a file keep the names that they were given
            same._order, same._source = wanted, Renumbered(self._source, wanted, self._where())
            return same
        return self._anew(actions=wanted)

    def read_with(self, names: Sequence[str]) -> "LogFile":
        """A log without names for those who have them.

        Numbers are numbers, but cells of text without a type may be names that look like numbers:
        they are if they cannot all be numbers, and an error if they could be either and mean other
        actions.

        Raises
        ------
        FileFormatError
            If they could be either.
        """
        cells = self._source.cells
        places = {name: number for number, name in enumerate(names)}
        other = sorted(
            (cell for cell in cells if places.get(cell, int(cell)) != int(cell)), key=int
        )
        if not other:
            return self
        if any(int(cell) >= len(names) for cell in cells):
            return self.with_action_names(names)
        cell = other[0]
        raise FileFormatError(
            f"{self._where()}: the action {cell} may be the name {cell!r}, which is action "
            f"{places[cell]}, or the number {cell}, which is the action named "
            f"{names[int(cell)]!r}; if it is a name, say so with LogFile(..., actions=[...]) "
            "or --actions; if it is a number, read the log without names, Log.load(path), or "
            "convert it to Parquet first"
        )

    def with_reward_range(self, reward_range: Range) -> "LogFile":
        """The same files, whose rewards have this range, which neither they nor anybody said.

        Raises
        ------
        FileFormatError
            If a reward is outside.
        """
        ranged = self._anew(reward_range=reward_range)
        return ranged if self._order is None else ranged.with_action_names(self._order)

    def _anew(self, **others: Any) -> "LogFile":
        """The same files opened again, with other arguments where these are given."""
        again = {
            "reward_range": self._rules.reward_range,
            "missing_reward": self._rules.missing_reward,
            "columns": self._rules.columns,
            "actions": self._rules.actions,
            "max_bytes": self._limit,
        }
        opened = LogFile(self._paths, self._format, **{**again, **others})
        return opened.since(self._skipped)

    def reopened(self, report: "Report | None" = None, **rules: Any) -> "Source":
        """The same files, read under other `Rules` where these are given."""
        from policysieve.formats.registry import open_source

        n_actions = None if self._order is None else rules.pop("n_actions", None)
        if n_actions is not None:
            least = len(self._order or ())
            integer("n_actions", n_actions, low=least, hint="the log's actions need it")
        source = open_source(self._paths, self._format, replace(self._rules, **rules), report)
        if self._order is not None:
            source = Renumbered(source, self._order, self._where())
        return Later(source, self._skipped) if self._skipped else source

    def _where(self) -> str:
        """Its files, for errors."""
        return ", ".join(map(str, as_paths(self._paths)))

    def _refuse_missing_rewards(self) -> NoReturn:
        """Raise an error that names the first row without a reward, found in one more reading."""
        for _ in self.reopened(allow_missing=False).batches():
            pass
        raise FileFormatError(f"{self._paths} changed while it was read; read it again")
