"""How long something may take: ``"2h"``, seconds, or a timedelta."""

import re
from datetime import timedelta
from typing import Any

from policysieve.arrays import shown
from policysieve.checks import number
from policysieve.errors import InvalidArgumentError

__all__ = ["in_words", "seconds"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")


def seconds(name: str, duration: Any) -> float:
    """A duration in seconds, or raise."""
    if isinstance(duration, str):
        found = _TEXT.fullmatch(duration)
        if found is None:
            raise InvalidArgumentError(
                f"{name} must be a duration such as 90s, 15m, 2h, 3d or 1w, or seconds, got "
                f"{shown(duration)}"
            )
        duration = float(found[1]) * _UNITS[found[2]]
    elif isinstance(duration, timedelta):
        duration = duration.total_seconds()
    return number(name, duration, above=0, below=float("inf"), closed_below=True)


def in_words(duration: float) -> str:
    """A duration as `seconds` takes it, in the largest unit that leaves a short number."""
    for unit, size in reversed(_UNITS.items()):
        if duration >= size:
            return f"{duration / size:.3g}{unit}"
    return f"{duration:.3g}s"
