"""Which rounds were issued, which are settled, and which are ready to be learnt from."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import DecisionsError
from policysieve.exploration.decisions import Decisions
from policysieve.log import Log

__all__ = ["Ledger"]

_PENDING, _TOLD, _DISCARDED = 0, 1, 2


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
        self._issued = 0
        self.pending = 0

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
            actions=actions.astype(np.int64),
            propensities=propensities,
            batch=self._issued,
            rows=np.arange(n),
            issuer=self._issuer,
        )
        state = np.full(n, _PENDING, dtype=np.uint8)
        self._batches[self._issued] = _Batch(decisions, np.zeros(actions.shape), state)
        self._issued += 1
        self.pending += n
        return decisions

    def settle(self, decisions: Decisions, rewards: npt.NDArray[np.float64] | None) -> None:
        """Enter the rewards of pending rounds, or None if they will never be known."""
        batch = self._find(decisions)
        batch.state[decisions.rows] = _DISCARDED if rewards is None else _TOLD
        if rewards is not None:
            batch.rewards[decisions.rows] = rewards
        self.pending -= len(decisions)

    def undo(self, decisions: Decisions) -> None:
        """Make rounds pending again that were settled just now."""
        self._batches[decisions.batch].state[decisions.rows] = _PENDING
        self.pending += len(decisions)

    def ready(self) -> Log | None:
        """Told rounds all of whose predecessors are settled, in order; None if there are none."""
        parts = []
        for batch in self._batches.values():
            end = _first_pending(batch)
            told = batch.learnt + np.flatnonzero(batch.state[batch.learnt : end] == _TOLD)
            if len(told):
                parts.append(
                    (batch, slice(batch.learnt, end) if len(told) == end - batch.learnt else told)
                )
            if end < len(batch.state):
                break
        if not parts:
            return None
        return Log(
            contexts=np.concatenate([b.decisions.contexts[rows] for b, rows in parts]),
            actions=np.concatenate([b.decisions.actions[rows] for b, rows in parts]),
            propensities=np.concatenate([b.decisions.propensities[rows] for b, rows in parts]),
            rewards=np.concatenate([b.rewards[rows] for b, rows in parts]),
        )

    def release(self) -> None:
        """Let go of the rounds that `ready` returned."""
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
        if decisions.issuer != self._issuer or not 0 <= decisions.batch < self._issued:
            raise DecisionsError(
                "decisions were not issued by this learner; tell them to the learner whose ask "
                "returned them"
            )
        batch = self._batches.get(decisions.batch)
        if batch is None:
            raise DecisionsError(f"decisions of batch {decisions.batch} were told before")
        rows = decisions.rows
        if len(np.unique(rows)) != len(rows):
            raise DecisionsError(f"decisions name a row of batch {decisions.batch} twice")
        settled = batch.state[rows] != _PENDING
        if settled.any():
            raise DecisionsError(
                f"decisions of batch {decisions.batch} were told before, for instance row "
                f"{rows[settled][0]}"
            )
        return batch


def _first_pending(batch: _Batch) -> int:
    waiting = batch.state[batch.learnt :] == _PENDING
    return batch.learnt + int(waiting.argmax()) if waiting.any() else len(batch.state)
