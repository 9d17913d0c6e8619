"""A log in parts: workers of a cluster read them, and do what can be done with each alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from policysieve.errors import InvalidArgumentError
from policysieve.files import Paths
from policysieve.log import Log, LogFile, Rounds
from policysieve.stored import StoredFile

if TYPE_CHECKING:
    from policysieve.scale.engine import RayEngine

__all__ = ["Part", "PartedLog"]

Value = TypeVar("Value")

_MOST = 1 << 20  # rounds of a part,
_LEAST = 1 << 16  # unless there are too few for all workers:
_EACH = 4  # parts for each of them


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

    def __init__(self, engine: "RayEngine", paths: Paths, **rules: Any) -> None:
        self._engine = engine
        super().__init__(paths, **rules)
        self.starts(_MOST)  # raises if there are none

    @property
    def apart(self) -> bool:
        """Whether its parts are read by other processes than this one."""
        return True

    def pieces(self) -> Iterator[Log]:
        """The rounds in order, as logs that fit into memory; a missing reward is an error."""
        return self._over(_pieces, self._parts())

    def rounds(self) -> Iterator[Rounds]:
        """The same with ids and times, and with NaN for missing rewards."""
        return self._over(_rounds, self._parts())

    def mapped(self, function: Callable[[Log], Value], what: str = "a function") -> Iterator[Value]:
        """What a function says of each of the `pieces`, in order, worked out by the workers."""
        return self._over(_mapped, self._parts(), self._engine.share(function, what))

    def _over(
        self, function: Callable[..., Any], parts: Sequence[Part], *more: Any
    ) -> Iterator[Any]:
        """All that a function returns for each of the parts, in order."""
        log = self._engine.share(self._plain(), "the log")
        return chain.from_iterable(self._engine.map(function, parts, log, *more))

    def _plain(self) -> LogFile:
        """The same for one process."""
        plain = object.__new__(LogFile)
        plain.__dict__.update({k: v for k, v in self.__dict__.items() if k != "_engine"})
        return plain

    def _parts(self) -> list[Part]:
        """Neighbours of few rounds are one part."""
        fair = len(self) // (_EACH * self._engine.workers)
        most = min(_MOST, max(_LEAST, fair))
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
        again.__dict__.update(opened.__dict__, _engine=self._engine)
        return again


def opened(
    engine: "RayEngine",
    paths: Paths,
    filesystem: Any = None,
    **rules: Any,
) -> PartedLog:
    """The log of `RayEngine.log`."""
    if filesystem is not None:
        every = [paths] if isinstance(paths, str) else list(paths)  # type: ignore[arg-type]
        if not all(isinstance(path, str) for path in every):
            raise InvalidArgumentError("paths must be texts where a filesystem is given")
        paths = [StoredFile(str(path), filesystem, str(path)) for path in every]
    return PartedLog(engine, paths, **rules)


def _pieces(part: Part, log: LogFile) -> list[Log]:
    return list(log.between(part.start, part.stop).pieces())


def _rounds(part: Part, log: LogFile) -> list[Rounds]:
    return list(log.between(part.start, part.stop).rounds())


def _mapped(part: Part, log: LogFile, function: Callable[[Log], Any]) -> list[Any]:
    return [function(piece) for piece in log.between(part.start, part.stop).pieces()]
