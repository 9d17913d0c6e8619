"""The evidence on some of the policies, kept by whoever holds these.

The formulas are in docs/maths.md, "Evidence in shards".
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.columns import Columns
from policysieve.evidence.capped_bets import add_rounds
from policysieve.evidence.exchanged import (
    Judged,
    Known,
    Missing,
    Numbers,
    Period,
    Source,
    Sums,
    Weights,
    evaluated,
)
from policysieve.evidence.held_past import SharePast
from policysieve.evidence.retrospect import Retrospect
from policysieve.evidence.standing import Standing
from policysieve.kernels.summing import sum_answers
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["ASKING", "Share", "Start"]

Array = npt.NDArray[np.float64]

ASKING = ("answer", "restore")
"""Methods of a share that are given its policies, and the number of the first of them."""

_WEIGHTS = 4  # of explorations and models that are kept
_STATES = 3  # of one evidence that are kept: what was done last may be taken back

Key = tuple[int, int]
"""Of a state: the evidence that it belongs to, and its number there."""


class _State(NamedTuple):
    """What a share knows after a look. A value."""

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
        self._states: dict[Key, _State] = {}  # the last one made comes last
        self._bets: dict[Key, Retrospect] = {}  # on the leader, by state

    def forget(self, keys: list[int]) -> None:
        """Let go of what nobody will ask for any more."""
        for key in keys:
            self._batches.pop(key, None)
            self._prune(key, 0)

    def _known(self, known: Known) -> Weights | Missing:
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
        slates = evaluated(part, contexts, asked - first, available)
        self._batches[key] = asked, slates
        return np.asarray(slates[rows, asked.searchsorted(policies)])

    def summed(self, sources: list[Source], known: Known, sums: Sums) -> Sums | Missing:
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

        Policies that were not asked any more have 0 there, which nobody reads.
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


class Start(NamedTuple):
    """What a share begins with: the policies first..last-1 of so many."""

    problem: Problem
    n_policies: int
    first: int
    last: int

    def state(self) -> _State:
        """The state before any round."""
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
