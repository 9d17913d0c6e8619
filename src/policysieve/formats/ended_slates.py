"""Slates that have ended: one that comes again has rows that do not follow each other."""

from typing import Any

from policysieve.arrays import shown

__all__ = ["REMEMBERED", "EndedSlates"]

REMEMBERED = 100_000  # slates: rows that are mixed up are near each other


class EndedSlates:
    """The slates of late in all files of one log, and where each was."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def fault(self, slate: Any, place: str) -> str:
        """Why a slate at some place must not be there, or ""; it is noted if it is new.

        Its rows would be taken for several rounds.
        """
        key = repr(slate)
        before = self._places.setdefault(key, place)
        if len(self._places) > REMEMBERED:
            del self._places[next(iter(self._places))]
        if before == place:
            return ""
        return (
            f"rows of one slate must follow each other, {shown(slate)} was there in {before} "
            "already; sort the rows by their slate"
        )
