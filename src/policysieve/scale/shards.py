"""The actors of a class in shards: asked at the same time, and replaced when they are lost."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from policysieve.arrays import told
from policysieve.errors import ClusterError
from policysieve.scale.engine import RayEngine
from policysieve.scale.shard import Question, Said, Shard

__all__ = ["Part", "Shards"]

_ATTEMPTS = 5  # of a call whose actor or node is lost
_INLINE = 100_000  # bytes of an array that go with a call; more are put where all can read them


class Part(NamedTuple):
    """A part of a class, where all actors can load it.

    Attributes
    ----------
    key : int
        What tells it from other parts.
    reference
        To the part in Ray's object store, which keeps it for actors that have to load it again.
    """

    key: int
    reference: Any


class Shards:
    """So many actors of a cluster, each of which holds the part that it was last asked about.

    Parameters
    ----------
    engine : RayEngine
    n_shards : int
    """

    def __init__(self, engine: RayEngine, n_shards: int) -> None:
        self._engine, self._ray = engine, engine.ray
        # No restarts by Ray itself, which would leave it open whether a call was answered.
        self._kind = self._ray.remote(max_restarts=0, scheduling_strategy="SPREAD")(Shard)
        self._actors = [self._kind.remote() for _ in range(n_shards)]
        self._keys, self._lock = count(), threading.Lock()

    def __len__(self) -> int:
        return len(self._actors)

    def share(self, sent: Any, what: str) -> Part:
        """Keep a part of a class for the actors; `what` says what it is, if it cannot be sent."""
        return Part(next(self._keys), self._engine.share(sent, what))

    def given(self, value: Any, what: str) -> Any:
        """What calls take as it is, or the reference to it: large values go to each node once.

        `what` says what it is, if it cannot be sent.
        """
        array = hasattr(value, "dtype") and hasattr(value, "nbytes") and value.dtype != object
        small = value is None or (array and value.nbytes <= _INLINE)
        return value if small else self._engine.share(value, what)

    def ask(
        self, parts: Sequence[Part], contexts: Any, questions: Mapping[int, Question]
    ) -> Iterator[tuple[int, Said]]:
        """What shards answer, each its own question about its own part, as soon as it is known.

        An actor that is lost, with its node or by itself, is replaced by a new one, which loads the
        part and is asked the same. What the lost one has done is not known, and not counted.

        Raises
        ------
        ClusterError
            If the actors of one shard are lost again and again, or if the cluster is gone.
        """
        given = self._given_to_all(contexts)

        def sent(shard: int, actor: Any) -> Any:
            key, reference = parts[shard]  # in a list: Ray would fetch the part for every call
            return actor.answer.remote(key, [reference], given, *questions[shard])

        return self._said(sent, questions)

    def call(
        self,
        parts: Sequence[Part],
        owner: int,
        firsts: Sequence[int],
        method: str,
        given: Mapping[int, tuple[Any, ...]],
    ) -> Iterator[tuple[int, Said]]:
        """What a method of the shares of evidence returns that an owner has in some shards.

        Raises and replaces as `ask`; one that begins anew knows nothing.
        """
        self._check_cluster()

        def sent(shard: int, actor: Any) -> Any:
            key, reference = parts[shard]
            return actor.evidence.remote(
                key, [reference], owner, firsts[shard], method, *given[shard]
            )

        return self._said(sent, given)

    def chained(
        self,
        parts: Sequence[Part],
        owner: int,
        firsts: Sequence[int],
        method: str,
        given: Mapping[int, tuple[Any, ...]],
    ) -> Any:
        """Call one shard after the other, each of which goes on from what the last has said.

        Nothing passes through this process on the way. Returns the reference to what the last says.
        """
        last: Any = None
        for shard, args in given.items():
            key, reference = parts[shard]
            more = args if last is None else (*args[:-1], last)
            actor, whose = self._actors[shard], (owner, firsts[shard])
            last = actor.evidence.remote(key, [reference], *whose, method, *more)
        return last

    def end_of(self, last: Any) -> Any:
        """What the last shard of a chain has found; None if one of them was lost, or failed."""
        try:
            said: Said = self._ray.get(last)
        except self._ray.exceptions.RayError:
            return None
        return None if said.error is not None else said.slates

    def _check_cluster(self) -> None:
        if not self._ray.is_initialized():
            raise ClusterError(
                "the cluster of these shards was left or stopped: ask before its engine is closed, "
                "or make the class anew"
            )

    def _given_to_all(self, contexts: Any) -> Any:
        self._check_cluster()
        return self.given(contexts, "contexts")

    def _said(
        self, sent: Callable[[int, Any], Any], shards: Iterable[int]
    ) -> Iterator[tuple[int, Said]]:
        """What shards say as soon as it is known; `sent` calls an actor for one of them."""
        running = {}
        for shard in shards:
            call = _Call(shard, self._actors[shard], _ATTEMPTS)
            running[sent(shard, call.actor)] = call
        return self._collected(sent, running)

    def _collected(
        self, sent: Callable[[int, Any], Any], running: dict[Any, "_Call"]
    ) -> Iterator[tuple[int, Said]]:
        errors = self._ray.exceptions
        while running:
            (ready,), _ = self._ray.wait(list(running), num_returns=1)
            call = running.pop(ready)
            try:
                said = self._ray.get(ready)
            except errors.RayTaskError as error:
                raise ClusterError(
                    f"shard {call.shard} could not be asked: {told(error.cause)}; the modules that "
                    "contexts need must be on every node of the cluster"
                ) from error
            except errors.RayError as error:
                again = call.again(self._replaced(call), error)
                running[sent(again.shard, again.actor)] = again
            else:
                yield call.shard, said

    def _replaced(self, call: "_Call") -> Any:
        """A new actor in place of a lost one, unless another thread has seen to that."""
        with self._lock:
            if self._actors[call.shard] is call.actor:
                self._actors[call.shard] = self._kind.remote()
            return self._actors[call.shard]


class _Call(NamedTuple):
    """A call of an actor, and how many attempts it has."""

    shard: int
    actor: Any
    left: int

    def again(self, actor: Any, error: Exception) -> "_Call":
        """The same to another actor, or raise if that was tried often enough."""
        if self.left == 1:
            raise ClusterError(
                f"shard {self.shard} was lost {_ATTEMPTS} times while its candidates were asked, "
                f"at last because: {str(error).strip().splitlines()[0]}; they may need more memory "
                "than a worker has, or end its process"
            ) from error
        return self._replace(actor=actor, left=self.left - 1)
