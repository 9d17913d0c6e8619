"""Text in and out of files, compressed or not."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["read_lines", "write_text"]


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file with their ends; ``.gz`` is unpacked, a byte-order mark dropped."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} is not UTF-8 text ({error}); name its format if its suffix does not tell"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"{path} is not a readable gzip file ({error}); it may be truncated"
        ) from error


def write_text(path: Path, pieces: Iterable[str], *, compressed: bool) -> None:
    """Write UTF-8 text; the same text always gives the same bytes."""
    with path.open("wb") as plain:
        packed = gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if compressed else plain
        with io.TextIOWrapper(packed, encoding="utf-8", newline="") as file:
            file.writelines(pieces)
