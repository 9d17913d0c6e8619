"""What evidence keeps: the rewarded events, in blocks with the range that was fixed before them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import Events, rewarded_events
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Block", "Record", "check_floor", "merge_blocks", "merge_events"]

_SLACK = 1e-9  # rounding allowed when propensities are compared with their floor


@dataclass(frozen=True, eq=False)
class Block:
    """Rounds whose propensities have a common floor, known before their contexts were seen.

    Attributes
    ----------
    events : Events
        The rewarded rounds.
    largest : float
        Bound B on R_i(pi) for every policy: reward_cap / floor.
    ranges : float array of shape (n_policies,), or None
        Smaller bounds B_pi, one for each policy, where the exploration followed policies with known
        shares.
    """

    events: Events
    largest: float
    ranges: npt.NDArray[np.float64] | None = None


class Record:
    """Blocks of rounds in the order of their decisions.

    Parameters
    ----------
    policies : Policies
    problem : Problem
    """

    def __init__(self, policies: Policies, problem: Problem) -> None:
        policies.check_fits(problem)
        self.policies = policies
        self.problem = problem
        self.blocks: list[Block] = []
        self.rounds = 0

    def add(
        self,
        log: Log,
        *,
        floor: float,
        ranges: npt.NDArray[np.float64] | None = None,
    ) -> Block:
        """Take in the next rounds; all or nothing.

        Parameters
        ----------
        log : Log
        floor : float
            Smallest propensity with which any item could be shown in these rounds, fixed before
            their contexts were seen.
        ranges : float array of shape (n_policies,), optional
            Bounds on R_i(pi) where they are smaller than reward_cap / floor. They are taken on
            trust: check that they follow from the exploration.

        Raises
        ------
        InvalidArgumentError
            If a propensity is below the floor, or the rewards of a round exceed the sparsity.
        """
        smallest = check_floor(log, floor)
        as_rewards(log.rewards, len(log), log.slate_size, self.problem.sparsity)
        if ranges is not None:
            ranges = np.array(ranges, dtype=np.float64)
            if ranges.shape != (self.policies.n_policies,) or not (ranges > 0).all():
                raise InvalidArgumentError(
                    f"ranges must be {self.policies.n_policies} positive numbers, one for each "
                    f"policy, got shape {ranges.shape}"
                )
            last = self.blocks[-1].ranges if self.blocks else None
            if last is not None and np.array_equal(last, ranges):
                ranges = last  # the same object says that bets need not change
        block = Block(
            rewarded_events(log, self.policies), self.problem.reward_cap / smallest, ranges
        )
        self.blocks.append(block)
        self.rounds += len(log)
        return block

    @property
    def n_events(self) -> int:
        """Rewarded rounds so far."""
        return sum(len(block.events.rounds) for block in self.blocks)


def check_floor(log: Log, floor: float) -> float:
    """Return the floor if no propensity of the log is below it, else raise."""
    smallest = number("floor", floor, above=0, below=1, closed=True)
    below = log.propensities < smallest * (1 - _SLACK)
    if below.any():
        row = int(np.flatnonzero(below.any(axis=1))[0])
        raise InvalidArgumentError(
            f"propensities must be at least the floor {smallest:g}, got "
            f"{log.propensities[row].min():g} in row {row}"
        )
    return smallest


def merge_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The same rounds in fewer blocks: neighbours with the same ranges become one.

    Rounds that came one at a time are then read as fast as if they had come together.
    """
    groups: list[list[Block]] = []
    for block in blocks:
        last = groups[-1][-1] if groups else None
        if last and block.largest == last.largest and block.ranges is last.ranges:
            groups[-1].append(block)
        else:
            groups.append([block])
    return [
        Block(merge_events([block.events for block in group]), group[0].largest, group[0].ranges)
        for group in groups
    ]


def merge_events(parts: Sequence[Events]) -> Events:
    """The events of successive rounds as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    starts = np.cumsum([0] + [part.n_rounds for part in parts])
    n_rounds = int(starts[-1])
    rewarded = [
        (start, part) for start, part in zip(starts, parts, strict=False) if len(part.rounds)
    ]
    if not rewarded:
        return replace(first, n_rounds=n_rounds)
    events = [part for _, part in rewarded]
    table, rows = events[0].table, np.concatenate([part.rows for part in events])
    if any(part.table is not table for part in events):  # slates that were worked out on the way
        table, rows = (
            np.concatenate([part.table[part.rows] for part in events]),
            np.arange(len(rows)),
        )
    return Events(
        n_rounds=n_rounds,
        rounds=np.concatenate([start + part.rounds for start, part in rewarded]),
        table=table,
        rows=rows,
        actions=np.concatenate([part.actions for part in events]),
        propensities=np.concatenate([part.propensities for part in events]),
        rewards=np.concatenate([part.rewards for part in events]),
        n_actions=first.n_actions,
    )
