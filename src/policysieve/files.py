"""Paths, files that are whole or not there, and archives of arrays."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard
from uuid import uuid4

from policysieve.errors import InvalidArgumentError

__all__ = [
    "AnyPath",
    "Paths",
    "are_paths",
    "as_paths",
    "read_archive",
    "whole_or_nothing",
    "write_whole",
]

AnyPath = str | os.PathLike[str]
Paths = AnyPath | Sequence[AnyPath]


def are_paths(value: object) -> TypeGuard[Paths]:
    """Whether a value is one path, or a sequence of nothing but paths."""
    every = [value] if isinstance(value, str | os.PathLike) else value
    return isinstance(every, Sequence) and all(isinstance(one, str | os.PathLike) for one in every)


def as_paths(paths: Paths) -> list[Path]:
    """One path or several as a list."""
    if not are_paths(paths):
        raise InvalidArgumentError(
            f"paths must be a path or several paths, got {type(paths).__name__}"
        )
    every = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not every:
        raise InvalidArgumentError("paths must name at least one file, got none")
    return [Path(path) for path in every]


@contextmanager
def whole_or_nothing(path: AnyPath) -> Iterator[Path]:
    """A new name in the same folder to write to, which becomes `path` when all went well.

    If anything goes wrong, what was written is removed, and `path` is what it was before.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent} to write {target.name} into")
    partial = target.with_name(f"{target.name}.{uuid4().hex}.partial")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: AnyPath, data: bytes) -> None:
    """Write a file so that readers see all of it or what was there before."""
    with whole_or_nothing(path) as partial:
        partial.write_bytes(data)


def read_archive(path: AnyPath, *names: str) -> list[Any]:
    """Arrays of a ``.npz`` file by name; `KeyError` if one is missing, `TypeError` for ``.npy``."""
    import numpy as np

    with open(path, "rb") as raw:
        archive = np.load(raw, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise TypeError("it is one .npy array")
        with archive:
            return [archive[name] for name in names]
