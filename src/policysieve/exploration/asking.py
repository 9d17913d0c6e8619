"""Ask, tell and learn: what everything that asks through a ledger has in common."""

import threading
from abc import ABC, abstractmethod
from copy import deepcopy
from datetime import timedelta
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.checks import number
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.ledger import Ledger, Part

__all__ = ["Asking"]

Array = npt.NDArray[np.float64]


class Asking(ABC):
    """Rounds are issued and settled in a ledger, and learnt from in the order of decisions.

    A subclass is a fold: its `_fold` takes settled rounds by binding attributes anew and never
    changes an object that an attribute was bound to, nor draws from the generator that asks. It
    works on a copy, whose new attributes then replace the old ones in one step. So a failure or an
    interrupt leaves all or nothing, and whoever looks at a `_snapshot` sees one state, while other
    threads go on.
    """

    _lock: Any
    _ledger: Ledger
    _learnt: int  # rounds of the ledger that were learnt from or discarded

    def _open_ledger(self) -> None:
        """Begin with an empty ledger; who has a lock keeps it."""
        self._lock = self.__dict__.get("_lock") or threading.RLock()
        self._ledger = Ledger()
        self._learnt = 0

    @abstractmethod
    def _fold(self, part: Part) -> None:
        """Take in settled rounds; all attributes that change are bound anew."""

    def _settle(self, places: npt.NDArray[np.int64], rewards: Array | None) -> None:
        """Enter rewards, or None if they will never be known, and learn what is ready."""
        learnt = self._learnt
        try:
            self._ledger.settle(places, rewards)
            self._catch_up()
        except BaseException:
            if self._learnt == learnt:  # else all was done before the interrupt
                self._ledger.reopen(places)
            raise

    def _catch_up(self) -> None:
        """Learn from rounds that are ready: new ones, or those of a call that was interrupted."""
        ready = self._ledger.ready(self._learnt)
        if ready is None:
            return
        parts, learnt = ready
        self._take(parts, learnt)
        self._ledger.forget(learnt)

    def _take(self, parts: list[Part], learnt: int) -> None:
        """Fold parts on a copy, and take what it has changed in the one step that counts."""
        then = self._twin()
        before = dict(then.__dict__)
        for part in parts:
            then._fold(part)
        then._learnt = learnt
        changed = {k: v for k, v in then.__dict__.items() if before.get(k, before) is not v}
        self.__dict__.update(changed)

    def _snapshot(self) -> Self:
        """The state after everything that was told, to look at."""
        if self._lock is None:
            return self
        with self._lock:
            self._catch_up()
            return self._twin()

    def _twin(self) -> Self:
        """A copy without a ledger, for looking at and for folding."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _lock=None, _ledger=None)
        return twin

    def _n_pending(self) -> int:
        with self._lock:
            return self._ledger.pending(self._learnt)

    def _open(self, older_than: Any = None) -> Decisions:
        """Open rounds, all or those of some age in seconds."""
        with self._lock:
            waiting = self._ledger.open()
        if older_than is None:
            return waiting
        if isinstance(older_than, timedelta):
            older_than = older_than.total_seconds()
        age = number("older_than", older_than, above=-1e-9, below=float("inf"))
        return waiting[waiting.ages >= age]

    def __getstate__(self) -> dict[str, Any]:
        """A state that no other thread changes any more."""
        if self.__dict__.get("_lock") is None:
            return self._state()
        with self._lock:
            self._catch_up()
            state = self._state()
            del state["_lock"]
            return {name: _own(value) for name, value in state.items()}

    def _state(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        return dict(inherited)

    def __setstate__(self, state: dict[str, Any]) -> None:
        inherited = getattr(super(), "__setstate__", self.__dict__.update)
        inherited(state)
        if "_ledger" in state:
            self._lock = threading.RLock()

    def __copy__(self) -> Self:
        """A copy has a ledger of its own."""
        return deepcopy(self)


def _own(value: Any) -> Any:
    """What is changed in place, as it is now."""
    return deepcopy(value) if isinstance(value, Ledger | np.random.Generator) else value
