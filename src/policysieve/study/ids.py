"""Ids of rounds: texts that say the place, or that users gave."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, insert, select

from policysieve.arrays import as_list, shown
from policysieve.errors import DecisionsError, InvalidArgumentError, UnknownIdsError
from policysieve.study.schema import ids as table

__all__ = ["as_ids", "default_ids", "ids_at", "insert_ids", "places_of"]

_LONGEST = 200  # characters
_FEW = 5  # ids that an error names
_DIGITS = 18  # of a place
_AT_ONCE = 500  # ids that are looked up at once

Places = npt.NDArray[np.int64]

_FIND = select(table.c.id, table.c.place).where(
    table.c.study == bindparam("number"), table.c.id.in_(bindparam("wanted", expanding=True))
)
_GIVEN = select(table.c.place, table.c.id).where(
    table.c.study == bindparam("number"),
    table.c.place.between(bindparam("low"), bindparam("high")),
)


def default_ids(mark: str, places: Any) -> npt.NDArray[np.object_]:
    """What rounds are called that nobody has named."""
    return np.array([f"{mark}-{place}" for place in places], dtype=object)


def as_ids(ids: Any, n: int | None = None, *, different: bool = True) -> list[str]:
    """Texts, so many if that is known and different if they must be, or raise."""
    if isinstance(ids, str):
        ids = [ids]
    if isinstance(ids, np.ndarray | Sequence):
        listed = as_list("ids", ids, "texts, one for each round")
        found = [str(one) if isinstance(one, np.str_) else one for one in listed]
    elif hasattr(ids, "to_list") or hasattr(ids, "to_pylist"):
        found = list(ids.to_list() if hasattr(ids, "to_list") else ids.to_pylist())
    else:
        raise InvalidArgumentError(f"ids must be texts, one for each round, got {shown(ids)}")
    if not _can_all_be_kept(found):
        wrong = next(one for one in found if not _can_be_kept(one))
        raise InvalidArgumentError(
            f"ids must be texts of 1 to {_LONGEST} characters, got {shown(wrong)}"
        )
    if n is not None and len(found) != n:
        raise InvalidArgumentError(f"ids must name each of the {n} rounds, got {len(found)}")
    if different and len(set(found)) != len(found):
        twice = next(one for one in found if found.count(one) > 1)
        raise InvalidArgumentError(f"ids must be different, got {shown(twice)} twice")
    return found


def _can_all_be_kept(ids: Sequence[Any]) -> bool:
    """Whether each can be; together in a moment if all are plain, as they mostly are."""
    try:
        together = "".join(ids)
    except TypeError:
        return False
    if together.isascii() and "\0" not in together:
        lengths = list(map(len, ids))
        return not lengths or (min(lengths) > 0 and max(lengths) <= _LONGEST)
    return all(map(_can_be_kept, ids))


def _can_be_kept(one: Any) -> bool:
    """Whether databases hold it: a text, not too long, no null, no half of a surrogate pair."""
    if not isinstance(one, str) or not 0 < len(one) <= _LONGEST or "\0" in one:
        return False
    return one.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in one)


def insert_ids(
    connection: Connection, study: int, mark: str, ids: Sequence[str], first: int
) -> None:
    """Name the rounds from a place on, or raise if a name is taken."""
    said = zip(ids, _places_in(mark, ids), strict=True)
    reserved = [one for one, place in said if place is not None]
    taken = _found(connection, study, ids)
    if reserved or taken:
        raise DecisionsError(
            f"ids must be new in this study, got {_few([*reserved, *taken])} again; what was "
            "decided for an id is found with decisions(ids)"
        )
    rows = [{"study": study, "id": one, "place": first + i} for i, one in enumerate(ids)]
    connection.execute(insert(table), rows)


def places_of(
    connection: Connection, study: int, mark: str, ids: Sequence[str], rounds: int
) -> Places:
    """Where rounds stand in the order of decisions, or raise naming those that are not known."""
    places = _places_in(mark, ids)
    others = [one for one, place in zip(ids, places, strict=True) if place is None]
    if others:
        given = _found(connection, study, others)
        places = [
            given.get(one, -1) if place is None else place
            for one, place in zip(ids, places, strict=True)
        ]
    found = np.array(places, np.int64)
    unknown = [ids[i] for i in np.flatnonzero((found < 0) | (found >= rounds)).tolist()]
    if unknown:
        raise UnknownIdsError(
            f"ids must be those of decisions of this study, got {_few(unknown)}, which it has not "
            "made; nothing was changed"
        )
    return found


def ids_at(
    connection: Connection, study: int, mark: str, places: Places
) -> npt.NDArray[np.object_]:
    """What rounds are called."""
    names = default_ids(mark, places.tolist())
    if len(places):
        bounds = {"number": study, "low": int(places.min()), "high": int(places.max())}
        given = {row.place: row.id for row in connection.execute(_GIVEN, bounds)}
        for index, place in enumerate(places.tolist()):
            names[index] = given.get(place, names[index])
    return names


def _places_in(mark: str, ids: Sequence[str]) -> list[int | None]:
    """The place that each id says, if it is a default one."""
    head = f"{mark}-"
    start, end = len(head), len(head) + _DIGITS
    places: list[int | None] = []
    for one in ids:
        number = one[start:]
        if (
            one.startswith(head)
            and len(one) <= end
            and number.isdecimal()
            and number.isascii()
            and (number[0] != "0" or number == "0")
        ):
            places.append(int(number))
        else:
            places.append(None)
    return places


def _found(connection: Connection, study: int, ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(ids), _AT_ONCE):
        wanted = {"number": study, "wanted": list(ids[start : start + _AT_ONCE])}
        found |= {row.id: row.place for row in connection.execute(_FIND, wanted)}
    return found


def _few(ids: Sequence[str]) -> str:
    named = ", ".join(map(repr, ids[:_FEW]))
    return named if len(ids) <= _FEW else f"{named} and {len(ids) - _FEW:,} more"
