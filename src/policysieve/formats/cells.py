"""Numbers and times out of text."""

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from policysieve.errors import FileFormatError

__all__ = [
    "as_number",
    "as_timestamp",
    "as_whole",
    "earned",
    "finite",
    "finite_row",
    "seconds",
    "whole",
]

_LARGEST = 2**63 - 1
_TRUTH = {"true": 1.0, "false": 0.0}


def as_whole(text: str) -> int | None:
    """The whole number that a text is, or None; within 64 bits."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if "_" not in text and -_LARGEST - 1 <= value <= _LARGEST else None


def as_number(text: str) -> float | None:
    """The number that a text is, or None; it may be infinite or NaN."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def whole(name: str, text: str) -> int:
    """A whole number of 64 bits, else an error that names it."""
    value = as_whole(text)
    if value is None:
        raise FileFormatError(f"{name} must be a whole number, got {text!r}")
    return value


def finite(name: str, text: str) -> float:
    """A finite number, else an error that names it."""
    value = as_number(text)
    if value is None or not math.isfinite(value):
        raise FileFormatError(f"{name} must be a finite number, got {text!r}{_hint(text)}")
    return value


def earned(name: str, text: str) -> float:
    """A reward: a finite number, or 1 and 0 for true and false."""
    plain = text.strip().lower()
    if plain in ("yes", "no", "y", "n", "t", "f"):
        raise FileFormatError(
            f"{name} must be a finite number, got {text!r}; write true or false, or 1 and 0"
        )
    return _TRUTH[plain] if plain in _TRUTH else finite(name, text)


def _hint(text: str) -> str:
    """What to write in place of a percent sign or a comma, else nothing."""
    plain = text.strip().removesuffix("%").replace(",", ".")
    if as_number(plain) is None:
        return ""
    if "%" in text:
        return "; write it as a share, without a percent sign, such as 0.25 for 25%"
    return "; write it with a point, not a comma" if "," in text else ""


def finite_row(names: Sequence[str], cells: Sequence[str]) -> list[float]:
    """Finite numbers, else an error that names the first cell that is none."""
    if "_" not in "".join(cells):
        with suppress(ValueError):
            row = list(map(float, cells))
            if all(map(math.isfinite, row)):
                return row
    return [finite(name, cell) for name, cell in zip(names, cells, strict=True)]


def seconds(name: str, text: str) -> float:
    """Seconds since 1970-01-01 UTC, from a number of them or an ISO 8601 date and time.

    Without an offset the time is UTC.
    """
    value = as_number(text)
    if value is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise FileFormatError(
                f"{name} must be seconds since 1970 or an ISO 8601 time such as "
                f"2024-05-01T12:00:00Z, got {text!r}"
            ) from error
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(value):
        raise FileFormatError(f"{name} must be finite, got {text!r}")
    return value


def as_timestamp(time: float) -> str:
    """An ISO 8601 time in UTC, to the microsecond."""
    return datetime.fromtimestamp(time, tz=UTC).isoformat()
