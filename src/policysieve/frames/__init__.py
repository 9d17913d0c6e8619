"""Contexts that are rows of a table: columns have names and types, and values may be missing."""

from policysieve.frames.casting import levels_of, united
from policysieve.frames.contexts import (
    Contexts,
    common_type,
    concatenated,
    is_tabular,
    kind_of,
    read_only,
    same,
)
from policysieve.frames.copying import own_copy
from policysieve.frames.frame import ContextFrame
from policysieve.frames.frame_type import FrameType, check_columns

__all__ = [
    "ContextFrame",
    "Contexts",
    "FrameType",
    "check_columns",
    "common_type",
    "concatenated",
    "is_tabular",
    "kind_of",
    "levels_of",
    "own_copy",
    "read_only",
    "same",
    "united",
]
