"""Other outcomes of a round beside its reward: their ranges, and by how much they may get worse."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.naming import as_names

__all__ = ["Outcome", "as_guardrails", "declared_outcomes"]

Array = npt.NDArray[np.float64]
Objective = Literal["maximize", "minimize"]

_WIDEST = 1e100


@dataclass(frozen=True)
class Outcome:
    """Another reward of what is shown, such as a sale behind a click, in its own units.

    Parameters
    ----------
    low, high : float
        The range of what one shown item can have.
    objective : {"maximize", "minimize"}
        Which way is better: "minimize" for complaints, costs or seconds.
    late : float, optional
        What counts for one that never came; by default `low`.

    Examples
    --------
    >>> Outcome(0, 60).late
    0.0
    >>> Outcome(0, 1, objective="minimize")
    Outcome(low=0.0, high=1.0, objective='minimize', late=0.0)
    """

    low: float
    high: float
    objective: Objective = "maximize"
    late: float | None = None

    def __post_init__(self) -> None:
        low = number("low", self.low, above=-_WIDEST, below=_WIDEST)
        high = number("high", self.high, above=low, below=_WIDEST, hint="low is less than high")
        one_of("objective", self.objective, get_args(Objective))
        late = low
        if self.late is not None:
            late = number("late", self.late, above=low, below=high, closed=True, closed_below=True)
        for name, value in [("low", low), ("high", high), ("late", late)]:
            object.__setattr__(self, name, value)

    @property
    def width(self) -> float:
        """Width of the range."""
        return self.high - self.low

    def check(self, name: str, values: Array) -> None:
        """Raise unless values lie in the range; NaN is for what is not known."""
        outside = ~((values >= self.low) & (values <= self.high)) & ~np.isnan(values)
        if outside.any():
            row, slot = np.argwhere(outside)[0]
            raise InvalidArgumentError(
                f"outcomes {name!r} must lie in [{self.low:g}, {self.high:g}], as the problem "
                f"declares it, or be NaN if not known, got {values[row, slot]:g} in row {row}"
            )

    def scores(self, values: Array) -> Array:
        """The values as numbers from 0 to 1, of which larger ones are better."""
        off = self.high - values if self.objective == "minimize" else values - self.low
        return np.asarray(off / self.width)

    def in_units(
        self, values: Array, lower: Array, upper: Array, slate_size: int
    ) -> tuple[Array, Array, Array]:
        """Means of scores of a slate, and their limits, in the outcome's own units."""
        if self.objective == "minimize":
            top = slate_size * self.high
            return top - self.width * values, top - self.width * upper, top - self.width * lower
        low = slate_size * self.low
        return low + self.width * values, low + self.width * lower, low + self.width * upper


def declared_outcomes(outcomes: Any) -> dict[str, Outcome] | None:
    """Outcomes by their names, each an `Outcome` or its range, or raise; None if there are none."""
    if outcomes is None:
        return None
    if not isinstance(outcomes, Mapping) or not outcomes:
        raise InvalidArgumentError(
            'outcomes must be a dict from names to ranges, such as {"sale": (0, 1)}, got '
            f"{shown(outcomes)}"
        )
    return {
        name: _as_outcome(name, outcomes[name])
        for name in as_names("the names of outcomes", list(outcomes))
    }


def _as_outcome(name: str, given: Any) -> Outcome:
    if isinstance(given, Outcome):
        return given
    if isinstance(given, Mapping) and {"low", "high"} <= given.keys():
        return Outcome(**given)  # as files have it
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidArgumentError(
            f"outcomes {name!r} must be a range such as (0, 1), or an Outcome, got {shown(given)}"
        )
    return Outcome(*given)


def as_guardrails(
    guardrails: Any, outcomes: Mapping[str, Outcome] | None, against: Any
) -> dict[str, float] | None:
    """Amounts by which outcomes may get worse, by their names, or raise."""
    if guardrails is None:
        return None
    if not isinstance(guardrails, Mapping) or not guardrails:
        raise InvalidArgumentError(
            'guardrails must be a dict from names of outcomes to amounts, such as {"sale": 0.01}, '
            f"got {shown(guardrails)}"
        )
    if against is None:
        raise InvalidArgumentError(
            "guardrails need the policy that runs today, which outcomes may not be worse than: "
            "give its name or number as Problem(against=...)"
        )
    found = {}
    for name in as_names("the names of guardrails", list(guardrails)):
        if outcomes is None or name not in outcomes:
            raise InvalidArgumentError(
                f"guardrails must be of declared outcomes, got {name!r}; declare it, such as "
                f"outcomes={{{name!r}: (0, 1)}}"
            )
        found[name] = number(
            f"the guardrail {name!r}", guardrails[name], above=0, below=inf, closed_below=True
        )
    return found
