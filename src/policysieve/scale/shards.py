"""The actors of a class in shards: asked at the same time, and replaced when they are lost."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from policysieve.arrays import told
from policysieve.errors import ClusterError
from policysieve.scale.engine import RayEngine
from policysieve.scale.shard import Question, Said, Shard

__all__ = ["Part", "Shards"]

_ATTEMPTS = 5  # of a call whose actor or node is lost
_INLINE = 100_000  # bytes of contexts that go with each call; more are put where all can read them


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

    @property
    def sent(self) -> tuple[int, list[Any]]:
        """As calls take it: Ray would fetch for each call what is not in a list."""
        return self.key, [self.reference]


class Shards:
    """So many actors of a cluster, each of which holds the part that it was last asked about.

    Parameters
    ----------
    engine : RayEngine
    n_shards : int
    """

    def __init__(self, engine: RayEngine, n_shards: int) -> None:
        self._engine, self._ray = engine, engine.ray
        # Ray's own restarts would leave it open whether a call was answered.
        self._kind = self._ray.remote(max_restarts=0, scheduling_strategy="SPREAD")(Shard)
        self._actors = [self._kind.remote() for _ in range(n_shards)]
        self._keys, self._lock = count(), threading.Lock()

    def __len__(self) -> int:
        return len(self._actors)

    def share(self, sent: Any, what: str) -> Part:
        """Keep a part of a class for the actors; `what` says what it is, if it cannot be sent."""
        return Part(next(self._keys), self._engine.share(sent, what))

    def ask(
        self, parts: Sequence[Part], questions: Mapping[int, Question]
    ) -> Iterator[tuple[int, Said]]:
        """What shards answer, each its own question about its own part, as soon as it is known.

        An actor that is lost, with its node or by itself, is replaced by a new one, which loads
        the part and is asked the same. What the lost one has done is not known, and not counted.

        Raises
        ------
        ClusterError
            If the actors of one shard are lost again and again.
        """
        given = self._given(questions)
        running = {}
        for shard, question in questions.items():
            call = _Call(shard, self._actors[shard], parts[shard], question, _ATTEMPTS)
            running[call.made(given)] = call
        while running:
            (ready,), _ = self._ray.wait(list(running), num_returns=1)
            call = running.pop(ready)
            try:
                said = self._ray.get(ready)
            except self._ray.exceptions.RayTaskError as error:
                raise ClusterError(
                    f"shard {call.shard} could not be asked: {told(error.cause)}; the modules that "
                    "contexts need must be on every node of the cluster"
                ) from error
            except self._ray.exceptions.RayError as error:
                again = call.again(self._replaced(call), error)
                running[again.made(given)] = again
            else:
                yield call.shard, said

    def _replaced(self, call: "_Call") -> Any:
        """A new actor in place of a lost one, unless another thread has seen to that."""
        with self._lock:
            if self._actors[call.shard] is call.actor:
                self._actors[call.shard] = self._kind.remote()
            return self._actors[call.shard]

    def _given(self, questions: Mapping[int, Question]) -> Any:
        """The contexts, which all questions share: large ones are sent to each node once."""
        if not questions:
            return None
        contexts = next(iter(questions.values())).contexts
        plain = getattr(contexts, "dtype", None) is not None and hasattr(contexts, "nbytes")
        small = plain and contexts.dtype != object and contexts.nbytes <= _INLINE
        return contexts if small or len(questions) < 2 else self._ray.put(contexts)


class _Call(NamedTuple):
    """A question to an actor, which may be asked again so often."""

    shard: int
    actor: Any
    part: Part
    question: Question
    left: int

    def made(self, contexts: Any) -> Any:
        """The reference to what will be said."""
        method, _, which, more = self.question
        return self.actor.answer.remote(*self.part.sent, method, contexts, which, more)

    def again(self, actor: Any, error: Exception) -> "_Call":
        """The same to another actor, or raise if that was tried often enough."""
        if self.left == 1:
            raise ClusterError(
                f"shard {self.shard} was lost {_ATTEMPTS} times while its candidates were asked, "
                f"at last because: {_first_line(error)}; they may need more memory than a worker "
                "has, or end its process"
            ) from error
        return self._replace(actor=actor, left=self.left - 1)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
