"""Ask, tell and learn: what everything that asks through a ledger has in common."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from policysieve.errors import BusyError
from policysieve.exploration.decisions import Decisions, as_age
from policysieve.exploration.ledger import Ledger
from policysieve.exploration.settled import Frontier, Part

__all__ = ["Asking", "alone", "busy", "changing", "living"]

Array = npt.NDArray[np.float64]
P = ParamSpec("P")
T = TypeVar("T")

living: "WeakSet[Asking]" = WeakSet()
"""All that have a ledger in this process: in a fork of it they are copies."""


def alone(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Let no other thread in while a method looks at the ledger."""

    @wraps(method)
    def locked(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock: return method(self, *args, **kwargs)  # fmt: skip  # noqa: E701

    return locked


def changing(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The same for a method that changes something, which must not come within another call.

    Body and lock are in one line, so that even a debugger that stops between lines leaves no lock
    behind.
    """

    @wraps(method)
    def locked(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._lock._is_owned():
            raise busy(self)
        with self._lock: return method(self, *args, **kwargs)  # fmt: skip  # noqa: E701

    return locked


def busy(one: Any) -> BusyError:
    """The error of a call that must not come within another."""
    return BusyError(
        f"this {type(one).__name__} is in the middle of another call of the same thread, as when a "
        "signal handler is run: there one may look, but what changes it must wait until that call "
        "has returned"
    )


class Asking(ABC):
    """Rounds are issued and settled in a ledger, and learnt from in the order of decisions.

    A subclass is a fold: its `_fold` takes settled rounds by binding attributes anew and never
    changes an object that an attribute was bound to, nor draws from the generator that asks. It
    works on a copy, whose new attributes then replace the old ones in one step, with the new
    frontier of the ledger. So a failure or an interrupt leaves all or nothing, and whoever looks
    at a `_snapshot` sees one state, whatever other threads do meanwhile or this one was about to do
    when a signal came.
    """

    _lock: Any = None  # who has none is a snapshot
    _ledger: Ledger
    _frontier: Frontier
    _rng: np.random.Generator
    _drawn: tuple[int, Any] | None  # rounds issued and state of the generator before the last ask

    def _open_ledger(self) -> None:
        """Begin with an empty ledger; who has a lock keeps it."""
        self._lock = self._lock or threading.RLock()
        self._ledger, self._frontier, self._drawn = Ledger(), Frontier(), None

    @abstractmethod
    def _fold(self, part: Part) -> None:
        """Take in settled rounds; all attributes that change are bound anew."""

    def _generator(self) -> np.random.Generator:
        """What the next batch is drawn from; numbers of one that was not issued are drawn again."""
        self._rewind()
        self._drawn = (self._ledger.issued, self._rng.bit_generator.state)
        return self._rng

    def _rewind(self) -> None:
        """Give back what was drawn for a batch that was not issued."""
        if self._drawn is not None:
            issued, before = self._drawn
            if issued == self._ledger.issued:
                self._rng.bit_generator.state = before
            self._drawn = None

    def _settle(self, places: npt.NDArray[np.int64], rewards: Array | None, **changes: Any) -> None:
        """Enter rewards, or None if they will never be known, and learn what is ready.

        Other attributes change with it.
        """
        if len(places):
            parts, frontier = self._ledger.settle(places, rewards, self._frontier)
            self._take(parts, frontier, **changes)
            self._ledger.forget(frontier.learnt)

    def _take(self, parts: list[Part], frontier: Frontier, **changes: Any) -> None:
        """Fold parts on a copy, and take what it has changed in the one step that counts."""

        def learn(then: Self) -> None:
            then.__dict__.update(changes)
            for part in parts:
                then._fold(part)
            then._frontier = frontier

        self._change(learn)

    def _change(self, step: Callable[[Self], None]) -> None:
        """Change a copy, and take what it has changed in the one step that counts."""
        then = self._twin()
        before = dict(then.__dict__)  # held on to: nothing is let go of within that step
        step(then)
        changed = {k: v for k, v in then.__dict__.items() if before.get(k, before) is not v}
        self.__dict__.update(changed)

    def _snapshot(self) -> Self:
        """The state after everything that was told, to look at."""
        return self if self._lock is None else self._twin()

    def _twin(self) -> Self:
        """A copy without a ledger, for looking at and for folding; made in one step."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        del twin.__dict__["_lock"], twin.__dict__["_ledger"]
        return twin

    @alone
    def _n_pending(self) -> int:
        return self._ledger.pending(self._frontier)

    @alone
    def _open(self) -> Decisions:
        return self._ledger.open(self._frontier)

    def _waiting_for(self, older_than: Any) -> Decisions:
        """Open rounds that have waited for so many seconds."""
        age, waiting = as_age(older_than), self._open()
        return waiting[waiting.ages >= age]

    @changing
    def _expire(self, older_than: Any, reward: float = 0.0) -> Decisions:
        """Settle with a reward what has waited for so long."""
        late = self._waiting_for(older_than)
        self._settle(self._ledger.check(late, self._frontier), np.full(late.actions.shape, reward))
        return late

    @changing
    def _tell_checked(self, decisions: Decisions, rewards: Array | None) -> None:
        """Settle decisions with rewards that were checked."""
        self._settle(self._ledger.check(decisions, self._frontier), rewards)

    def __getstate__(self) -> dict[str, Any]:
        return self._state() if self._lock is None else self._state_alone()

    @alone
    def _state_alone(self) -> dict[str, Any]:
        """A state that nobody changes any more, without what a call is in the middle of."""
        state, ledger, drawn = self._state(), self._ledger.as_of(self._frontier), self._drawn
        del state["_lock"]
        rng = deepcopy(self._rng)
        if drawn is not None and drawn[0] == ledger.issued:
            rng.bit_generator.state = drawn[1]
        return {**state, "_ledger": ledger, "_rng": rng, "_drawn": None}

    def _state(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        return dict(inherited)

    def __setstate__(self, state: dict[str, Any]) -> None:
        inherited = getattr(super(), "__setstate__", self.__dict__.update)
        inherited(state)
        if "_ledger" in state:
            self._lock = threading.RLock()
            living.add(self)

    def __copy__(self) -> Self:
        """A copy has a ledger of its own."""
        return deepcopy(self)


def _part_ways() -> None:
    """Make copies of the learners of a process that was forked from theirs.

    They issue under marks of their own, draw numbers that neither the parent nor its other children
    draw, and do not wait for threads that only the parent has.
    """
    for one in list(living):
        one._lock = threading.RLock()
        one._ledger.part_ways()
        one._rng, one._drawn = np.random.default_rng(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_part_ways)
