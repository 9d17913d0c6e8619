"""Which rounds were issued, which are settled, and which are ready to be learnt from."""

import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.errors import DecisionsError
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.settled import Frontier, Part, joined
from policysieve.frames import Contexts
from policysieve.log import NOTHING, Beside, Log
from policysieve.log.returning import Met, mixed_units
from policysieve.scaling import Range

__all__ = ["Ledger"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_PENDING, _TOLD, _DISCARDED = 0, 1, 2
_CONTEXTS, _ACTIONS, _PROPENSITIES, _REWARDS, _STATES, _ASKED = range(6)
_STRETCH = 64  # rounds looked at first when the end of the settled ones is searched
_FEW = 64  # rounds that are not worth forgetting


class Ledger:
    """Rounds wait here until every earlier round is settled.

    Learning in the order of decisions, whatever the order of answers, makes the result
    independent of delays, and keeps estimates unbiased when good answers come back sooner than
    bad ones (docs/maths.md, "Delayed rewards"). With the rounds of a batch the ledger keeps the
    exploration that they were decided by, and what its owner wants to remember: something with
    ``take(rows)`` and ``plus(other)``, such as `Answers`.

    The frontier belongs to the learner, which binds a new one together with what it has learnt, in
    one step. Before that step nothing is settled: what `settle` has written down counts only once
    the frontier that it was given is no longer the learner's, and is taken back by the next `check`
    if that never happens. So a failure or an interrupt anywhere leaves all or nothing, and needs no
    handler that could be interrupted itself. Settling costs the same however many rounds are open.

    Attributes
    ----------
    issued : int
        Rounds that were ever issued.
    exploring : int
        Those of them that explore.
    all_actions : sequence of str or None
        Names of all actions, which go with all decisions.
    reward_range : (low, high) or None
        Of the rewards that are told; None for 0 and 1.
    """

    all_actions: Sequence[str] | None = None
    reward_range: Range = None

    def __init__(self) -> None:
        self.issued = self.exploring = 0
        self._issuers = [(uuid.uuid4().hex, 0)]  # marks, and the first round under each
        self._first = 0  # number of the first round that is still here
        self._columns: Columns | None = None
        self._beside = NOTHING  # what else was said of the same rounds
        self._met: Met | None = None  # the units of all rounds ever issued
        self._starts: list[int] = []  # first round of each batch,
        self._batches: list[tuple[Any, Any]] = []  # its exploration, and what was kept with it
        self._settling: tuple[Places, Frontier] | None = None  # the last rounds, and where it began

    @property
    def contexts(self) -> Any:
        """Contexts of the rounds that are still here; None before the first."""
        return None if self._columns is None else self._columns.arrays[_CONTEXTS]

    @property
    def has_units(self) -> bool:
        """Whether units were named in the rounds so far."""
        return self._met is not None

    def issue(
        self,
        contexts: Contexts,
        actions: npt.NDArray[np.int32],
        propensities: Array,
        *,
        exploration: Any = None,
        kept: Any = None,
        beside: Beside = NOTHING,
        rest: tuple[int, Any] | None = None,
    ) -> Decisions:
        """Write down new rounds and hand them out.

        From a row on, `rest` may have decided instead, which explores nothing; then nothing is kept
        with them.
        """
        n, first, columns = len(actions), self.issued, self._columns
        decisions = Decisions.of(
            contexts.copy(),
            actions,
            propensities,
            first=first,
            issuer=self._issuers[-1][0],
            all_actions=self.all_actions,
            beside=beside,
        )
        if not n:
            return decisions
        met = self._met_with(beside)
        begun = bisect_left(self._starts, first)  # what lies behind was interrupted here
        del self._starts[begun:], self._batches[begun:]
        exploring = n if rest is None else rest[0]
        if exploring == n:
            self._enter(first, exploration, kept)
        elif exploring:
            self._enter(first, exploration, None if kept is None else kept.take(slice(exploring)))
        if rest is not None and exploring < n:
            self._enter(first + exploring, rest[1], None)
        rewards, states = np.zeros(actions.shape), np.zeros(n, dtype=np.uint8)
        new = (decisions.contexts, actions, propensities, rewards, states, decisions.asked)
        if columns is None:
            columns = Columns(*(rows[:0] for rows in new))
        more, exploring = self._beside.plus(len(columns), beside, n), exploring + self.exploring
        self.__dict__.update(
            _columns=columns.plus(*new),
            _beside=more,
            _met=met,
            issued=first + n,
            exploring=exploring,
        )
        return decisions

    def _enter(self, first: int, exploration: Any, kept: Any) -> None:
        """Write down what decides the rounds from the first on, and what is kept with them."""
        last: tuple[Any, Any] = self._batches[-1] if self._batches else (None, self)
        alike = kept is last[1] is None or (getattr(kept, "grows", False) and last[1] is not None)
        if last[0] is not exploration or not alike:
            self._batches.append((exploration, kept))
            self._starts.append(first)
        elif kept is not None:
            before, size = last[1], first - self._starts[-1]
            before = before if len(before) == size else before.take(slice(size))  # interrupted
            self._batches[-1] = (exploration, before.plus(kept))

    def _met_with(self, beside: Beside) -> Met | None:
        """The units met after the next rounds, or raise if only these or the others name them."""
        if self.issued and (self._met is None) != (beside.units is None):
            raise mixed_units()
        return None if beside.units is None else (self._met or Met()).plus(beside.units)

    def check(self, decisions: Any, frontier: Frontier) -> Places:
        """Where these open rounds stand here, or raise."""
        numbers = self._numbers_of(decisions)
        if not len(numbers):
            return np.empty(0, dtype=np.int64)
        assert self._columns is not None
        states, places = self._columns.arrays[_STATES], numbers - self._first
        unfinished = self._settled_in_vain(frontier)
        if unfinished is not None:
            states[unfinished] = _PENDING
        settled = places < 0 if places.min() < 0 else states[places] != _PENDING
        if np.count_nonzero(settled):
            raise DecisionsError(
                f"decisions were told or given up before, for instance round "
                f"{numbers[settled][0]}; tell each of them once"
            )
        return places

    def check_told(self, decisions: Any, frontier: Frontier) -> Places:
        """The numbers of rounds whose rewards were told, or raise; of old ones that is not known.

        Those are the ones that were learnt from, and were told or given up.
        """
        numbers = self._numbers_of(decisions)
        later = np.flatnonzero(numbers >= max(frontier.learnt, self._first))
        if len(later):
            assert self._columns is not None
            places = numbers[later] - self._first
            wrong = self._columns.arrays[_STATES][places] != _TOLD
            unfinished = self._settled_in_vain(frontier)
            if unfinished is not None:
                wrong |= np.isin(places, unfinished)
            if wrong.any():
                raise DecisionsError(
                    "outcomes are told of rounds whose rewards were told, or together with them, "
                    f"got round {numbers[later][wrong][0]}, which is open or was given up"
                )
        return numbers

    def _numbers_of(self, decisions: Any) -> Places:
        """The numbers of rounds that were issued here, each once, or raise."""
        if not isinstance(decisions, Decisions):
            raise DecisionsError(
                f"decisions must be a batch returned by ask, got {type(decisions).__name__}"
            )
        numbers = decisions.numbers
        if not len(numbers):
            return numbers
        if decisions.issuer == self._issuers[-1][0]:
            end = self.issued
        else:
            end = self._end_of_issuer(decisions.issuer)
        in_order = len(numbers) == 1 or bool((numbers[1:] > numbers[:-1]).all())  # as usual
        ordered = numbers if in_order else np.sort(numbers)
        if ordered[-1] >= end:
            raise DecisionsError(
                "decisions were not issued by this learner but by a copy of it, or after the copy "
                "was taken; tell them to the learner whose ask returned them"
            )
        again = ordered[:0] if in_order else ordered[1:][ordered[1:] == ordered[:-1]]
        if len(again):
            raise DecisionsError(
                f"decisions must be of different rounds, got round {again[0]} twice"
            )
        return numbers

    def settle(
        self, places: Places, rewards: Array | None, frontier: Frontier
    ) -> tuple[list[Part], Frontier]:
        """Enter the rewards of open rounds, or None if they will never be known.

        Parameters
        ----------
        places : integer array
            From `check`, at least one.
        rewards : array or None
        frontier : Frontier
            Where the learner is.

        Returns
        -------
        parts : list of Part
            What can be learnt from then; discarded rounds are left out.
        frontier : Frontier
            Where the learner is when it has: with that, and not before, the rounds are settled.
        """
        assert self._columns is not None
        arrays, n = self._columns.arrays, len(places)
        self._settling = (places, frontier)
        learnt, told, discarded = frontier
        if rewards is None:
            arrays[_STATES][places] = _DISCARDED
            discarded += n
        else:
            arrays[_REWARDS][places] = rewards
            arrays[_STATES][places] = _TOLD
            told += n
        start = learnt - self._first
        end = self._end_of_settled(start)
        if start == end:
            return [], Frontier(learnt, told, discarded)
        parts = self._parts(start, end, complete=not discarded)
        passed = 0
        for part in parts:
            passed += len(part.rounds)
        told, discarded = told - passed, discarded - (end - start - passed)
        return parts, Frontier(self._first + end, told, discarded)

    def forget(self, learnt: int) -> None:
        """Let go of what was kept with the first `learnt` rounds; of many, altogether."""
        gone = learnt - self._first
        if learnt == self.issued:
            self.__dict__.update(_starts=[], _batches=[])  # explorations of many policies are large
        if gone < _FEW or self._columns is None:
            return
        arrays = self._columns.arrays
        done = max(0, bisect_right(self._starts, learnt) - 1)  # batches, but for the last
        if done > _FEW and 2 * done > len(self._starts):
            self.__dict__.update(_starts=self._starts[done:], _batches=self._batches[done:])
            done = 0
        if 2 * gone < len(arrays[_STATES]):
            return
        rest = Columns(*(array[gone:].copy() for array in arrays))
        starts, batches = self._starts[done:], self._batches[done:]
        if batches and starts[0] < learnt:
            exploration, kept = batches[0]
            kept = kept if kept is None else kept.take(slice(learnt - starts[0], None))
            starts[0], batches[0] = learnt, (exploration, kept)
        beside = self._beside[gone:].copy()
        self.__dict__.update(
            _columns=rest, _beside=beside, _first=learnt, _starts=starts, _batches=batches
        )

    def open(self, frontier: Frontier) -> Decisions:
        """The open rounds, in the order of their decisions."""
        if self._columns is None:
            nothing = np.empty(0, dtype=np.int32)
            return Decisions.of(
                nothing, nothing[:, None], np.empty((0, 1)), all_actions=self.all_actions
            )
        arrays = self._columns.arrays
        is_open = arrays[_STATES] == _PENDING
        unfinished = self._settled_in_vain(frontier)
        if unfinished is not None:
            is_open[unfinished] = True
        places = np.flatnonzero(is_open)
        return Decisions(
            contexts=arrays[_CONTEXTS][places],
            actions=arrays[_ACTIONS][places],
            propensities=arrays[_PROPENSITIES][places],
            numbers=self._first + places,
            asked=arrays[_ASKED][places],
            issuer=self._issuers[-1][0],
            all_actions=self.all_actions,
            beside=self._beside[places],
        )

    def next_exploration(self, frontier: Frontier) -> Any:
        """What decided the first round that was not learnt from; None if there is none."""
        if frontier.learnt == self.issued:
            return None
        return self._batches[bisect_right(self._starts, frontier.learnt) - 1][0]

    def pending(self, frontier: Frontier) -> int:
        """How many rounds are open."""
        return self.issued - sum(frontier)

    def waiting(self, frontier: Frontier) -> int:
        """How many rounds may still be learnt from."""
        return self.issued - frontier.learnt - frontier.discarded

    def as_of(self, frontier: Frontier) -> "Ledger":
        """The same rounds in memory of their own, without what was settled in vain."""
        twin = object.__new__(Ledger)
        twin.__dict__.update(self.__getstate__())
        unfinished = self._settled_in_vain(frontier)
        if unfinished is not None and twin._columns is not None:
            twin._columns.arrays[_STATES][unfinished] = _PENDING
        return twin

    def part_ways(self) -> None:
        """Become a copy: what the original issues from now on is not this one's."""
        self._issuers = [*self._issuers, (uuid.uuid4().hex, self.issued)]

    def _settled_in_vain(self, frontier: Frontier) -> Places | None:
        """Rounds that are marked as settled but were not, because the learner is where it was."""
        if self._settling is None or self._settling[1] is not frontier:
            return None
        return self._settling[0]

    def _end_of_issuer(self, mark: str) -> int:
        """Number of the first round that was no longer issued under a mark, or raise."""
        marks = [known for known, _ in self._issuers]
        if mark not in marks:
            raise DecisionsError(
                "decisions were not issued by this learner; tell them to the learner whose ask "
                "returned them"
            )
        return self._issuers[marks.index(mark) + 1][1]

    def _parts(self, start: int, end: int, *, complete: bool) -> list[Part]:
        """Settled rounds, in one part for each exploration; `complete` if all of them were told."""
        groups: list[list[Part]] = []
        batch, low = bisect_right(self._starts, self._first + start) - 1, start
        while low < end:
            later = self._starts[batch + 1 : batch + 2]
            high = min(end, later[0] - self._first) if later else end
            part = self._part(batch, low, high, complete=complete)
            batch, low = batch + 1, high
            if groups and groups[-1][-1].exploration is part.exploration:
                groups[-1].append(part)
            elif len(part.rounds):
                groups.append([part])
        return [group[0] if len(group) == 1 else joined(group) for group in groups]

    def _part(self, batch: int, low: int, high: int, *, complete: bool) -> Part:
        """The told rounds among some of a batch."""
        assert self._columns is not None
        contexts, actions, propensities, rewards, states, asked = self._columns.arrays
        rows = cast(Any, slice(low, high))
        if not complete:
            rows = low + np.flatnonzero(states[rows] == _TOLD)
        exploration, kept = self._batches[batch]
        if kept is not None:
            start = self._starts[batch] - self._first
            kept = kept.take(slice(low - start, high - start) if complete else rows - start)
        played = Log.trusted(
            contexts[rows],
            actions[rows],
            propensities[rows],
            rewards[rows],
            beside=self._beside[rows],
            reward_range=self.reward_range,
        )
        numbers = self._first + (np.arange(low, high) if complete else rows)
        first = None
        if played.units is not None and self._met is not None:
            first = self._met.are_first(played.units, numbers)
        return Part(played, exploration, kept, first=first, numbers=numbers, asked=asked[rows])

    def _end_of_settled(self, start: int) -> int:
        assert self._columns is not None
        states, stretch = self._columns.arrays[_STATES], 1
        while start < len(states):
            is_open = states[start : start + stretch] == _PENDING
            if is_open.any():
                return start + int(is_open.argmax())
            start, stretch = start + stretch, max(2 * stretch, _STRETCH)
        return len(states)

    def __getstate__(self) -> dict[str, Any]:
        """As things are now: rewards and states are changed in place."""
        columns = self._columns and Columns(*(array.copy() for array in self._columns.arrays))
        batches = {"_starts": list(self._starts), "_batches": list(self._batches)}
        return {**self.__dict__, "_columns": columns, **batches, "_settling": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.part_ways()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        twin = object.__new__(Ledger)
        twin.__setstate__(deepcopy(self.__getstate__(), memo))
        return twin
