"""Text in and out of files: compressed or not, whole or not at all."""

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["read_lines", "whole_or_nothing", "write_text"]


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


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` if all goes well and disappears if not."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
