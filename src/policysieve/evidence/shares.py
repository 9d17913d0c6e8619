"""Who asks the shares of a class, and gives those that began anew what they miss."""

import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import ClusterError
from policysieve.evidence.divided_answers import Batch, DividedAnswers, new_key
from policysieve.evidence.exchanged import Judged, Known, Missing, Numbers, Period, Sums, Weights
from policysieve.evidence.share import Start
from policysieve.policies import Slates
from policysieve.problem import Problem

__all__ = ["Holders", "Node", "Shares"]

_ATTEMPTS = 12  # to give a share what it misses, and one more for each batch
_KNOWN = 3  # weights whose keys are remembered

Chain = tuple[str, Mapping[int, tuple[Any, ...]]]
"""A method of shares that are called one after the other, and what each is given."""


class Holders(Protocol):
    """Those who hold a class in shares: runs of its policies, each with a `Share`."""

    runs: tuple[tuple[int, int], ...]

    def call(
        self, method: str, given: Mapping[int, tuple[Any, ...]], chain: Chain | None = None
    ) -> tuple[dict[int, Any], Any]:
        """What a method of some shares returns, each with its own arguments, at the same time.

        Methods in `ASKING` are given the policies of the share, and the number of the first, before
        the other arguments. A share that is lost is replaced by one that knows nothing.

        Behind that, and without waiting for it, a `chain` calls a method of one share after the
        other. Its last argument is what the one before has returned; for the first share it is
        given. None comes back if a share was lost, or something is `Missing`.
        """

    def forget(self, keys: list[int]) -> None:
        """Let all shares forget something, without waiting for it."""


