"""Which rounds were issued, which are settled, and which are ready to be learnt from."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.errors import DecisionsError
from policysieve.exploration.decisions import Decisions
from policysieve.log import Log

__all__ = ["Ledger", "Origin"]

_PENDING, _TOLD, _DISCARDED = 0, 1, 2


class Origin(NamedTuple):
    """Where rounds come from: number of their batch and row in it, integer arrays of shape (n,)."""

    batches: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]


@dataclass
class _Batch:
    decisions: Decisions
    rewards: npt.NDArray[np.float64]
    state: npt.NDArray[np.uint8]
    learnt: int = 0  # rows before this one have left the ledger


class Ledger:
    """Rounds wait here until every earlier round is settled.

    Learning in the order of decisions, whatever the order of answers, makes the result
    independent of delays, and keeps estimates unbiased when good answers come back sooner than
    bad ones (docs/maths.md, "Delayed rewards").
    """

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._batches: OrderedDict[int, _Batch] = OrderedDict()
        self.batches_issued = 0
        self.pending = 0  # rounds that are not settled
        self.unlearnt = 0  # rounds that are neither learnt from nor discarded

    def issue(
        self,
        contexts: npt.NDArray[Any],
        actions: npt.NDArray[Any],
        propensities: npt.NDArray[np.float64],
    ) -> Decisions:
        """Write down a new batch and hand it out."""
        n = len(contexts)
        decisions = Decisions(
            contexts=contexts.copy(),
            actions=actions,
            propensities=propensities,
            batch=self.batches_issued,
            rows=np.arange(n),
            issuer=self._issuer,
        )
        state = np.full(n, _PENDING, dtype=np.uint8)
        self._batches[self.batches_issued] = _Batch(decisions, np.zeros(actions.shape), state)
        self.batches_issued += 1
        self.pending += n
        self.unlearnt += n
        return decisions

    def settle(self, decisions: Decisions, rewards: npt.NDArray[np.float64] | None) -> None:
        """Enter the rewards of pending rounds, or None if they will never be known."""
        if isinstance(decisions, Decisions) and not len(decisions):
            return
        batch = self._find(decisions)
        batch.state[decisions.rows] = _DISCARDED if rewards is None else _TOLD
        if rewards is not None:
            batch.rewards[decisions.rows] = rewards
        else:
            self.unlearnt -= len(decisions)
        self.pending -= len(decisions)

    def undo(self, decisions: Decisions) -> None:
        """Make rounds pending again that were settled just now."""
        if not len(decisions):
            return
        state = self._batches[decisions.batch].state
        self.unlearnt += int((state[decisions.rows] == _DISCARDED).sum())
        self.pending += len(decisions)
        state[decisions.rows] = _PENDING

    @property
    def oldest_batch(self) -> int:
        """Number of the first batch that is not settled altogether."""
        return next(iter(self._batches), self.batches_issued)

    def ready(self) -> tuple[Log, Origin] | None:
        """Told rounds all of whose predecessors are settled, in order, and their origin."""
        parts = []
        for batch in self._batches.values():
            end = _first_pending(batch)
            told = batch.learnt + np.flatnonzero(batch.state[batch.learnt : end] == _TOLD)
            if len(told):
                whole = len(told) == end - batch.learnt
                parts.append((batch, told, slice(batch.learnt, end) if whole else told))
            if end < len(batch.state):
                break
        if not parts:
            return None
        logs = [
            Log.trusted(
                b.decisions.contexts[rows],
                b.decisions.actions[rows],
                b.decisions.propensities[rows],
                b.rewards[rows],
            )
            for b, _, rows in parts
        ]
        numbers = [b.decisions.batch for b, _, _ in parts]
        origin = Origin(
            np.repeat(numbers, [len(log) for log in logs]),
            np.concatenate([told for _, told, _ in parts]),
        )
        return Log.concatenate(logs), origin

    def release(self, learnt: int) -> None:
        """Let go of the `learnt` rounds that `ready` returned."""
        self.unlearnt -= learnt
        for number in list(self._batches):
            batch = self._batches[number]
            batch.learnt = _first_pending(batch)
            if batch.learnt < len(batch.state):
                break
            del self._batches[number]

    def _find(self, decisions: Decisions) -> _Batch:
        if not isinstance(decisions, Decisions):
            raise DecisionsError(
                f"decisions must be a batch returned by ask, got {type(decisions).__name__}"
            )
        if decisions.issuer != self._issuer or not 0 <= decisions.batch < self.batches_issued:
            raise DecisionsError(
                "decisions were not issued by this learner; tell them to the learner whose ask "
                "returned them"
            )
        batch = self._batches.get(decisions.batch)
        if batch is None:
            raise DecisionsError(
                f"decisions of batch {decisions.batch} were told or given up before"
            )
        rows = decisions.rows
        mine = decisions is batch.decisions
        if not mine and not np.array_equal(batch.decisions.actions[rows], decisions.actions):
            raise DecisionsError(
                "decisions were not issued by this learner but by a copy of it; tell them to the "
                "copy"
            )
        named = np.zeros(len(batch.state), dtype=np.bool_)
        named[rows] = True
        if int(named.sum()) != len(rows):
            raise DecisionsError(f"decisions name a row of batch {decisions.batch} twice")
        settled = batch.state[rows] != _PENDING
        if settled.any():
            raise DecisionsError(
                f"decisions of batch {decisions.batch} were told or given up before, for instance "
                f"row {rows[settled][0]}"
            )
        return batch


def _first_pending(batch: _Batch) -> int:
    waiting = batch.state[batch.learnt :] == _PENDING
    return batch.learnt + int(waiting.argmax()) if waiting.any() else len(batch.state)
