"""The evidence on some of the policies, kept by whoever holds these.

The formulas are in docs/maths.md, "Evidence in shards".
"""

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.columns import Columns
from policysieve.evidence.past import Listing, Past, PastArrays
from policysieve.evidence.retrospect import Retrospect
from policysieve.evidence.standing import BIN_EDGES, Standing, add_rounds
from policysieve.kernels.summing import sum_answers
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = [
    "ASKING",
    "HeldPast",
    "Judged",
    "Known",
    "Missing",
    "Period",
    "Shape",
    "Share",
    "Source",
    "Start",
    "Sums",
    "Weights",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]  # of policies, whole ones

ASKING = ("answer", "restore")
"""Methods of a share that are given its policies, and the number of the first of them."""

_WEIGHTS = 4  # of explorations and models that are kept
_STATES = 3  # of one evidence that are kept: what was done last may be taken back

Key = tuple[int, int]
"""Of a state: the evidence that it belongs to, and its number there."""


class Missing(NamedTuple):
    """What a share does not have, because it began anew: it is given that, and asked again."""

    kind: str
    key: Any


class Weights(NamedTuple):
    """Some survivors with their needs and votes; None if all have the same need."""

    survivors: Numbers
    need: Array | None
    votes: Array

    def of_run(self, first: int, last: int) -> "Weights":
        """Those of the policies first..last-1."""
        low, high = self.survivors.searchsorted((first, last))
        need = None if self.need is None else self.need[low:high]
        return Weights(self.survivors[low:high].astype(np.intp), need, self.votes[low:high])


class Known(NamedTuple):
    """Weights by their key, which come with it if they may not be known yet."""

    key: int
    weights: Weights | None = None


class Sums(NamedTuple):
    """Of the slates of survivors at n contexts, as `sum_answers` has them."""

    sizes: npt.NDArray[np.int64]
    named: npt.NDArray[np.int32]
    largest: Array
    shares: Array

    @classmethod
    def nothing(cls, n: int, n_actions: int) -> "Sums":
        """Before the first survivor."""
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
                known = _evaluated(part, log.contexts[rows], places, allowed)
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


class Shape(NamedTuple):
    """What a past needs to know of policies."""

    n_actions: int
    slate_size: int
    n_policies: int
    looked_up: bool = False

    @classmethod
    def of(cls, policies: Policies) -> "Shape":
        """Without any of the policies."""
        return cls(policies.n_actions, policies.slate_size, 0)


class HeldPast(Past):
    """The rounds with the slates of some policies, in increasing order."""

    @classmethod
    def first(cls, problem: Problem, numbers: Numbers) -> Self:
        """Before any round."""
        shape = Shape(problem.n_actions, problem.slate_size, len(numbers))
        past = cls(shape, len(BIN_EDGES) + 1)  # type: ignore[arg-type]
        past._kept = numbers
        return past

    def plus_period(self, period: Period, slates: npt.NDArray[Any]) -> Self:
        """These, and rounds that came next with the slates of those that are kept."""
        longer = self._appended(period.rounds, period.listing, period.costs, period.scale)
        said = Slates(slates)
        longer._answers = said if self._answers is None else self._answers.plus(said)
        return longer

    def slates_of(self, policies: Numbers, since: int) -> npt.NDArray[Any]:
        """Those of some survivors in the later rounds, shape (n, n_policies, slate_size)."""
        assert self._answers is not None
        return self._answers.table[since:][:, np.searchsorted(self._kept, policies)]


class SharePast(HeldPast):
    """The same, and the slates of one leader, who may be elsewhere."""

    _guest: npt.NDArray[Any] | None = None

    def led_by(self, slates: npt.NDArray[Any]) -> Self:
        """The same with the slates of a leader in the last rounds, shape (n, slate_size)."""
        led = copy(self)
        led._guest = slates
        return led

    def column(self, policy: int) -> int:
        """The leader's slates come first."""
        return 0

    def arrays(self, policies: Numbers, since: int = 0) -> PastArrays:
        """What kernels take of the later rounds, for some of the survivors and the leader."""
        assert self._guest is not None
        leader = self._guest[len(self._guest) - (len(self) - since) :, None]
        slates = self.slates_of(policies, since)
        table = np.concatenate([leader.astype(slates.dtype), slates], axis=1)
        found = super().arrays(policies, since)
        columns = np.arange(1, 1 + len(policies))
        return found._replace(table=table, rows=np.arange(len(table)), columns=columns)


class _State(NamedTuple):
    """After a look. A value."""

    standing: Standing
    past: SharePast


