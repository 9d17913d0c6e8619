"""Text in and out of files, compressed or not."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["read_lines", "write_text"]

_GZIP = b"\x1f\x8b"  # how gzip files start


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file with their ends; ``.gz`` is unpacked, a byte-order mark dropped."""
    opener = gzip.open if _is_packed(path) else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
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
