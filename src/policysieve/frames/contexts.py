"""Contexts of either kind, arrays or rows of a table, for who need not know which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.frames.frame import ContextFrame
from policysieve.frames.frame_type import FrameType

__all__ = ["Contexts", "common_type", "concatenated", "is_tabular", "kind_of", "read_only", "same"]


Contexts = npt.NDArray[Any] | ContextFrame
"""Contexts that were checked: an array with one entry or row for each, or rows of a table."""


def concatenated(parts: Sequence[Any]) -> Any:
    """Arrays, or contexts of any kind, one after the other."""
    frames = [isinstance(part, ContextFrame) for part in parts]
    if all(frames):
        return ContextFrame.concatenate(parts)
    if any(frames):
        kinds = [kind_of(part.dtype) for part in parts]
        raise InvalidArgumentError(
            "contexts must be of one kind in all logs, got "
            f"{' and '.join(dict.fromkeys(kinds))}; keep them apart"
        )
    return np.concatenate(parts)


def common_type(one: Any, two: Any) -> Any:
    """The type that holds contexts of two types of one kind, or raise."""
    if isinstance(one, FrameType):
        return one.joined(two)
    return np.result_type(one, two)


def kind_of(dtype: Any) -> str:
    """What contexts of a type are, in a word: a log holds contexts of one kind."""
    if dtype.kind == "frame":
        return "sparse rows" if dtype.is_sparse else "rows of a table"
    return "strings" if dtype.kind == "O" else "numbers"


def read_only(contexts: Any) -> None:
    """Let nobody change an array; rows of a table never change."""
    if isinstance(contexts, np.ndarray):
        contexts.setflags(write=False)


def same(one: Any, two: Any) -> bool:
    """Whether two arrays, or contexts of any kind, are equal."""
    if isinstance(one, ContextFrame):
        return one.same_as(two)
    if isinstance(two, ContextFrame) or one.shape != two.shape:
        return False
    return bool((one == two).all())


def is_tabular(contexts: Any) -> bool:
    """Whether contexts are a table, a row or rows with names, or a sparse matrix: not an array."""
    if isinstance(contexts, np.ndarray | str):
        return False
    if isinstance(contexts, list | tuple):
        return bool(contexts) and isinstance(contexts[0], Mapping)
    if isinstance(contexts, ContextFrame | Mapping) or hasattr(contexts, "tocsr"):
        return True
    if hasattr(type(contexts), "collect"):
        raise InvalidArgumentError(
            f"contexts must be rows that are there, got a {type(contexts).__name__}, which is a "
            "plan; pass contexts.collect()"
        )
    return hasattr(contexts, "columns")
