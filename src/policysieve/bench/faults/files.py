"""Writers that are killed, that write at once, and that find the disk full."""

import random
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policysieve.bench.faults.apart import Fork
from policysieve.bench.faults.writers import CONTENTS, Writer, all_writers
from policysieve.errors import PolicySieveError

__all__ = ["full_disks", "killed_writers", "writers_at_once"]

Row = dict[str, Any]

_SHARES = (0.0, 0.3, 0.6, 0.95)  # of a file that the disk has room for


def killed_writers(*, kills: int, seed: int = 0, writers: Sequence[str] | None = None) -> list[Row]:
    """Kill writers so many times at random points each, and look at what they leave.

    Parameters
    ----------
    kills : int
    seed : int
    writers : sequence of str, optional
        Names of the writers; all by default.

    Returns
    -------
    list of dict
        For each writer: how many files were ``broken``, neither the last content that was
        acknowledged nor the next; how many acknowledged writes were ``lost``; and how many files
        were ``left_over`` after the next write. ``writes`` is how many were acknowledged in all.
    """
    rng = random.Random(seed)
    return _each(lambda writer, contents: _kills(writer, contents, kills, rng), writers)


def writers_at_once(*, seconds: float, writers: Sequence[str] | None = None) -> list[Row]:
    """Let two processes replace a file for so long, and read it meanwhile.

    Parameters
    ----------
    seconds : float
    writers : sequence of str, optional
        Names of the writers; all by default.

    Returns
    -------
    list of dict
        For each writer that replaces files: how many ``reads`` found a ``broken`` file, and what
        was ``left_over``; ``failed`` are writers that ended with an error.
    """
    return _each(
        lambda writer, contents: _at_once(writer, contents, seconds) if writer.replaces else None,
        writers,
    )


def full_disks(*, writers: Sequence[str] | None = None) -> list[Row]:
    """Let writers run out of room at several sizes.

    Parameters
    ----------
    writers : sequence of str, optional
        Names of the writers; all by default.

    Returns
    -------
    list of dict
        For each writer: how many errors were ``foreign``, neither the system's nor ours; how many
        writes were ``silent``, without an error; how many old files were ``broken``, and how many
        files were ``left_over``.
    """
    return _each(_full, writers)


def _each(
    measure: Callable[[Writer, list[bytes]], Row | None], names: Sequence[str] | None
) -> list[Row]:
    rows = []
    with TemporaryDirectory(prefix="policysieve-faults-") as folder:
        for writer in all_writers(Path(folder)):
            if names is not None and writer.name not in names:
                continue
            row = measure(writer, _written(writer))
            if row is not None:
                rows.append({"writer": writer.name, **row})
    return rows


def _written(writer: Writer) -> list[bytes]:
    """The bytes of every content."""
    contents = []
    for k in range(CONTENTS):
        writer.write(k)
        contents.append(writer.path.read_bytes())
    if len(set(contents)) < CONTENTS:
        raise RuntimeError(f"what {writer.name} writes cannot be told apart")
    return contents


def _kills(writer: Writer, contents: list[bytes], kills: int, rng: random.Random) -> Row:
    started = time.perf_counter()
    Fork(writer.write, calls=1).wait()
    took = time.perf_counter() - started
    row = {"kills": kills, "writes": 0, "broken": 0, "lost": 0, "left_over": 0, "failed": 0}
    for _ in range(kills):
        writer.write(CONTENTS - 1)  # what comes before content 0
        fork = Fork(writer.write)
        time.sleep(rng.uniform(0.0, 3 * took))
        fork.kill()
        done = fork.calls
        row["writes"] += done
        row["failed"] += bool(fork.error)
        _look(writer, contents, row, ((done - 1) % CONTENTS, done % CONTENTS))
        Fork(writer.write, calls=1).wait()
        row["left_over"] += _remove(writer)
    return row


def _look(writer: Writer, contents: list[bytes], row: Row, expected: tuple[int, int]) -> None:
    try:
        found = writer.path.read_bytes()
    except FileNotFoundError:
        row["broken"] += writer.replaces
        return
    if found not in contents:
        row["broken"] += 1
    elif contents.index(found) not in expected:
        row["lost"] += 1


def _at_once(writer: Writer, contents: list[bytes], seconds: float) -> Row:
    forks = [Fork(writer.write), Fork(lambda k: writer.write(k + 1))]
    reads = broken = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        broken += writer.path.read_bytes() not in contents
        reads += 1
    for fork in forks:
        fork.stop()
    return {
        "reads": reads,
        "writes": sum(fork.calls for fork in forks),
        "broken": broken,
        "failed": sum(bool(fork.error) for fork in forks),
        "left_over": _remove(writer),
    }


def _full(writer: Writer, contents: list[bytes]) -> Row:
    row = {"tried": 0, "foreign": 0, "silent": 0, "broken": 0, "left_over": 0}
    for share in _SHARES:
        writer.write(CONTENTS - 1)
        limit = int(share * len(contents[0]))

        def shrink(limit: int = limit) -> None:
            import resource  # not on Windows

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        fork = Fork(_ours(writer.write), calls=1, prepare=shrink)
        fork.wait()
        row["tried"] += 1
        row["silent"] += fork.calls
        row["foreign"] += bool(fork.error) and not fork.error.startswith("_RefusedError")
        _look(writer, contents, row, (CONTENTS - 1, CONTENTS - 1))
        row["left_over"] += _remove(writer)
    return row


class _RefusedError(Exception):
    """An error that says what is wrong: the system's, or ours."""


def _ours(write: Callable[[int], None]) -> Callable[[int], None]:
    def guarded(k: int) -> None:
        try:
            write(k)
        except (OSError, PolicySieveError) as error:
            raise _RefusedError(str(error)) from error

    return guarded


def _remove(writer: Writer) -> int:
    left = writer.left_over()
    for path in left:
        path.unlink()
    return len(left)
