"""The lines of text files: read, packed by gzip or not, cut into rows, and written."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from policysieve.errors import FileFormatError
from policysieve.formats.rules import too_large

__all__ = ["Lines", "RawRow", "plain_lines", "write_text"]

_GZIP = b"\x1f\x8b"  # how gzip files start


class Lines:
    """Lines of a UTF-8 file with their ends; ``.gz`` is unpacked, a byte-order mark dropped.

    Parameters
    ----------
    path : Path
    longest : int
        Characters that the lines of one row may have.

    Attributes
    ----------
    number : int
        How many lines were read.
    row : list of str
        Those of them since the last `next_row`.
    """

    def __init__(self, path: Path, longest: int) -> None:
        self.number = 0
        self.row: list[str] = []
        self._path, self._longest, self._left = path, longest, longest
        self._lines = _read_lines(path, lambda: self._left + 1)

    def next_row(self) -> None:
        """Begin a new row."""
        self.row, self._left = [], self._longest

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._left -= len(line)
        if self._left < 0:
            what = f"the row in line {self.number + 1 - len(self.row)} is too long"
            share = ", a sixteenth of the limit"
            raise too_large(self._path, what, self._longest + 1, self._longest, share)
        self.number += 1
        self.row.append(line)
        return line


def _read_lines(path: Path, most: Callable[[], int]) -> Iterator[str]:
    """Lines of at most so many characters each, cut there."""
    opener = gzip.open if _is_packed(path) else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            while line := file.readline(most()):
                yield str(line)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} is not UTF-8 text ({error}); save it as UTF-8, or name its format if it is "
            "not text"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"{path} is not a readable gzip file ({error}); it may be truncated"
        ) from error


def _is_packed(path: Path) -> bool:
    """Whether the name ends in ``.gz``; raises if the first bytes say something else."""
    with path.open("rb") as file:
        start = file.read(len(_GZIP))
    named = path.suffix == ".gz"
    if named and start and start != _GZIP:
        raise FileFormatError(
            f"{path} is not compressed by gzip, but its name ends in .gz; leave that out of it"
        )
    if start == _GZIP and not named:
        raise FileFormatError(
            f"{path} is compressed by gzip; unpack it, or let its name end in .gz"
        )
    return named


def write_text(path: Path, pieces: Iterable[str], *, compressed: bool) -> None:
    """Write UTF-8 text; the same text always gives the same bytes."""
    with path.open("wb") as plain:
        packed = gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if compressed else plain
        with io.TextIOWrapper(packed, encoding="utf-8", newline="") as file:
            file.writelines(pieces)


class RawRow(NamedTuple):
    """A row before it is understood: its first line counted from 1, its text, its parts.

    Where several lines are one slate, they say of which; else that is None.
    """

    line: int
    text: str
    parts: Any
    slate: Any = None


def plain_lines(path: Path, longest: int) -> Iterator[RawRow]:
    """The lines of a file that are not blank."""
    lines = Lines(path, longest)
    for line in lines:
        text = line.rstrip("\r\n")
        if text.strip():
            yield RawRow(lines.number, text, text)
        lines.next_row()