class Share:
    """The evidence on the policies first..last-1 of a class, and what these have said lately.

    Everything in it can be made again from the candidates and what the owner of the class keeps.
    What is asked for and is not there is `Missing`.
    """

    def __init__(self) -> None:
        self._batches: dict[int, tuple[Numbers, npt.NDArray[Any]]] = {}
        self._weights: dict[int, Weights] = {}
        self._states: dict[Key, _State] = {}  # that was last made, last
        self._bets: dict[Key, Retrospect] = {}  # on the leader, by state

    def forget(self, keys: list[int]) -> None:
        """Let go of what nobody will ask for any more."""
        for key in keys:
            self._batches.pop(key, None)
            self._prune(key, 0)

    def _known(self, known: "Known") -> Weights | Missing:
        """Weights by their key; those that come with it are remembered."""
        if known.weights is not None:
            self._weights[known.key] = known.weights
            while len(self._weights) > _WEIGHTS:
                del self._weights[next(iter(self._weights))]
        return self._weights.get(known.key) or Missing("weights", known.key)

    def hold(self, key: int, asked: Numbers, slates: npt.NDArray[Any]) -> None:
        """Remember what some policies have said elsewhere."""
        self._batches[key] = asked, slates

    def answer(
        self,
        part: Policies,
        first: int,
        key: int,
        asked: Any,
        contexts: Any,
        available: Available | None,
        rows: Numbers,
        policies: Numbers,
    ) -> npt.NDArray[Any] | Missing:
        """Ask policies, by their numbers or their weights, and remember what they say.

        Returns what some of them say in some rows, shape (n, slate_size).
        """
        if isinstance(asked, Known):
            weights = self._known(asked)
            if isinstance(weights, Missing):
                return weights
            asked = weights.survivors
        slates = _evaluated(part, contexts, asked - first, available)
        self._batches[key] = asked, slates
        return np.asarray(slates[rows, asked.searchsorted(policies)])

    def summed(self, sources: list[Source], known: "Known", sums: Sums) -> Sums | Missing:
        """Sums of the survivors before this share, and of those of this share."""
        weights = self._known(known)
        if isinstance(weights, Missing):
            return weights
        survivors, need, votes = weights
        if not sources:
            return sums
        slates = self._said(sources, survivors)
        if isinstance(slates, Missing):
            return slates
        need = np.ones(len(votes)) if need is None else need
        more = sums.copy()
        sum_answers(slates, np.arange(len(survivors)), need, votes, *more)
        return more

    def slates_of(self, sources: list[Source], policies: Numbers) -> npt.NDArray[Any] | Missing:
        """What one policy for each row says there, shape (n, slate_size)."""
        found = []
        for batch, rows in sources:
            if batch not in self._batches:
                return Missing("batch", batch)
            asked, slates = self._batches[batch]
            mine, policies = policies[: len(rows)], policies[len(rows) :]
            found.append(slates[rows, asked.searchsorted(mine)])
        return np.concatenate(found)

    def look(
        self, before: Key | None, key: Key, start: "Start", period: Period, sources: list[Source]
    ) -> Judged | Missing:
        """Judge rounds, eliminate, and remember how things stand then."""
        state = start.state() if before is None else self._states.get(before)
        if state is None:
            return Missing("state", before)
        slates = self._said(sources, state.past._kept)
        if isinstance(slates, Missing):
            return slates
        found = state.standing
        found = replace(found, leader=period.leader, gone=start.nobody())
        past = state.past.plus_period(period, slates)
        if len(found.survivors):
            found = found.judged(past.led_by(period.slates), len(slates))
        past = past.kept_for(found.survivors)
        self._keep(key, _State(found, past))
        left, both = found.gone.arrays, np.stack([found.estimates, found.errors])
        if not len(found.survivors):
            return Judged(left, both, -1, -np.inf, period.slates[:0])
        best = int(found.scores.argmax())
        leader = found.survivors[best : best + 1]
        slates = past.slates_of(leader, 0)[:, 0]
        return Judged(left, both, int(leader[0]), float(found.scores[best]), slates)

    def restore(
        self,
        part: Policies,
        first: int,
        key: Key,
        start: "Start",
        survivors: Numbers,
        periods: list[Period],
    ) -> None:
        """Make a state again: ask its survivors, and judge the rounds as they were judged."""
        past = SharePast.first(start.problem, survivors)
        found = start.state().standing
        low = found.survivors.searchsorted(survivors)
        found = replace(found, survivors=survivors, totals=found.totals[low])
        for period in periods:
            slates = period.said(part, survivors - first)
            past = past.plus_period(period, slates)
            weight = past.cost(len(past) - len(slates)) ** -0.5
            cohorts = found.cohorts.after(len(slates), weight)
            rounds = found.rounds + len(slates)
            found = replace(found, rounds=rounds, cohorts=cohorts)
            add_rounds(
                found.totals,
                start.problem,
                past.led_by(period.slates),
                period.leader,
                survivors,
                np.zeros(1),
                len(slates),
                weight,
            )
        self._keep(key, _State(found, past))

    def numbers(self, key: Key, what: str, some: Numbers | None = None) -> Array | Missing:
        """The `estimates`, `errors` or `totals` of the survivors of a state, or of some of them."""
        if key not in self._states:
            return Missing("state", key)
        standing = self._states[key].standing
        found: Array = getattr(standing, what)
        return found if some is None else found[standing.survivors.searchsorted(some)]

    def columns(self, key: Key, policies: Numbers, since: int) -> npt.NDArray[Any] | Missing:
        """What some survivors have said in the later rounds."""
        if key not in self._states:
            return Missing("state", key)
        return self._states[key].past.slates_of(policies, since)

    def bet(
        self,
        key: Key,
        leader: int,
        slates: npt.NDArray[Any],
        policies: Numbers,
        epsilons: Array,
        new: int,
        totals: Array,
    ) -> Array | Missing:
        """`add_rounds` for some survivors, against a leader whose slates are given."""
        if key not in self._states:
            return Missing("state", key)
        standing, past = self._states[key]
        totals = np.array(totals)
        given = past.led_by(slates), leader, policies, epsilons, new
        add_rounds(totals, standing.problem, *given)
        return totals

    def holds(
        self, key: Key, before: Key | None, leader: int, slates: npt.NDArray[Any], same: Numbers
    ) -> bool | Missing:
        """Whether bets on a leader in all rounds reach the threshold against all rivals here.

        `same` are other numbers of the leader. Bets go on from those of the state before.
        """
        if key not in self._states:
            return Missing("state", key)
        standing, past = self._states[key]
        if not len(standing.survivors):
            return True
        standing = replace(standing, leader=leader)
        bets = None if before is None else self._bets.get(before)
        bets = self._bets.get(key) or bets or Retrospect.first(standing.cohorts, leader)
        bets = bets.after(past.led_by(slates), standing, _Same(same))  # type: ignore[arg-type]
        self._bets[key] = bets
        return bets.holds

    def _said(self, sources: list[Source], policies: Numbers) -> npt.NDArray[Any] | Missing:
        """What policies have said in some rows of batches, shape (n, n_policies, slate_size).

        Of who was not asked any more there is 0, which nobody reads.
        """
        found = []
        for batch, rows in sources:
            if batch not in self._batches:
                return Missing("batch", batch)
            asked, slates = self._batches[batch]
            if np.array_equal(asked, policies):
                found.append(slates[rows])
                continue
            places = np.minimum(asked.searchsorted(policies), len(asked) - 1)
            known = asked[places] == policies
            said = np.zeros((len(rows), len(policies), slates.shape[2]), slates.dtype)
            said[:, known] = slates[rows][:, places[known]]
            found.append(said)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _keep(self, key: Key, state: _State) -> None:
        """Remember a state, and the few of the same evidence that were made before it."""
        self._states.pop(key, None)
        self._states[key] = state
        self._prune(key[0], _STATES)

    def _prune(self, evidence: int, most: int) -> None:
        """Keep so many states of an evidence."""
        mine = [key for key in self._states if key[0] == evidence]
        for key in mine[: len(mine) - most]:
            del self._states[key]
            self._bets.pop(key, None)


def _evaluated(
    part: Policies, contexts: Any, places: Numbers, available: Available | None
) -> npt.NDArray[Any]:
    """What policies of a part say at contexts."""
    which = None if len(places) == part.n_policies else places
    if available is None:
        return part._evaluate(contexts, which)
    return part._evaluate_among(contexts, which, available)


class Start(NamedTuple):
    """What a share begins with: the policies first..last-1 of so many."""

    problem: Problem
    n_policies: int
    first: int
    last: int

    def state(self) -> _State:
        """Before any round."""
        mine = np.arange(self.first, self.last)
        standing = Standing.of_some(self.problem, self.n_policies, mine)
        return _State(standing, SharePast.first(self.problem, mine))

    def nobody(self) -> Columns:
        """Nobody was eliminated."""
        return Standing.of_some(self.problem, self.n_policies, np.empty(0, np.intp)).gone


class _Same(NamedTuple):
    """Policies, as far as rivals need to know them."""

    numbers: Numbers

    def same_as(self, _leader: int, others: Numbers) -> npt.NDArray[np.bool_]:
        """Which of the others are the leader under another number."""
        return np.isin(others, self.numbers)
