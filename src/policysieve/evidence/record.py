"""What evidence keeps: the rewarded events, in blocks with the floor that was fixed before them."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from policysieve.checks import first_rows, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events
from policysieve.log import Log
from policysieve.problem import Problem

__all__ = ["Block", "Place", "Record", "check_floor"]

_SLACK = 1e-9  # rounding allowed when propensities are compared with their floor


@dataclass(frozen=True, eq=False)
class Block:
    """Rounds whose propensities have a common floor, known before their contexts were seen.

    Attributes
    ----------
    events : Events
        The rewarded rounds.
    largest : float
        Bound B on R_i(pi) for every policy: reward_cap / floor, infinite if that is not known.
    """

    events: Events
    largest: float


class Place(NamedTuple):
    """Somewhere in a record: behind so many rounds and events of its block of this number."""

    block: int = 0
    rounds: int = 0
    events: int = 0


@dataclass(frozen=True, eq=False)
class Record:
    """Blocks of rounds in the order of their decisions. A value.

    Attributes
    ----------
    policies : PolicyClass
    problem : Problem
    blocks : tuple of Block
        Neighbours have different floors.
    rounds : int
    """

    policies: Any  # of either kind
    problem: Problem
    blocks: tuple[Block, ...] = ()
    rounds: int = 0

    def plus(self, events: Events, *, floor: float) -> Self:
        """The record with the next rounds.

        Parameters
        ----------
        events : Events
        floor : float
            Smallest propensity with which any item could be shown in these rounds, fixed before
            their contexts were seen; 0 if it is not known.
        """
        blocks, largest = self.blocks, self.problem.reward_cap / floor if floor else inf
        last = blocks[-1] if blocks else None
        if last is not None and last.largest == largest:
            blocks = (*blocks[:-1], replace(last, events=last.events.plus(events)))
        else:
            blocks = (*blocks, Block(events, largest))
        return replace(self, blocks=blocks, rounds=self.rounds + events.n_rounds)

    @property
    def has_floor(self) -> bool:
        """Whether propensities of all rounds are known to be bounded from below."""
        return all(block.largest < inf for block in self.blocks)

    @property
    def n_events(self) -> int:
        """Rewarded rounds so far."""
        return sum(len(block.events) for block in self.blocks)

    @property
    def end(self) -> Place:
        """The place behind all rounds."""
        if not self.blocks:
            return Place()
        events = self.blocks[-1].events
        return Place(len(self.blocks) - 1, events.n_rounds, len(events))

    def since(self, place: Place) -> list[Block]:
        """What comes after a place."""
        later = list(self.blocks[place.block :])
        if later and place.rounds:
            later[0] = replace(later[0], events=later[0].events.since(place.events, place.rounds))
        return later

    def all_events(self) -> Events:
        """The events of all blocks as one."""
        events = self.blocks[0].events
        for block in self.blocks[1:]:
            events = events.plus(block.events)
        return events


def check_floor(log: Log, floor: float) -> float:
    """Return the floor if no propensity of the log is below it, else raise."""
    smallest = number("floor", floor, above=0, below=1, closed=True)
    below = log.propensities < smallest * (1 - _SLACK)
    if below.any():
        row = int(np.flatnonzero(below.any(axis=1))[0])
        raise InvalidArgumentError(
            f"propensities must be at least the floor {smallest:g}, got "
            f"{log.propensities[row].min():g} in row {row}{first_rows(below.any(axis=1))}; the "
            "floor is the smallest that any action could have had, so declare no more than that"
        )
    return smallest
