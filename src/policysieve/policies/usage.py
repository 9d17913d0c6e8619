"""What asking the candidates has cost."""

import os
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from time import perf_counter
from typing import Any

__all__ = ["CandidateUsage", "Meter", "Usage"]


@dataclass(frozen=True, kw_only=True)
class CandidateUsage:
    """What asking one candidate has cost, or all of them together.

    Attributes
    ----------
    policy : int or None
        Its number; None for all together.
    name : str
    calls : int
        How often it was called: once for each batch, or for each context if it takes one; calls
        that failed and were repeated count.
    contexts : int
        Answers that it was called for.
    seconds : float
        Spent in its calls; of calls at the same time each counts.
    retries : int
        Calls that repeated one that had failed.
    timeouts : int
        Calls that took too long.
    fallbacks : int
        Answers that the declared fallback gave.
    hits : int
        Answers that were read from disk.
    """

    policy: int | None
    name: str
    calls: int = 0
    contexts: int = 0
    seconds: float = 0.0
    retries: int = 0
    timeouts: int = 0
    fallbacks: int = 0
    hits: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


_COUNTS = tuple(field.name for field in fields(CandidateUsage))[2:]


@dataclass(frozen=True)
class Usage:
    """What asking the candidates has cost. A value.

    Attributes
    ----------
    candidates : tuple of CandidateUsage
        Those that were asked for anything, in the order of their numbers.
    """

    candidates: tuple[CandidateUsage, ...]

    @property
    def total(self) -> CandidateUsage:
        """All candidates together."""
        sums = {name: sum(getattr(one, name) for one in self.candidates) for name in _COUNTS}
        return CandidateUsage(policy=None, name="all", **sums)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "candidates": [one.to_dict() for one in self.candidates],
            "total": self.total.to_dict(),
        }

    def since(self, earlier: "Usage") -> "Usage":
        """What was added since an earlier one of the same candidates."""
        before = {one.policy: one for one in earlier.candidates}
        added = []
        for one in self.candidates:
            known = before.get(one.policy)
            counts = {name: getattr(one, name) - getattr(known, name, 0) for name in _COUNTS}
            if any(counts.values()):
                added.append(CandidateUsage(policy=one.policy, name=one.name, **counts))
        return Usage(tuple(added))

    def plus(self, others: "Usage") -> "Usage":
        """These, and counts of the same candidates that were kept elsewhere."""
        every: dict[int | None, list[CandidateUsage]] = {}
        for one in (*self.candidates, *others.candidates):
            every.setdefault(one.policy, []).append(one)
        return Usage(
            tuple(
                CandidateUsage(
                    policy=policy,
                    name=every[policy][0].name,
                    **{name: sum(getattr(one, name) for one in every[policy]) for name in _COUNTS},
                )
                for policy in sorted(every, key=lambda policy: -1 if policy is None else policy)
            )
        )

    def __repr__(self) -> str:
        total = self.total
        return (
            f"Usage({len(self.candidates)} candidates, {total.calls:,} calls, "
            f"{total.contexts:,} answers, {total.seconds:.3g} s, {total.hits:,} from disk)"
        )


_lock = threading.RLock()  # of all meters; a signal handler may come while its thread holds it


def _renew() -> None:
    """Another thread may have held the lock when the process was forked."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class Meter:
    """Counts for each candidate. Many threads may add at once; a pickled one begins anew."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[str, Any]] = {}

    def add(self, policy: int, **counts: float) -> None:
        """Add to the counts of a candidate, by the names that `CandidateUsage` has for them."""
        with _lock:
            mine = self._counts.setdefault(policy, dict.fromkeys(_COUNTS, 0))
            for name, count in counts.items():
                mine[name] += count

    def timed(self, answer: Callable[[int], Any], policy: int, *, contexts: int, calls: int) -> Any:
        """What a candidate answers, counted; also if it fails."""
        began = perf_counter()
        try:
            return answer(policy)
        finally:
            seconds = perf_counter() - began
            self.add(policy, calls=calls, contexts=contexts, seconds=seconds)

    def taken(self) -> dict[int, dict[str, Any]]:
        """The counts so far, by policy; they begin anew."""
        with _lock:
            counts, self._counts = self._counts, {}
        return counts

    def usage(self, name_of: Callable[[int], str]) -> Usage:
        """The counts so far."""
        with _lock:
            counts = {policy: dict(mine) for policy, mine in self._counts.items()}
        return Usage(
            tuple(
                CandidateUsage(policy=policy, name=name_of(policy), **counts[policy])
                for policy in sorted(counts)
            )
        )

    def __reduce__(self) -> tuple[type["Meter"], tuple[()]]:
        return Meter, ()  # what was spent elsewhere is counted there
