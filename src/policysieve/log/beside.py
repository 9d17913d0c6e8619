"""What a log may have beside its four columns: what was available, who came, other outcomes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, real_numbers, shown
from policysieve.availability import Available
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.naming import as_names

__all__ = ["NOTHING", "Beside", "as_outcomes", "as_units"]

_AVAILABLE, _UNITS = ("available",), ("units",)
Key = tuple[str, ...]


class Beside:
    """Columns that only some logs have. A value; `plus` takes amortised constant time for a round.

    Parameters
    ----------
    available : Available, optional
        The actions that could be shown.
    units : object array of shape (n,), optional
        The user or session of each round, as text.
    outcomes : dict of float arrays of shape (n, m)
        Other rewards of the shown items by their names; NaN where one is not known.
    """

    __slots__ = ("_columns", "_keys", "_n_actions")

    def __init__(
        self,
        available: Available | None = None,
        units: npt.NDArray[np.object_] | None = None,
        outcomes: Mapping[str, npt.NDArray[np.float64]] | None = None,
    ) -> None:
        found: dict[Key, npt.NDArray[Any]] = {}
        if available is not None:
            found[_AVAILABLE] = available.bits
        if units is not None:
            found[_UNITS] = units
        found |= {("outcomes", name): values for name, values in (outcomes or {}).items()}
        width = None if available is None else available.n_actions
        self._hold(tuple(found), Columns(*found.values()), width)

    def _hold(self, keys: tuple[Key, ...], columns: Columns, n_actions: int | None) -> None:
        for array in columns.arrays:
            array.flags.writeable = False
        self._keys, self._columns, self._n_actions = keys, columns, n_actions

    def __bool__(self) -> bool:
        """Whether there is any such column."""
        return bool(self._keys)

    @property
    def available(self) -> Available | None:
        """The actions that could be shown; None if nothing is known of that."""
        bits = self._at(_AVAILABLE)
        return None if bits is None else Available(bits, self._n_actions or 0)

    @property
    def units(self) -> npt.NDArray[np.object_] | None:
        """The user or session of each round; None if they are not named."""
        return self._at(_UNITS)

    @property
    def outcomes(self) -> dict[str, npt.NDArray[np.float64]]:
        """Other rewards of the shown items by their names, shape (n, m); NaN if not known."""
        pairs = zip(self._keys, self._columns.arrays, strict=True)
        return {key[1]: values for key, values in pairs if key[0] == "outcomes"}

    @property
    def nbytes(self) -> int:
        """Memory that these columns take, without the texts of units."""
        return sum(array.nbytes for array in self._columns.arrays)

    def __getitem__(self, rows: Any) -> "Beside":
        return self._of(*(array[rows] for array in self._columns.arrays)) if self else self

    def copy(self) -> "Beside":
        """The same with memory of its own."""
        return self._of(*(array.copy() for array in self._columns.arrays)) if self else self

    def plus(self, n: int, later: "Beside", n_later: int) -> "Beside":
        """These columns of n rounds, and others behind them.

        Where only one of both says what was available, all actions were in the other; where only
        one has an outcome, it is not known in the other.

        Raises
        ------
        InvalidArgumentError
            If only one of both has units.
        """
        if not n_later or not (self or later):
            return self
        if not n:
            return later
        first, second = self, later
        if first._keys != second._keys or first._n_actions != second._n_actions:
            first, second = first._like(second, n), second._like(first, n_later)
            if first._keys != second._keys:
                arrays = dict(zip(second._keys, second._columns.arrays, strict=True))
                second = first._of(*(arrays[key] for key in first._keys))
        longer = object.__new__(Beside)
        columns = first._columns.plus(*second._columns.arrays)
        longer._hold(first._keys, columns, first._n_actions)
        return longer

    def renumbered(self, numbers: npt.NDArray[np.integer], n_actions: int) -> "Beside":
        """The same where action i is called numbers[i], of so many."""
        available = self.available
        if available is None:
            return self
        return Beside(available.renumbered(numbers, n_actions), self.units, self.outcomes)

    def with_outcomes(self, outcomes: Mapping[str, npt.NDArray[np.float64]]) -> "Beside":
        """The same with these outcomes in place of what there was."""
        return Beside(self.available, self.units, outcomes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Beside):
            return NotImplemented
        mine, theirs = self.outcomes, other.outcomes
        return (
            self.available == other.available
            and (self.units is None) == (other.units is None)
            and bool(np.all(self.units == other.units))
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[key], theirs[key], equal_nan=True) for key in mine)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __deepcopy__(self, memo: dict[int, Any]) -> "Beside":
        return self  # a value

    def __reduce__(self) -> tuple[Any, ...]:
        return Beside, (self.available, self.units, self.outcomes)

    def _at(self, key: Key) -> npt.NDArray[Any] | None:
        return self._columns.arrays[self._keys.index(key)] if key in self._keys else None

    def _of(self, *arrays: npt.NDArray[Any]) -> "Beside":
        """Other rows of the same columns."""
        part = object.__new__(Beside)
        part._hold(self._keys, Columns(*arrays), self._n_actions)
        return part

    def _like(self, other: "Beside", n: int) -> "Beside":
        """These n rounds with what the other has, too."""
        available, units, outcomes = self.available, self.units, self.outcomes
        if (units is None) != (other.units is None):
            raise InvalidArgumentError(
                "units must be named in all rounds of a log or in none; say who came in the "
                "others, too"
            )
        theirs = other.available
        if theirs is not None:
            width = max(theirs.n_actions, self._n_actions or 0)
            available = available or Available.everything(n, width)
            available = available.wide(width)
        m = next(iter({**other.outcomes, **outcomes}.values()), np.empty((0, 1))).shape[1]
        for name in other.outcomes:
            outcomes.setdefault(name, np.full((n, m), np.nan))
        return Beside(available, units, outcomes)


NOTHING = Beside()
"""What most logs have beside their four columns."""


def as_units(units: Any, n_rounds: int) -> npt.NDArray[np.object_]:
    """Names of users or sessions, one for each round, as text, or raise."""
    rule = "names or whole numbers, one for each round"
    values = plain_array("units", units, rule)
    if values.shape == (n_rounds,) and values.dtype.kind == "f" and np.isnan(values).any():
        values = np.where(np.isnan(values), "", "known")  # whole numbers and gaps became floats
    if values.dtype.kind not in "UTOiu" or values.shape != (n_rounds,):
        raise InvalidArgumentError(
            f"units must be {rule} of the {n_rounds}, got shape {values.shape} of {values.dtype}"
        )
    odd = [
        row
        for row, value in enumerate(values)
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool) or value == ""
    ]
    if odd:
        got = shown(values[odd[0]]) if values.dtype.kind == "O" else "nothing"
        raise InvalidArgumentError(
            f"units must be {rule}, got {got} in row {odd[0]}; a round whose user is not known "
            "needs a name of its own"
        )
    return np.array([*map(str, values), None], dtype=object)[:-1]


def as_outcomes(outcomes: Any, shape: tuple[int, int]) -> dict[str, npt.NDArray[np.float64]]:
    """Other rewards by their names, of shape (n, m), NaN where not known, or raise.

    Their ranges are a matter of who declares them.
    """
    if not isinstance(outcomes, Mapping):
        raise InvalidArgumentError(
            f'outcomes must be a dict by name, such as {{"sale": [0, 1]}}, got {shown(outcomes)}'
        )
    found = {}
    for name in as_names("the keys of outcomes", list(outcomes)):
        values = real_numbers(f"outcomes {name!r}", outcomes[name], f"numbers of shape {shape}")
        values = values[:, None] if values.shape == shape[:1] and shape[1] == 1 else values
        if values.shape != shape or np.isinf(values).any():
            raise InvalidArgumentError(
                f"outcomes {name!r} must be finite numbers of shape {shape}, one for each shown "
                f"item, or NaN if not known, got shape {values.shape}"
            )
        found[name] = values.astype(np.float64)
    return found
