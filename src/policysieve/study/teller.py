"""Telling: rounds are settled in one transaction, and learnt from if this process learns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from policysieve.checks import as_rewards
from policysieve.errors import DecisionsError, StorageError
from policysieve.study import settling
from policysieve.study.deciding import Decider
from policysieve.study.ledger import SqlLedger
from policysieve.study.results import Told
from policysieve.study.storage import ConflictError, Storage
from policysieve.study.telling import as_told
from policysieve.study.worker import Worker

__all__ = ["Teller"]

_ATTEMPTS = 5  # to settle what others settle as well

Result = TypeVar("Result")
_Rewards = tuple[list[str], npt.NDArray[np.float64]]  # ids, and what was told for each


class Teller:
    """Settles rounds of one study in one process; others may settle the same.

    Parameters
    ----------
    storage : Storage
    ledger : SqlLedger
    worker : Worker
        Learns from rounds once they are settled.
    decider : Decider
        Is told of the exploration that was published then.
    learns : bool
        Whether this process learns; if not, neither of them is called.
    """

    def __init__(
        self,
        storage: Storage,
        ledger: SqlLedger,
        worker: Worker,
        decider: Decider,
        *,
        learns: bool,
    ) -> None:
        self._storage, self._ledger = storage, ledger
        self._worker, self._decider, self._learns = worker, decider, learns

    def tell(self, ids: Any, rewards: Any) -> Told:
        """Settle rounds with their rewards."""
        checked = self._checked(ids, rewards)
        if not checked[0]:
            return Told(counted=0, again=0, late=())
        (found,) = self._tell_all([checked])
        if isinstance(found, DecisionsError):
            raise found
        return found

    def tell_together(self, tells: Sequence[tuple[Any, Any]]) -> list[Told | Exception]:
        """Settle what several have to tell: what became of each, or why not."""
        found: dict[int, Told | Exception] = {}
        checked: dict[int, _Rewards] = {}
        for number, (ids, rewards) in enumerate(tells):
            try:
                checked[number] = self._checked(ids, rewards)
            except Exception as error:  # whatever it is, it is of this one
                found[number] = error
        if checked:
            found |= zip(checked, self._tell_all(list(checked.values())), strict=True)
        return [found[number] for number in range(len(tells))]

    def expire(self, age: float) -> list[str]:
        """Settle what has waited for so many seconds, and return the ids."""

        def expired(_: bool) -> list[str]:
            learnt, ledger = self._worker.ready().learnt, self._ledger
            with self._settling() as (connection, now):
                places = settling.expire(ledger, connection, learnt, now - age, now)
                return ledger.ids(connection, places)

        return self._retried(expired)

    def discard(self, names: list[str], reason: str) -> None:
        """Give up on open rounds."""

        def discarded(_: bool) -> None:
            with self._settling() as (connection, now):
                places = self._ledger.places(connection, names)
                settling.discard(self._ledger, connection, places, reason, now)

        self._retried(discarded)

    def _checked(self, ids: Any, rewards: Any) -> _Rewards:
        """Ids and their rewards, or raise."""
        q = self._ledger.record.problem
        names, given = as_told(ids, rewards, q.slate_size)
        told = as_rewards(given, len(names), q.slate_size, q.sparsity, q.reward_range)
        self._worker.start.learner._check_told(q.scale.inside(told))
        return names, told

    def _tell_all(self, tells: list[_Rewards]) -> list[Told | DecisionsError]:
        """Tell in one transaction what was checked: what became of each, or why it was refused."""

        def told(new: bool) -> list[Told | DecisionsError]:
            with self._settling() as (connection, now):
                return [
                    self._tell(connection, names, rewards, now, new=new) for names, rewards in tells
                ]

        return self._retried(told)

    def _tell(
        self,
        connection: Connection,
        names: list[str],
        told: npt.NDArray[np.float64],
        now: float,
        *,
        new: bool,
    ) -> Told | DecisionsError:
        """Tell rewards that are taken to be `new`, or after a look at what was told before."""
        if not names:
            return Told(counted=0, again=0, late=())
        ledger = self._ledger
        try:
            places = ledger.places(connection, names)
            return settling.tell(ledger, connection, places, told, now, new=new)
        except settling.RefusedRewardsError as error:
            return settling.refuse(ledger, connection, error, now)
        except DecisionsError as error:
            return error

    def _retried(self, settle: Callable[[bool], Result]) -> Result:
        """Settle rounds; again if some were before, or by another process at this moment.

        Parameters
        ----------
        settle : function
            Is told whether it is the first attempt.
        """
        for attempt in range(_ATTEMPTS):
            try:
                return settle(attempt == 0)
            except (IntegrityError, ConflictError):
                continue
        raise StorageError(f"{self._storage.where} has too many who settle the same; call again")

    @contextmanager
    def _settling(self) -> Iterator[tuple[Connection, float]]:
        """A transaction that settles rounds, and learns what is ready then."""
        storage, worker = self._storage, self._worker
        with worker.lock if self._learns else nullcontext():
            if self._learns:
                worker.warm()
            with storage.writing() as connection:
                self._ledger.record.check_active(connection)
                now = storage.now(connection)
                yield connection, now
                then = worker.advanced(connection, now) if self._learns else None
            if then is not None:
                worker.take(then)
                self._decider.version = then.version
