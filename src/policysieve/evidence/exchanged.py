"""What the shares of a class and the owner of its evidence tell each other.

The formulas are in docs/maths.md, "Evidence in shards".
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.evidence.past import Listing
from policysieve.log import Log
from policysieve.policies import Policies

__all__ = [
    "Judged",
    "Known",
    "Missing",
    "Numbers",
    "Period",
    "Source",
    "Sums",
    "Weights",
    "evaluated",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]  # of policies, whole ones


class Missing(NamedTuple):
    """What a share does not have, because it began anew: it is given that, and asked again."""

    kind: str
    key: Any


class Weights(NamedTuple):
    """Some survivors with their needs and votes; the need is None if it is the same for all."""

    survivors: Numbers
    need: Array | None
    votes: Array

    def of_run(self, first: int, last: int) -> "Weights":
        """The survivors among the policies first..last-1."""
        low, high = self.survivors.searchsorted((first, last))
        need = None if self.need is None else self.need[low:high]
        return Weights(self.survivors[low:high].astype(np.intp), need, self.votes[low:high])


class Known(NamedTuple):
    """Weights by their key, which come with it if they may not be known yet."""

    key: int
    weights: Weights | None = None


class Sums(NamedTuple):
    """Sums over the slates of survivors at n contexts, as `sum_answers` has them."""

    sizes: npt.NDArray[np.int64]
    named: npt.NDArray[np.int32]
    largest: Array
    shares: Array

    @classmethod
    def nothing(cls, n: int, n_actions: int) -> "Sums":
        """The sums before the first survivor."""
        named = np.zeros((n, n_actions), np.int32)
        return cls(np.zeros(n, np.int64), named, *np.zeros((2, n, n_actions)))

    def copy(self) -> "Sums":
        """The same with memory of its own."""
        return Sums(*(array.copy() for array in self))  # type: ignore[arg-type]

    def take(self, which: Any) -> "Sums":
        """Those at some of the contexts."""
        return Sums(*(array[which] for array in self))

    def plus(self, later: "Sums") -> "Sums":
        """These, and others behind them."""
        pairs = zip(self, later, strict=True)
        return Sums(*(np.concatenate(pair) for pair in pairs))  # type: ignore[arg-type]


class Source(NamedTuple):
    """Some rows of a batch of answers, which is known by its key."""

    batch: int
    rows: Any


class Period(NamedTuple):
    """Rounds that were judged by one leader, as all shares are told of them."""

    rounds: Log
    listing: Listing
    costs: Array
    scale: float
    leader: int
    slates: npt.NDArray[Any]  # of the leader, shape (n, slate_size)
    pieces: tuple[tuple[int, Any], ...] = ()
    """Neighbouring rounds with what was said there elsewhere; None if it can be asked again."""

    def of_some(self, policies: Numbers) -> "Period":
        """The same with what some policies have said."""
        cut = (
            (n, None if said is None else said.table[said.rows[:, None], policies[None, :]])
            for n, said in self.pieces
        )
        return self._replace(pieces=tuple(cut))

    def said(self, part: Policies, places: Numbers) -> npt.NDArray[Any]:
        """What policies of a part say in these rounds; they are asked where it is not known."""
        found, start, log = [], 0, self.rounds
        for n, known in self.pieces:
            rows = slice(start, start + n)
            allowed = None if log.available is None else log.available[rows]
            if known is None:
                known = evaluated(part, log.contexts[rows], places, allowed)
            found.append(known)
            start += n
        return np.concatenate(found)

    @property
    def nbytes(self) -> int:
        """Memory that it takes, without contexts."""
        arrays = (self.rounds.actions, self.rounds.rewards, self.costs, self.slates, *self.listing)
        return sum(array.nbytes for array in arrays)

    def sent(self) -> "Period":
        """The same without contexts, which shares know."""
        log = self.rounds
        columns = log.actions, log.propensities, log.rewards
        plain = Log.trusted(np.zeros(len(log), np.int8), *columns)
        return self._replace(rounds=plain, pieces=())


class Judged(NamedTuple):
    """What a share says after a look."""

    left: tuple[npt.NDArray[Any], ...]  # who was eliminated, as `Standing.gone` has it
    scores: Array  # estimates and errors of the survivors, shape (2, n_survivors)
    leader: int  # of this share, and its score; -1 and -inf if nobody is left,
    score: float
    slates: npt.NDArray[Any]  # and what it said in all rounds, shape (n, slate_size)


def evaluated(
    part: Policies, contexts: Any, places: Numbers, available: Available | None
) -> npt.NDArray[Any]:
    """What policies of a part say at contexts."""
    which = None if len(places) == part.n_policies else places
    if available is None:
        return part._evaluate(contexts, which)
    return part._evaluate_among(contexts, which, available)
