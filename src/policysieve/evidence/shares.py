"""Who asks the shares of a class, and gives those that began anew what they miss."""

import uuid
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import ClusterError
from policysieve.evidence.share import Missing, Period, Source, Start, Sums, Weights
from policysieve.policies import Answers, Slates
from policysieve.problem import Problem

__all__ = ["DividedAnswers", "Holders", "Node", "Shares"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_KNOWN = 3  # weights whose keys are remembered


class Holders(Protocol):
    """Those who hold a class in shares: runs of its policies, each with a `Share`."""

    runs: tuple[tuple[int, int], ...]

    def call(self, method: str, given: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """What a method of some shares returns, each with its own arguments, at the same time.

        Those in `ASKING` are given the policies of the share, and the number of the first, before
        the other arguments. A share that is lost is replaced by one that knows nothing.
        """

    def chain(self, method: str, given: Mapping[int, tuple[Any, ...]]) -> Any:
        """The same for one share after the other, the last argument being what the last returned.

        That of the first is given. None if a share was lost, or something is `Missing`.
        """


class Batch:
    """Contexts that were asked about together. What was said there is with the shares."""

    def __init__(self, contexts: Any, available: Available | None, asked: Numbers) -> None:
        self.key, self.contexts, self.available, self.asked = new_key(), contexts, available, asked


class Node(NamedTuple):
    """How to make a state of all shares: those who are left, and what the rounds were judged by.

    Attributes
    ----------
    key, before : pairs of int
        Of the state, and of the one that it came from.
    survivors : integer array
    periods : tuple of Period
    """

    key: tuple[int, int]
    before: tuple[int, int] | None
    survivors: Numbers
    periods: tuple[Period, ...]


class Shares:
    """The shares of one class.

    Parameters
    ----------
    policies : Policies
        With `holders`, which may be others in another process.
    problem : Problem
        With rewards in [0, 1].
    """

    def __init__(self, policies: Any, problem: Problem) -> None:
        self._policies, self.problem = policies, problem
        self._known: list[tuple[Any, Any, int]] = []
        self._released: deque[int] = deque()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": [], "_released": deque()}

    @property
    def _holders(self) -> Holders:
        found: Holders | None = self._policies.holders
        if found is None:
            raise ClusterError(
                "evidence in shards cannot be asked for within a task of their cluster; do that in "
                "the process that has the learner"
            )
        return found

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The policies of each share."""
        return self._holders.runs

    @property
    def n_policies(self) -> int:
        """Of all shares."""
        return self.runs[-1][1]

    def owners(self, policies: Numbers) -> dict[int, npt.NDArray[np.intp]]:
        """For each share that holds any of the policies the places of these."""
        owner = np.searchsorted([last for _, last in self.runs], policies, side="right")
        return {int(one): np.flatnonzero(owner == one) for one in np.unique(owner)}

    def start(self, share: int) -> Start:
        """What a share begins with."""
        return Start(self.problem, self.n_policies, *self.runs[share])

    def released_with(self, owner: Any, key: int) -> None:
        """Let shares forget what has this key once its owner is gone."""
        weakref.finalize(owner, self._released.append, key)

    def asked(
        self, contexts: Any, available: Available | None, weights: Weights
    ) -> "DividedAnswers":
        """Ask survivors at contexts, once; what they say stays with the shares."""
        batch = Batch(contexts, available, weights.survivors)
        self.released_with(batch, batch.key)
        key = self._key_of(weights)
        given = {s: (batch.key, key, contexts, available) for s in self._needed(weights)}
        if len(contexts):
            self.call("answer", given, weights=weights)
        return DividedAnswers.of(self, batch)

    def pushed(self, answers: Slates, contexts: Any, survivors: Numbers) -> "DividedAnswers":
        """Give shares what was said elsewhere."""
        batch = Batch(contexts, answers.available, survivors)
        self.released_with(batch, batch.key)
        given = {}
        for share, places in self.owners(survivors).items():
            mine = survivors[places]
            said = answers.table[answers.rows[:, None], mine[None, :]]
            given[share] = (batch.key, mine, said)
        self.call("hold", given)
        return DividedAnswers.of(self, batch)

    def summed(self, answers: "DividedAnswers", weights: Weights) -> Sums:
        """Of the survivors at the contexts of answers: one share after the other, in their order.

        So every sum is that of one pass over all of them, to the last bit.
        """
        sums = Sums.nothing(len(answers), self.problem.n_actions)
        key, sources = self._key_of(weights), answers.sources
        given = {share: (sources, key, sums) for share in self._needed(weights)}
        found = self._holders.chain("summed", given)
        if found is not None:
            return cast(Sums, found)
        for share in given:  # one at a time, which are given what they miss
            again = {share: (sources, key, sums)}
            said = self.call("summed", again, weights=weights, batches=answers.batches)
            sums = said[share]
        return sums

    def slates_of(self, answers: "DividedAnswers", policies: Numbers) -> npt.NDArray[Any]:
        """What one policy for each context says there, shape (n, slate_size)."""
        shape = (len(answers), self.problem.slate_size)
        found, parts = np.empty(shape, np.int32), self.owners(policies)
        given = {s: (answers.take(rows).sources, policies[rows]) for s, rows in parts.items()}
        for share, said in self.call("slates_of", given, batches=answers.batches).items():
            found[parts[share]] = said
        return found

    def call(
        self,
        method: str,
        given: Mapping[int, tuple[Any, ...]],
        *,
        weights: Weights | None = None,
        batches: Mapping[int, Batch] | None = None,
        node: Node | None = None,
    ) -> dict[int, Any]:
        """What some shares return; those that miss something are given it, and asked again.

        Parameters
        ----------
        method, given
            As `Holders.call` has them.
        weights, batches, node
            What they may miss.
        """
        released = [self._released.popleft() for _ in range(len(self._released))]
        if released:
            self._holders.call("forget", dict.fromkeys(range(len(self.runs)), (released,)))
        found: dict[int, Any] = {}
        left = dict(given)
        while left:
            said = self._holders.call(method, left)
            missed = {s: one for s, one in said.items() if isinstance(one, Missing)}
            found.update({s: one for s, one in said.items() if s not in missed})
            left = {share: left[share] for share in missed}
            for share, one in missed.items():
                self._supply(share, one, weights, batches or {}, node)
        return found

    def _supply(
        self,
        share: int,
        missing: Missing,
        weights: Weights | None,
        batches: Mapping[int, Batch],
        node: Node | None,
    ) -> None:
        """Give a share what it misses."""
        first, last = self.runs[share]
        if missing.kind == "weights":
            assert weights is not None
            self._holders.call("weigh", {share: (missing.key, weights.of_run(first, last))})
        elif missing.kind == "batch":
            batch = batches[missing.key]
            low, high = batch.asked.searchsorted((first, last))
            asked = batch.asked[low:high].astype(np.intp)
            given = (batch.key, asked, batch.contexts, batch.available)
            self._holders.call("answer", {share: given})
        else:
            assert node is not None
            low, high = node.survivors.searchsorted((first, last))
            mine = node.survivors[low:high]
            given = (missing.key, self.start(share), mine, node.periods)
            self._holders.call("restore", {share: given})

    def _needed(self, weights: Weights) -> list[int]:
        """Shares that hold any of the survivors, in their order."""
        ends = weights.survivors.searchsorted([last for _, last in self.runs])
        return np.flatnonzero(np.diff(ends, prepend=0)).tolist()

    def _key_of(self, weights: Weights) -> int:
        """By which the shares know weights."""
        for need, votes, key in self._known:
            if need is weights.need and votes is weights.votes:
                return key
        key = new_key()
        self._known = [*self._known, (weights.need, weights.votes, key)]
        while len(self._known) > _KNOWN:
            self._released.append(self._known.pop(0)[2])
        return key


class DividedAnswers(Answers):
    """What survivors have said at contexts: it is with the shares of the class. A value."""

    grows = False

    def __init__(
        self,
        shares: Shares,
        batches: Mapping[int, Batch],
        places: tuple[npt.NDArray[Any], Numbers],
        available: Available | None,
        sums: tuple[Weights, Sums] | None = None,
        led: tuple[int, npt.NDArray[Any]] | None = None,
    ) -> None:
        self.shares, self.batches, self._places = shares, batches, places
        self._available, self._sums, self._led = available, sums, led

    @classmethod
    def of(cls, shares: Shares, batch: Batch) -> "DividedAnswers":
        """Those of a batch."""
        n = len(batch.contexts)
        places = np.full(n, batch.key, object), np.arange(n)
        return cls(shares, {batch.key: batch}, places, batch.available)

    @property
    def sources(self) -> list[Source]:
        """Where they are, in order."""
        keys, rows = self._places
        cuts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        edges = [0, *cuts.tolist(), len(keys)]
        pairs = zip(edges[:-1], edges[1:], strict=True)
        return [Source(keys[low], rows[low:high]) for low, high in pairs if low < high]

    def known(self, weights: Weights, leader: int) -> "DividedAnswers":
        """The same with the sums of some weights, and what a leader says."""
        if not len(self):
            return self
        sums = (weights, self.summed(weights))
        led = (leader, self.slates_of(leader))
        return DividedAnswers(self.shares, self.batches, self._places, self._available, sums, led)

    def summed(self, weights: Weights) -> Sums:
        """Sums of the survivors' slates."""
        if self._sums is not None and self._sums[0].votes is weights.votes:
            if weights.need is None or self._sums[0].need is weights.need:
                return self._sums[1]
        return self.shares.summed(self, weights)

    def slates_of(self, policies: Any) -> npt.NDArray[Any]:
        """What a policy, or one for each context, says there."""
        if self._led is not None and isinstance(policies, int) and self._led[0] == policies:
            return self._led[1]
        return self.shares.slates_of(self, np.broadcast_to(policies, len(self)))

    def __len__(self) -> int:
        return len(self._places[1])

    def take(self, which: Any) -> "DividedAnswers":
        """Those at some of the contexts."""
        keys, rows = self._places
        some = None if self._available is None else self._available[which]
        sums = None if self._sums is None else (self._sums[0], self._sums[1].take(which))
        led = None if self._led is None else (self._led[0], self._led[1][which])
        places = keys[which], rows[which]
        return DividedAnswers(self.shares, self.batches, places, some, sums, led)

    def plus(self, later: "DividedAnswers") -> "DividedAnswers":
        """These, and the others behind them."""
        if not len(self) or not len(later):
            return self if len(self) else later
        pairs = zip(self._places, later._places, strict=True)
        keys, rows = (np.concatenate(pair) for pair in pairs)
        sums, led, available = None, None, None
        if self._sums is not None and later._sums is not None:
            (weights, mine), (others, theirs) = self._sums, later._sums
            if weights.votes is others.votes and weights.need is others.need:
                sums = weights, mine.plus(theirs)
        if self._led is not None and later._led is not None and self._led[0] == later._led[0]:
            led = self._led[0], np.concatenate([self._led[1], later._led[1]])
        if self._available is not None or later._available is not None:
            k = self.shares.problem.n_actions
            both = [
                Available.everything(len(one), k) if one._available is None else one._available
                for one in (self, later)
            ]
            available = Available(np.concatenate([one.bits for one in both]), k)
        batches = {**self.batches, **later.batches}
        return DividedAnswers(self.shares, batches, (keys, rows), available, sums, led)

    @property
    def available(self) -> Available | None:
        """What can be shown at the contexts; None if everything can."""
        return self._available

    @property
    def numbers(self) -> npt.NDArray[np.intp]:
        """Never asked for: these are not looked up."""
        raise NotImplementedError

    def at_numbers(self, numbers: npt.NDArray[np.intp]) -> "DividedAnswers":
        """Never asked for, either."""
        raise NotImplementedError


def new_key() -> int:
    """One that no process has used."""
    return uuid.uuid4().int
