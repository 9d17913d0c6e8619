"""What survivors have said, where it is kept by the shares of a class."""

import itertools
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.evidence.exchanged import Numbers, Source, Sums, Weights
from policysieve.policies import Answers, Slates

if TYPE_CHECKING:
    from policysieve.evidence.shares import Shares

__all__ = ["Batch", "DividedAnswers", "new_key"]


def new_key() -> int:
    """A key that no process has used."""
    return uuid.uuid4().int


class Batch:
    """Contexts that were asked about together. What was said there is with the shares.

    If it was said elsewhere, and contexts may not be known, it is here as well.
    """

    def __init__(
        self, contexts: Any, available: Available | None, asked: Numbers, said: Slates | None = None
    ) -> None:
        self.key, self.contexts, self.available, self.asked = new_key(), contexts, available, asked
        self.said = said

    def held(self, policies: Numbers) -> tuple[Any, ...]:
        """What was said elsewhere, as a share takes it."""
        assert self.said is not None
        slates = self.said.table[self.said.rows[:, None], policies[None, :]]
        return self.key, policies, slates


class DividedAnswers(Answers):
    """What survivors have said at contexts: it is with the shares of the class. A value.

    Parameters
    ----------
    shares : Shares
    batches : dict of Batch
        By their keys.
    places : pair of arrays of shape (n,)
        For each context the key of its batch, and its row there.
    available : Available or None
    sums : (Weights, Sums), optional
        Sums that are known already, and with which weights.
    led : (int, array of shape (n, slate_size)), optional
        A leader, and what it says.
    """

    grows = False

    def __init__(
        self,
        shares: "Shares",
        batches: Mapping[int, Batch],
        places: tuple[npt.NDArray[Any], Numbers],
        available: Available | None,
        sums: tuple[Weights, Sums] | None = None,
        led: tuple[int, npt.NDArray[Any]] | None = None,
    ) -> None:
        self.shares, self.batches, self._places = shares, batches, places
        self._available, self._sums, self._led = available, sums, led
        self._followed: tuple[Numbers, Numbers, npt.NDArray[Any]] | None = None

    @classmethod
    def of(cls, shares: "Shares", batch: Batch) -> "DividedAnswers":
        """What was said in a batch."""
        n = len(batch.contexts)
        places = np.full(n, batch.key, object), np.arange(n)
        return cls(shares, {batch.key: batch}, places, batch.available)

    @property
    def sources(self) -> list[Source]:
        """Where they are, in order."""
        keys, rows = self._places
        cuts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        edges = [0, *cuts.tolist(), len(keys)]
        pairs = itertools.pairwise(edges)
        return [Source(keys[low], rows[low:high]) for low, high in pairs if low < high]

    def knowing(
        self,
        sums: tuple[Weights, Sums],
        led: tuple[int, npt.NDArray[Any]],
        followed: tuple[Numbers, Numbers, npt.NDArray[Any]],
    ) -> "DividedAnswers":
        """The same with some sums, what a leader says, and policies in some rows."""
        given = self.shares, self.batches, self._places, self._available
        found = DividedAnswers(*given, sums, led)
        found._followed = followed
        return found

    def following(self, rows: Numbers, policies: Numbers) -> npt.NDArray[Any]:
        """What one policy for each of some rows says there."""
        known = self._followed
        if known is not None and all(map(np.array_equal, known, (rows, policies))):
            return known[2]
        return self.take(rows).slates_of(policies)

    def summed(self, weights: Weights) -> Sums:
        """Sums of the survivors' slates."""
        known = self._sums
        if known is not None and known[0].votes is weights.votes:
            return known[1]
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
