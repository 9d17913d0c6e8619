"""What decided the rounds of a log, and the propensities of all actions in them."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.log import Log
from policysieve.policies import Slates

__all__ = ["Decider", "check_decider", "propensities_by", "wrong_propensity"]

Array = npt.NDArray[np.float64]

_SAME = 1e-6  # relative difference of propensities that were written and read


class Decider(Protocol):
    """What evidence needs of an exploration."""

    @property
    def policies(self) -> Any:
        """The class that it was made for."""

    def propensities(self, contexts: Any, *, available: Any = None) -> Array:
        """Propensities of all actions at contexts, or at answers of the policies."""


def check_decider(exploration: Any) -> None:
    """Raise unless it is an exploration, or None."""
    if exploration is not None and not hasattr(exploration, "propensities"):
        raise InvalidArgumentError(
            f"exploration must be what decided the rounds, got {shown(exploration)}"
        )


def propensities_by(exploration: Decider, log: Log, answers: Slates | None, rows: slice) -> Array:
    """Propensities of all actions in some rounds, or raise if those of the log are others.

    The exploration is asked at `answers` of its policies, or without them at the contexts.
    """
    if answers is not None:
        found = exploration.propensities(answers.take(rows))
    elif log.available is None:
        found = exploration.propensities(log.contexts[rows])
    else:
        found = exploration.propensities(log.contexts[rows], available=log.available[rows])
    mine = np.take_along_axis(found, log.actions[rows].astype(np.intp), axis=1)
    wrong = wrong_propensity(log.propensities[rows], mine)
    if wrong is not None:
        row = wrong[0]
        raise InvalidArgumentError(
            "propensities of the log must be those of the exploration that decided, got "
            f"{log.propensities[rows][row].tolist()} where it has {mine[row].tolist()}, in row "
            f"{rows.start + row}; if several explorations decided, log the propensities of all "
            "actions with each round"
        )
    return found


def wrong_propensity(given: Array, true: Array) -> tuple[int, int] | None:
    """Row and item of the first propensity that is not the true one, up to rounding, or None."""
    wrong = ~(np.abs(given - true) <= _SAME * true)  # NaN compares false
    return None if not wrong.any() else tuple(np.argwhere(wrong)[0].tolist())
