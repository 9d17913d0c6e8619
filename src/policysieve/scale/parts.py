"""A log in parts: workers of a cluster read them, and do what can be done with each alone."""

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.files import Paths
from policysieve.log import Log, LogFile, Rounds
from policysieve.stored import StoredFile

if TYPE_CHECKING:
    from policysieve.scale.engine import RayEngine

__all__ = ["PART_ROUNDS", "Part", "PartedLog"]

Value = TypeVar("Value")

PART_ROUNDS = 1 << 20
_LEAST = 1 << 17  # rounds of a part, if fewer than that make one for each worker:
_EACH = 4  # parts


class Part(NamedTuple):
    """Rounds of a log, and in which files they lie."""

    start: int
    stop: int
    where: str

    def __str__(self) -> str:
        return f"{self.where}, rounds {self.start:,} to {self.stop - 1:,}"


class PartedLog(LogFile):
    """A log of many files whose parts are read by the workers of a cluster.

    It is taken like any other log: by `select`, `check_log`, `design` and everything else. What can
    be worked out from each part alone is done where it is read, and comes back in the order of the
    parts, so that results are those of one process. `RayEngine.log` opens one.
    """

    def __init__(
        self, engine: "RayEngine", paths: Paths, *, part_rounds: int = PART_ROUNDS, **rules: Any
    ) -> None:
        self._engine = engine
        self._most = integer("part_rounds", part_rounds, low=1)
        super().__init__(paths, **rules)
        self.starts(self._most)  # raises if there are none

    def pieces(self) -> Iterator[Log]:
        """The rounds in order, as logs that fit into memory; a missing reward is an error."""
        return self._over(_pieces)

    def rounds(self) -> Iterator[Rounds]:
        """The same with ids and times, and with NaN for missing rewards."""
        return self._over(_rounds)

    def mapped(
        self,
        function: Callable[..., Value],
        what: str = "a function",
        now: Callable[[], Any] | None = None,
    ) -> Iterator[Value]:
        """What a function says of each of the `pieces`, in order, worked out by the workers.

        With `now` it is also given what that returned when the part was sent to a worker.
        """
        return self._over(_mapped, self._engine.share(function, what), now=now)

    def _over(
        self, function: Callable[..., Any], *more: Any, now: Callable[[], Any] | None = None
    ) -> Iterator[Any]:
        """All that a function returns for each of the parts, in order."""
        log = self._engine.share(self._plain(), "the log")
        parts = ((part, () if now is None else (now(),)) for part in self._parts())
        found = self._engine.map(function, parts, log, *more, name=lambda item: str(item[0]))
        return chain.from_iterable(found)

    def _plain(self) -> LogFile:
        """The same for one process."""
        plain = object.__new__(LogFile)
        plain.__dict__.update(self.__dict__)
        del plain.__dict__["_engine"]
        return plain

    def _parts(self) -> list[Part]:
        """Neighbours of few rounds are one part."""
        fair = len(self) // (_EACH * self._engine.workers)
        most = min(self._most, max(_LEAST, fair))
        starts = self.starts(most)
        ends = [*(start for start, _ in starts[1:]), len(self)]
        parts: list[Part] = []
        for (start, where), end in zip(starts, ends, strict=True):
            last = parts[-1] if parts else None
            if last is not None and end - last.start <= most:
                first = last.where.partition(" to ")[0]
                parts[-1] = Part(
                    last.start, end, where if first == where else f"{first} to {where}"
                )
            else:
                parts.append(Part(start, end, where))
        return parts

    def _anew(self, **others: Any) -> LogFile:
        opened = super()._anew(**others)
        again = object.__new__(PartedLog)
        again.__dict__.update(opened.__dict__, _engine=self._engine, _most=self._most)
        return again


def opened(
    engine: "RayEngine",
    paths: Paths,
    filesystem: Any = None,
    **rules: Any,
) -> PartedLog:
    """The log of `RayEngine.log`."""
    every: list[Any] = [paths] if isinstance(paths, str | os.PathLike | StoredFile) else [*paths]
    if filesystem is None:
        return PartedLog(engine, [_absolute(path) for path in every], **rules)
    if not all(isinstance(path, str) for path in every):
        raise InvalidArgumentError("paths must be texts where a filesystem is given")
    stored = [StoredFile(path, filesystem, path) for path in every]
    return PartedLog(engine, stored, **rules)


def _absolute(path: Any) -> Any:
    """A path that is the same for workers, whose folder is another one."""
    if not isinstance(path, str | os.PathLike) or "://" in str(path):
        return path
    return os.path.abspath(path)


_Item = tuple[Part, tuple[Any, ...]]


def _pieces(item: _Item, log: LogFile) -> list[Log]:
    return list(log.between(item[0].start, item[0].stop).pieces())


def _rounds(item: _Item, log: LogFile) -> list[Rounds]:
    return list(log.between(item[0].start, item[0].stop).rounds())


def _mapped(item: _Item, log: LogFile, function: Callable[..., Any]) -> list[Any]:
    part, now = item
    return [function(piece, *now) for piece in log.between(part.start, part.stop).pieces()]
