"""A class of policies in shards: each actor of a cluster holds some candidates, and asks them."""

import threading
from collections.abc import Generator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.checks import integer, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.policies import CachedPolicies, Policies
from policysieve.policies.base import Reply
from policysieve.policies.union import PolicyUnion
from policysieve.policies.wrapping import WrappedPolicies
from policysieve.scale.dealer import Dealer
from policysieve.scale.engine import RayEngine

__all__ = ["ShardedPolicies"]

Place = Literal["here", "shards"]

_starting = threading.Lock()  # of actors, which an unpickled class has none of


class ShardedPolicies(WrappedPolicies):
    """The same policies, each of which is held and asked by one of several actors on Ray.

    Every call sends the contexts to the shards that hold any of the policies asked for, once to
    each, and these ask their candidates at the same time. Learners ask for survivors only. Answers,
    errors, names and counts are those of the policies themselves. Learners and studies take it like
    any other class. What they have saved can be opened with either, studies of a table excepted.

    Functions and models are dealt anew when some were eliminated, or are slower than others, once
    the time that was lost by that exceeds the time that dealing takes.

    A shard that is lost, by itself or with its node, is replaced: a new one loads the candidates
    from Ray's object store and is asked the same. What a lost shard was asked is counted once.
    Within a task of a cluster, as where a log is read in parts, the task asks by itself.

    Parameters
    ----------
    policies : Policies
        Functions, models, linear policies, a table or others that can be listed. Ray sends them
        with cloudpickle, which takes lambdas; files, locks and connections cannot be sent. A class
        of your own is held by every shard as a whole, unless it has a method `part`.
    shards : int, optional
        Actors; by default one for each core of the cluster. More are worth their memory for
        candidates that wait, as for a network. With `Calls`, each makes `at_once` calls at once.
    engine : RayEngine, optional
        The cluster; by default the one that this process is connected to, or a new one on this
        machine.
    evidence : {"here", "shards"}
        Where learners that sift keep the wealth of bets and what candidates have said: in this
        process, or with the candidates, where each shard eliminates by itself. In shards,
        candidates stay where they are dealt first, in runs. If the problem names a policy that runs
        today or declares outcomes, or candidates may join, or a memory limit is set, evidence is
        here all the same.

    Attributes
    ----------
    policies : Policies
        As they were given. This process holds them, too.
    shards : int

    Raises
    ------
    InvalidArgumentError
        If the policies cannot be listed, or are cached: cache what is in shards, not the reverse.
    UnpicklableError
        If a candidate cannot be sent; the message says which.
    """

    def __init__(
        self,
        policies: Policies,
        *,
        shards: int | None = None,
        engine: RayEngine | None = None,
        evidence: Place = "here",
    ) -> None:
        if not isinstance(policies, Policies):
            raise InvalidArgumentError(
                "policies must be functions, models or others that can be listed, got "
                f"{shown(policies)}"
            )
        if isinstance(policies, CachedPolicies | PolicyUnion | ShardedPolicies):
            raise InvalidArgumentError(
                f"policies must be the candidates themselves, got {type(policies).__name__}; cache "
                "what is in shards, as ps.cached(ShardedPolicies(...), folder), not the reverse"
            )
        if engine is not None and not isinstance(engine, RayEngine):
            raise InvalidArgumentError(f"engine must be a RayEngine, got {shown(engine)}")
        one_of("evidence", evidence, get_args(Place))
        if evidence == "shards" and policies.part(np.zeros(1, np.intp)) is None:
            raise InvalidArgumentError(
                'evidence="shards" needs policies that can be taken apart, got '
                f"{type(policies).__name__}: give it a method `part`, or leave the evidence here"
            )
        super().__init__(policies)
        self.evidence = evidence
        most = None if shards is None else integer("shards", shards, low=1)
        engine = RayEngine() if engine is None else engine
        self.shards = min(engine.workers if most is None else most, self.n_policies)
        self._dealer: Dealer | None = self._dealt(engine)

    def __repr__(self) -> str:
        return f"ShardedPolicies({self.policies!r}, shards={self.shards})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dealer": None}  # actors are started anew where it is asked

    @property
    def kind(self) -> str:
        """That of the policies; of a table it is another, which remembers its answers."""
        return super().kind if self.policies.looked_up else self.policies.kind

    @property
    def n_contexts(self) -> int | None:
        """How many contexts the policies know, if these are numbered."""
        return self.policies.n_contexts

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return self.policies._numbers()

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        return self._shards.ask("_evaluate", contexts, which)

    def _evaluate_among(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        return self._shards.ask("_evaluate_among", contexts, which, more=(available,))

    def _asked(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        return self._shards.ask("_asked", contexts, which, more=(available,))

    def _mended(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any],
        available: Available,
    ) -> npt.NDArray[Any]:
        return self._shards.ask("_mended", contexts, which, slates, (available,))

    def _replies(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp],
        wanted: npt.NDArray[np.bool_],
        available: Available | None = None,
    ) -> Generator[Reply, None, None]:
        """Those who are asked about the same contexts are asked at once, in all shards."""
        patterns, back = np.unique(wanted, axis=1, return_inverse=True)
        for k, pattern in enumerate(patterns.T):
            rows, columns = np.flatnonzero(pattern), np.flatnonzero(back.reshape(-1) == k)
            if not len(rows):
                continue
            if available is None:
                said = self._evaluate(contexts[rows], which[columns])
            else:
                said = self._asked(contexts[rows], which[columns], available[rows])
            for place, column in enumerate(columns.tolist()):
                yield Reply(column, rows, said[:, place])

    @property
    def holders(self) -> Dealer | None:
        """The shards, if they keep evidence and this is not a task of their cluster."""
        if self.evidence == "here":
            return None
        found = self._shards
        return found if isinstance(found, Dealer) else None

    def _dealt(self, engine: RayEngine) -> Dealer:
        fixed = self.evidence == "shards"
        return Dealer(self.policies, self.shards, engine, self._meter, fixed=fixed)

    @property
    def _shards(self) -> "Dealer | _Here":
        """Who asks; started now if this was unpickled."""
        with _starting:
            if self._dealer is None:
                engine = RayEngine()
                if engine.ray.get_runtime_context().get_task_id() is not None:
                    return _Here(self.policies)
                self._dealer = self._dealt(engine)
            return self._dealer


class _Here(NamedTuple):
    """Asks in this process: in a task of the cluster, which would hold up actors of its own."""

    policies: Policies

    def ask(
        self,
        method: str,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any] | None = None,
        more: tuple[Any, ...] = (),
    ) -> npt.NDArray[Any]:
        """As `Dealer.ask`."""
        first = () if slates is None else (slates,)
        found: npt.NDArray[Any] = getattr(self.policies, method)(contexts, which, *first, *more)
        return found
