"""Who holds which candidates: dealt so that all shards take about the same time."""

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Dealing", "dealt", "in_runs", "round_robin"]

Numbers = npt.NDArray[np.intp]
Owners = npt.NDArray[np.int32]


class Dealing(NamedTuple):
    """Which shard answers for which policies. A value.

    Attributes
    ----------
    owners : integer array of shape (n_policies,)
        The shard that answers for each policy.
    places : integer array of shape (n_policies,)
        The number of each policy within its shard.
    held : tuple of integer arrays
        For each shard the policies that it holds, by their numbers within it.
    """

    owners: Owners
    places: Numbers
    held: tuple[Numbers, ...]

    @classmethod
    def of(cls, owners: Owners, n_shards: int, *, whole: bool = False) -> "Dealing":
        """From the owner of each policy; if the class is kept `whole`, every shard holds all."""
        if whole:
            everyone = np.arange(len(owners))
            return cls(owners, everyone, (everyone,) * n_shards)
        held = tuple(np.flatnonzero(owners == shard) for shard in range(n_shards))
        places = np.empty(len(owners), np.intp)
        for mine in held:
            places[mine] = np.arange(len(mine))
        return cls(owners, places, held)

    def shares(self, asked: Numbers) -> dict[int, Numbers]:
        """For each shard that is needed where its policies are among those that are asked."""
        owners = self.owners[asked]
        needed = np.flatnonzero(np.bincount(owners, minlength=len(self.held)))
        return {shard: np.flatnonzero(owners == shard) for shard in needed.tolist()}

    def loads(self, costs: npt.NDArray[np.float64], asked: Numbers) -> npt.NDArray[np.float64]:
        """What those that are asked cost together in each shard."""
        found = np.bincount(self.owners[asked], costs[asked], minlength=len(self.held))
        return found.astype(np.float64, copy=False)


def in_runs(n_policies: int, n_shards: int) -> Owners:
    """Owners of runs of the same length, which arrays are quick to be cut into."""
    return (np.arange(n_policies) * n_shards // max(1, n_policies)).astype(np.int32)


def round_robin(n_policies: int, n_shards: int) -> Owners:
    """Owners one after the other: of neighbours, which are often alike, each has its share."""
    return (np.arange(n_policies) % n_shards).astype(np.int32)


def dealt(costs: npt.NDArray[np.float64], asked: Numbers, n_shards: int) -> Owners:
    """Owners by cost: those that are asked are dealt first, the costliest first.

    Each goes to the shard with the least so far, which takes at most 4/3 of the best possible time;
    where all cost the same, in runs. The others are dealt the same way behind them: they are held,
    and may be asked one day.
    """
    owners = np.empty(len(costs), np.int32)
    others = np.ones(len(costs), np.bool_)
    others[asked] = False
    for some in (np.unique(asked), np.flatnonzero(others)):
        if not len(some) or not np.ptp(costs[some]):
            owners[some] = in_runs(len(some), n_shards)
            continue
        loads = [(0.0, shard) for shard in range(n_shards)]
        for policy in some[np.argsort(-costs[some], kind="stable")].tolist():
            load, shard = loads[0]
            owners[policy] = shard
            heapq.heapreplace(loads, (load + float(costs[policy]), shard))
    return owners