class Node(NamedTuple):
    """How to make a state of all shares: those who are left, and what the rounds were judged by.

    Attributes
    ----------
    key, before : pairs of int
        Of the state, and of the one that it came from.
    survivors : integer array
    periods : tuple of Period
    fresh : list of Judged
        What the shares have said of it, until more rounds come: it takes memory for each survivor.
    """

    key: tuple[int, int]
    before: tuple[int, int] | None
    survivors: Numbers
    periods: tuple[Period, ...]
    fresh: list[Judged]


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
        """How many policies all shares have together."""
        return self.runs[-1][1]

    def owners(self, policies: Numbers) -> dict[int, npt.NDArray[np.intp]]:
        """Places of the policies that each share holds, for those that hold any."""
        owner = np.searchsorted([last for _, last in self.runs], policies, side="right")
        return {int(one): np.flatnonzero(owner == one) for one in np.unique(owner)}

    def start(self, share: int) -> Start:
        """What a share begins with."""
        return Start(self.problem, self.n_policies, *self.runs[share])

    def released_with(self, owner: Any, key: int) -> None:
        """Let shares forget what has this key once its owner is gone."""
        weakref.finalize(owner, self._released.append, key)

    def asked(
        self,
        contexts: Any,
        available: Available | None,
        weights: Weights,
        leader: int,
        drawn: tuple[Numbers, Numbers],
    ) -> DividedAnswers:
        """Ask survivors at contexts, once; what they say stays with the shares.

        What comes back are sums, what the leader says, and what some policies say in some rows,
        which may be those that are drawn.
        """
        n, m = len(contexts), self.problem.slate_size
        batch = Batch(contexts, available, weights.survivors)
        self.released_with(batch, batch.key)
        answers = DividedAnswers.of(self, batch)
        if not n:
            return answers
        rows = np.concatenate([np.arange(n), drawn[0]])
        policies = np.concatenate([np.full(n, leader), drawn[1]])
        parts, known = self.owners(policies), self._known_to(weights)
        nothing, given = np.empty(0, np.intp), {}
        for share in known:
            mine = parts.get(share, nothing)
            more = contexts, available, rows[mine], policies[mine]
            given[share] = (batch.key, known[share], *more)
        sums = Sums.nothing(n, self.problem.n_actions)
        chain = {share: (answers.sources, Known(one.key), sums) for share, one in known.items()}
        said, summed = self.call("answer", given, weights=weights, chain=("summed", chain))
        found = np.empty((len(rows), m), np.int32)
        for share in given:
            found[parts.get(share, nothing)] = said[share]
        if summed is None:
            summed = self.summed(answers, weights)
        led, followed = (leader, found[:n]), (*drawn, found[n:])
        return answers.knowing((weights, summed), led, followed)

    def pushed(self, answers: Slates, survivors: Numbers) -> DividedAnswers:
        """Give shares what was said elsewhere."""
        batch = Batch(np.arange(len(answers)), answers.available, survivors, answers)
        self.released_with(batch, batch.key)
        parts = self.owners(survivors)
        given = {share: batch.held(survivors[places]) for share, places in parts.items()}
        self.call("hold", given)
        return DividedAnswers.of(self, batch)

    def summed(self, answers: DividedAnswers, weights: Weights) -> Sums:
        """Sums of the survivors at the contexts of answers, one share after the other, in order.

        So every sum is that of one pass over all of them, to the last bit.
        """
        sums, sources = Sums.nothing(len(answers), self.problem.n_actions), answers.sources
        known = self._known_to(weights)
        given = {share: (sources, one, sums) for share, one in known.items()}
        found = self.call("summed", {}, chain=("summed", given))[1]
        if found is not None:
            return cast(Sums, found)
        for share, (_, one, _) in given.items():  # one at a time, which are given what they miss
            again = {share: (sources, one, sums)}
            said = self.call("summed", again, weights=weights, batches=answers.batches)[0]
            sums = said[share]
        return sums

    def slates_of(self, answers: DividedAnswers, policies: Numbers) -> npt.NDArray[Any]:
        """What one policy for each context says there, shape (n, slate_size)."""
        shape = (len(answers), self.problem.slate_size)
        found, parts = np.empty(shape, np.int32), self.owners(policies)
        given = {s: (answers.take(rows).sources, policies[rows]) for s, rows in parts.items()}
        for share, said in self.call("slates_of", given, batches=answers.batches)[0].items():
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
        chain: Chain | None = None,
    ) -> tuple[dict[int, Any], Any]:
        """What some shares return; those that miss something are given it, and asked again.

        Parameters
        ----------
        method, given, chain
            As `Holders.call` has them.
        weights, batches, node
            What they may miss.
        """
        released = [self._released.popleft() for _ in range(len(self._released))]
        if released:
            self._holders.forget(released)
        found: dict[int, Any] = {}
        left, chained, attempts = dict(given), None, _ATTEMPTS + len(batches or ())
        while left or chain is not None:
            if not attempts:
                raise ClusterError(
                    f"shares were lost again and again while they were asked to {method!r}: they "
                    "may need more memory than a worker has"
                )
            attempts -= 1
            said, last = self._holders.call(method, left, chain)
            chained, chain = (chained if chain is None else last), None
            missed = {s: one for s, one in said.items() if isinstance(one, Missing)}
            found.update({s: one for s, one in said.items() if s not in missed})
            left = {share: left[share] for share in missed}
            for share, one in missed.items():
                self._supply(share, one, weights, batches or {}, node)
        return found, chained

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
            given: Any = ([], Known(missing.key, weights.of_run(first, last)), None)
            self._holders.call("summed", {share: given})
        elif missing.kind == "batch":
            batch = batches[missing.key]
            low, high = batch.asked.searchsorted((first, last))
            asked = batch.asked[low:high].astype(np.intp)
            if batch.said is not None:
                self._holders.call("hold", {share: batch.held(asked)})
                return
            nothing = np.empty(0, np.intp)
            given = (batch.key, asked, batch.contexts, batch.available, nothing, nothing)
            self._holders.call("answer", {share: given})
        else:
            assert node is not None
            low, high = node.survivors.searchsorted((first, last))
            mine = node.survivors[low:high]
            periods = [period.of_some(mine) for period in node.periods]
            given = (missing.key, self.start(share), mine, periods)
            self._holders.call("restore", {share: given})

    def _known_to(self, weights: Weights) -> dict[int, Known]:
        """Weights as the shares know them that hold any of the survivors, in their order."""
        ends = weights.survivors.searchsorted([last for _, last in self.runs])
        needed = np.flatnonzero(np.diff(ends, prepend=0)).tolist()
        for need, votes, key in self._known:
            if need is weights.need and votes is weights.votes:
                return dict.fromkeys(needed, Known(key))
        key = new_key()
        self._known = [*self._known, (weights.need, weights.votes, key)]
        del self._known[:-_KNOWN]
        return {share: Known(key, weights.of_run(*self.runs[share])) for share in needed}
