"""Which rounds were issued, which are settled, and which are ready to be learnt from."""

import uuid
from bisect import bisect_left, bisect_right
from copy import deepcopy
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.errors import DecisionsError
from policysieve.exploration.decisions import Decisions
from policysieve.log import Log

__all__ = ["Ledger", "Part"]

Array = npt.NDArray[np.float64]

_PENDING, _TOLD, _DISCARDED = 0, 1, 2
_CONTEXTS, _ACTIONS, _PROPENSITIES, _REWARDS, _STATES, _ASKED = range(6)
_STRETCH = 64  # rounds looked at first when the end of the settled ones is searched
_FEW = 64  # rounds that are not worth forgetting


class Part(NamedTuple):
    """Settled rounds in the order of their decisions, that were decided by one exploration.

    Attributes
    ----------
    rounds : Log
    exploration : object
    kept : object or None
        What was kept with these rounds.
    """

    rounds: Log
    exploration: Any
    kept: Any


class Ledger:
    """Rounds wait here until every earlier round is settled.

    Learning in the order of decisions, whatever the order of answers, makes the result
    independent of delays, and keeps estimates unbiased when good answers come back sooner than
    bad ones (docs/maths.md, "Delayed rewards"). With the rounds of a batch the ledger keeps the
    exploration that they were decided by, and what its owner wants to remember: something with
    ``take(rows)`` and ``plus(other)``, such as `Answers`.

    How far its rounds were learnt from is known to the learner alone, which says so in `ready`.
    Then an interrupt between two steps leaves either all or nothing: a round is told when its
    state says so, and that is one step. Settling costs the same however many rounds are open.
    """

    def __init__(self) -> None:
        self._issuers = [(uuid.uuid4().hex, 0)]  # marks, and the first round under each
        self._first = 0  # number of the first round that is still here
        self._columns: Columns | None = None
        self._starts: list[int] = []  # first round of each batch,
        self._batches: list[tuple[Any, Any]] = []  # its exploration, and what was kept with it
        self._tally: tuple[int, int, int] | None = (0, 0, 0)  # from a round on: open, discarded

    @property
    def issued(self) -> int:
        """Rounds that were ever issued."""
        return self._first + (0 if self._columns is None else len(self._columns))

    @property
    def _states(self) -> npt.NDArray[np.uint8]:
        return self._arrays[_STATES]

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        assert self._columns is not None
        return self._columns.arrays

    def issue(
        self,
        contexts: npt.NDArray[Any],
        actions: npt.NDArray[np.int32],
        propensities: Array,
        *,
        exploration: Any = None,
        kept: Any = None,
    ) -> Decisions:
        """Write down new rounds and hand them out."""
        first = self.issued
        decisions = Decisions.of(
            contexts.copy(), actions, propensities, first=first, issuer=self._issuers[-1][0]
        )
        n = len(decisions)
        new: tuple[npt.NDArray[Any], ...] = (
            decisions.contexts,
            actions,
            propensities,
            np.zeros(actions.shape),
            np.full(n, _PENDING, dtype=np.uint8),
            decisions.asked,
        )
        if not n:
            return decisions
        begun = bisect_left(self._starts, first)  # what lies behind was interrupted here
        del self._starts[begun:], self._batches[begun:]
        last: tuple[Any, Any] = self._batches[-1] if self._batches else (None, self)
        alike = kept is last[1] is None or (getattr(kept, "grows", False) and last[1] is not None)
        if last[0] is not exploration or not alike:
            self._batches.append((exploration, kept))
            self._starts.append(first)
        elif kept is not None:
            before, size = last[1], first - self._starts[-1]
            before = before if len(before) == size else before.take(slice(size))  # interrupted
            self._batches[-1] = (exploration, before.plus(kept))
        if self._columns is None:
            columns = Columns(*(np.array(rows) for rows in new))
        else:
            columns = self._columns.plus(*new)
        tally, self._tally = self._tally, None
        self._columns = columns
        if tally is not None:
            self._tally = (tally[0], tally[1] + n, tally[2])
        return decisions

    def check(self, decisions: Any) -> npt.NDArray[np.int64]:
        """Where these open rounds stand here, or raise."""
        if not isinstance(decisions, Decisions):
            raise DecisionsError(
                f"decisions must be a batch returned by ask, got {type(decisions).__name__}"
            )
        if not len(decisions):
            return np.empty(0, dtype=np.int64)
        numbers = decisions.numbers
        ordered = numbers if len(numbers) == 1 else np.sort(numbers)
        low, high = int(ordered[0]), int(ordered[-1])
        marks = [mark for mark, _ in self._issuers]
        if decisions.issuer not in marks:
            raise DecisionsError(
                "decisions were not issued by this learner; tell them to the learner whose ask "
                "returned them"
            )
        place = marks.index(decisions.issuer) + 1
        end = self._issuers[place][1] if place < len(marks) else self.issued
        if high >= end:
            raise DecisionsError(
                "decisions were not issued by this learner but by a copy of it, or after the copy "
                "was taken; tell them to the learner whose ask returned them"
            )
        if (ordered[1:] == ordered[:-1]).any():
            raise DecisionsError("decisions name a round twice")
        places = numbers - self._first
        settled = places < 0 if low < self._first else self._states[places] != _PENDING
        if settled.any():
            raise DecisionsError(
                f"decisions were told or given up before, for instance round {numbers[settled][0]}"
            )
        return places

    def settle(self, places: npt.NDArray[np.int64], rewards: Array | None) -> None:
        """Enter the rewards of open rounds, or None if they will never be known."""
        if rewards is not None:
            self._arrays[_REWARDS][places] = rewards
        self._mark(places, _DISCARDED if rewards is None else _TOLD)

    def reopen(self, places: npt.NDArray[np.int64]) -> None:
        """Let rounds wait again that were settled just now."""
        self._mark(places, _PENDING)

    def ready(self, learnt: int) -> tuple[list[Part], int] | None:
        """Settled rounds behind the first `learnt` ones, and how many are settled in a row then.

        Discarded rounds are left out. None if the next round is open.
        """
        columns = self._columns
        if columns is None or learnt - self._first >= len(columns.arrays[_STATES]):
            return None
        if columns.arrays[_STATES][learnt - self._first] == _PENDING:
            return None
        start = learnt - self._first
        end = self._end_of_settled(start)
        groups: list[list[Part]] = []
        for i in range(self._batch_at(learnt), len(self._starts)):
            behind = self._starts[i + 1] if i + 1 < len(self._starts) else self.issued
            low, high = max(start, self._starts[i] - self._first), min(end, behind - self._first)
            if low >= high:
                break
            part = self._part(i, low, high)
            if groups and groups[-1][-1].exploration is part.exploration:
                groups[-1].append(part)
            else:
                groups.append([part])
        parts = [_joined(group) for group in groups]
        return [part for part in parts if len(part.rounds)], self._first + end

    def forget(self, learnt: int) -> None:
        """Let go of what was kept with the first `learnt` rounds; of many, altogether."""
        done, gone = self._batch_at(learnt), learnt - self._first
        if done > _FEW and 2 * done > len(self._starts):
            self.__dict__.update(_starts=self._starts[done:], _batches=self._batches[done:])
        if gone < _FEW or 2 * gone < len(self._states):
            return
        self._count(learnt)
        rest = Columns(*(array[gone:].copy() for array in self._arrays))
        starts, batches = self._starts[done:], self._batches[done:]
        exploration, kept = batches[0]
        if kept is not None and starts[0] < learnt:
            kept = kept.take(slice(learnt - starts[0], None))
        starts[0], batches[0] = max(starts[0], learnt), (exploration, kept)
        self.__dict__.update(_columns=rest, _first=learnt, _starts=starts, _batches=batches)

    def open(self) -> Decisions:
        """The open rounds, in the order of their decisions."""
        if self._columns is None:
            nothing = np.empty(0, dtype=np.int32)
            return Decisions.of(nothing, nothing[:, None], np.empty((0, 1)))
        values = self._arrays
        places = np.flatnonzero(values[_STATES] == _PENDING)
        return Decisions(
            contexts=values[_CONTEXTS][places],
            actions=values[_ACTIONS][places],
            propensities=values[_PROPENSITIES][places],
            numbers=self._first + places,
            asked=values[_ASKED][places],
            issuer=self._issuers[-1][0],
        )

    def pending(self, learnt: int) -> int:
        """How many rounds are open."""
        return self._count(learnt)[0]

    def waiting(self, learnt: int) -> int:
        """How many rounds may still be learnt from, behind the first `learnt` ones."""
        return self.issued - learnt - self._count(learnt)[1]

    def _batch_at(self, number: int) -> int:
        """Place of the batch of a round; the last one if it is still to be issued."""
        return max(0, bisect_right(self._starts, number) - 1)

    def _part(self, batch: int, low: int, high: int) -> Part:
        """The told rounds among some of a batch."""
        arrays, rows = self._arrays, cast(Any, slice(low, high))
        told = arrays[_STATES][rows] == _TOLD
        if not told.all():
            rows = low + np.flatnonzero(told)
        exploration, kept = self._batches[batch]
        if kept is not None:
            start = self._starts[batch] - self._first
            inside = slice(low - start, high - start) if isinstance(rows, slice) else rows - start
            kept = kept.take(inside)
        played = [array[rows] for array in arrays[:_STATES]]
        return Part(Log.trusted(*played), exploration, kept)

    def _end_of_settled(self, start: int) -> int:
        states, stretch = self._states, _STRETCH
        while start < len(states):
            is_open = states[start : start + stretch] == _PENDING
            if is_open.any():
                return start + int(is_open.argmax())
            start, stretch = start + stretch, 2 * stretch
        return len(states)

    def _mark(self, places: npt.NDArray[np.int64], state: int) -> None:
        if not len(places):
            return
        tally, states = self._tally, self._states
        before = states[places]
        self._tally = None  # counted anew if the next lines are interrupted
        states[places] = state
        if tally is not None:
            start, n_open, discarded = tally
            counted = before[places >= start - self._first]
            n_open += (state == _PENDING) * len(counted) - int((counted == _PENDING).sum())
            discarded += (state == _DISCARDED) * len(counted) - int((counted == _DISCARDED).sum())
            self._tally = (start, n_open, discarded)

    def _count(self, learnt: int) -> tuple[int, int]:
        """How many rounds behind the first `learnt` ones are open, and how many discarded."""
        if self._columns is None:
            return 0, 0
        states = self._states
        if self._tally is None or self._tally[0] > learnt:
            later = states[learnt - self._first :]
            tally = (learnt, int((later == _PENDING).sum()), int((later == _DISCARDED).sum()))
        else:
            start, n_open, discarded = self._tally
            passed = states[start - self._first : learnt - self._first]
            tally = (learnt, n_open, discarded - int((passed == _DISCARDED).sum()))
        self._tally = tally
        return tally[1], tally[2]

    def __getstate__(self) -> dict[str, Any]:
        """As things are now: rewards and states are changed in place."""
        columns = self._columns and Columns(*(array.copy() for array in self._columns.arrays))
        batches = {"_starts": list(self._starts), "_batches": list(self._batches)}
        return {**self.__dict__, "_columns": columns, **batches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy goes its own way: what the original issues from now on is not the copy's."""
        self.__dict__.update(state)
        self._issuers = [*self._issuers, (uuid.uuid4().hex, self.issued)]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        twin = object.__new__(Ledger)
        twin.__setstate__(deepcopy(self.__getstate__(), memo))
        return twin


def _joined(parts: list[Part]) -> Part:
    """Parts of one exploration as one."""
    if len(parts) == 1:
        return parts[0]
    kept = parts[0].kept
    for part in parts[1:]:
        kept = kept if kept is None else kept.plus(part.kept)
    rounds = Log.concatenate([part.rounds for part in parts])
    return Part(rounds, parts[0].exploration, kept)
