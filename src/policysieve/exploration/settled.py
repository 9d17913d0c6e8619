"""What a ledger hands to a learner: settled rounds, and how far these go."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.log import Log

__all__ = ["Frontier", "Part", "joined"]


class Part(NamedTuple):
    """Settled rounds in the order of their decisions, that were decided by one exploration.

    Attributes
    ----------
    rounds : Log
    exploration : object
    kept : object or None
        What was kept with these rounds.
    issued : bool
        Whether a ledger has issued them.
    first : bool array, or None
        Which of them are the first of their units; None if units are not named.
    numbers, asked : arrays of shape (n,), or None
        Places of the rounds in the order of decisions, and when they were asked for; None if they
        were asked elsewhere.
    """

    rounds: Log
    exploration: Any
    kept: Any
    issued: bool = True
    first: npt.NDArray[np.bool_] | None = None
    numbers: npt.NDArray[np.int64] | None = None
    asked: npt.NDArray[np.float64] | None = None


class Frontier(NamedTuple):
    """How far the rounds of a ledger were learnt from.

    Attributes
    ----------
    learnt : int
        The first rounds, which are all settled: told ones were learnt from.
    told, discarded : int
        Rounds behind them that are settled already, and wait for earlier ones.
    """

    learnt: int = 0
    told: int = 0
    discarded: int = 0


def joined(parts: list[Part]) -> Part:
    """Parts of one exploration as one."""
    kept = parts[0].kept
    for part in parts[1:]:
        kept = kept if kept is None else kept.plus(part.kept)
    return Part(
        Log.concatenate([part.rounds for part in parts]),
        parts[0].exploration,
        kept,
        first=_concatenated([part.first for part in parts]),
        numbers=_concatenated([part.numbers for part in parts]),
        asked=_concatenated([part.asked for part in parts]),
    )


def _concatenated(arrays: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    """Arrays that all parts have, or none has, as one."""
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if known else None
