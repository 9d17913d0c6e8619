"""Deciding: the newest exploration, the candidates' answers, and one transaction."""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select, update

from policysieve.availability import Available
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.designs.base import Exploration
from policysieve.log import Beside
from policysieve.policies import Answers, AnyPolicies
from policysieve.policies.policy_class import names_of_actions
from policysieve.study.drawing import Draws
from policysieve.study.ids import as_ids, default_ids, insert_ids
from policysieve.study.kinds import ContextKind
from policysieve.study.ledger import LARGEST, SqlLedger
from policysieve.study.packing import Batch
from policysieve.study.probes import PROBES, more_probes, n_probes
from policysieve.study.schema import studies
from policysieve.study.storage import Storage

__all__ = ["Decider"]

_RETRIES = 3  # asks with an exploration that is not the newest any more


class _SupersededError(Exception):
    """A newer exploration was published while candidates were asked."""


class Decider:
    """Decides for one study in one process; others need not be known.

    Parameters
    ----------
    storage : Storage
    ledger : SqlLedger
    keeps : bool
        Whether batches are kept in memory, because this process learns from them, too.
    probed : int
        Contexts of which the study keeps what all candidates said there, as far as that is known.
    """

    def __init__(self, storage: Storage, ledger: SqlLedger, *, keeps: bool, probed: int) -> None:
        self._storage, self._ledger, self._keeps = storage, ledger, keeps
        can_probe = ledger.policies.called and ledger.record.keep_contexts
        self._probed = probed if can_probe else PROBES  # none are kept any more
        self._draws = Draws(ledger.record.seed)
        self._kind = ContextKind()
        self._lock = threading.Lock()
        self.version = 0  # of the exploration that the next ask uses, if it is known

    def ask(self, contexts: Any, ids: Any, available: Any = None) -> Decisions:
        """Decide at contexts, and write the decisions down."""
        policies = self._ledger.policies
        with self._lock:
            self._find_kind()
            arranged = self._kind.arranged(contexts)
        x = policies.check_contexts(arranged)
        with self._lock:
            self._kind.check(x)
        names = names_of_actions(policies, self._ledger.record.problem)
        allowed = policies.check_available(available, len(x), names)
        given = None if ids is None else as_ids(ids, len(x))
        for attempt in range(_RETRIES + 1):
            try:
                return self._ask(x, allowed, given, final=attempt == _RETRIES)
            except _SupersededError:
                continue
        raise AssertionError("the last attempt is final")

    def _ask(
        self, x: Any, allowed: Available | None, given: list[str] | None, *, final: bool
    ) -> Decisions:
        """Decide with the exploration at hand; raise if there is a newer one, unless it is final.

        One that is not the newest any more is as valid as any: its propensities are its own.
        """
        version, exploration = self._exploration()
        ledger, record, n = self._ledger, self._ledger.record, len(x)
        which = None if ledger.policies.looked_up else exploration.consulted
        answers = ledger.policies.answers_at(x, which, allowed)
        with self._storage.deciding() as connection:
            now = self._storage.now(connection)
            first, newest = ledger.take_places(connection, n)
            record.check_active(connection)
            if newest != version and not final:
                self.version = newest
                raise _SupersededError
            if given is not None:
                insert_ids(connection, record.study, record.mark, given, first)
            batches = [
                self._issue(
                    connection, first + start, version, exploration, x, allowed, answers, start, now
                )
                for start in range(0, n, LARGEST)
            ]
            probed = self._probed
            if probed < PROBES and allowed is None and _is_everyone(which, ledger.policies):
                probed = self._probe(connection, x, answers, first)
        with self._lock:
            self._probed = probed
            self._kind.seen(x)
            ledger.issued = max(ledger.issued, first + n)
            for batch in batches if self._keeps else ():
                ledger.keep(batch)
        return self._decisions(x, allowed, batches, first, given, now)

    def _probe(self, connection: Connection, x: Any, answers: Answers, first: int) -> int:
        """Keep what the candidates said at the first contexts; how many of these there are now."""
        mine = studies.c.study == self._ledger.record.study
        # Who forgets may erase them. A stronger lock would wait for all who write, and they for us.
        held = select(studies.c.probes).where(mine).with_for_update(key_share=True)
        before = connection.execute(held).scalar_one()
        probes = more_probes(before, self._ledger.policies, x, answers, first)
        if probes != before:
            connection.execute(update(studies).where(mine).values(probes=probes))
        return n_probes(probes)

    def _issue(
        self,
        connection: Connection,
        first: int,
        version: int,
        exploration: Exploration,
        x: Any,
        allowed: Available | None,
        answers: Answers,
        start: int,
        now: float,
    ) -> Batch:
        """Decide and write down rounds from `start` on, as many as a batch may have."""
        ledger, rows = self._ledger, slice(start, start + LARGEST)
        some, said = x[rows], answers if len(x) <= LARGEST else answers.take(rows)
        uniforms = self._draws.at(first, len(some), exploration.draws_per_round)
        actions, propensities = exploration._decide(said, uniforms)
        batch = Batch(
            first=first,
            exploration=version,
            asked=now,
            actions=actions,
            propensities=propensities,
            contexts=some.copy(),
            answers=said,
            available=None if allowed is None else allowed[rows],
        )
        ledger.issue(connection, batch, exploration)
        return batch

    def _decisions(
        self,
        x: Any,
        allowed: Available | None,
        batches: list[Batch],
        first: int,
        given: list[str] | None,
        now: float,
    ) -> Decisions:
        record, m, n = self._ledger.record, self._ledger.policies.slate_size, len(x)
        nothing: tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]
        nothing = np.empty((0, m), np.int32), np.empty((0, m))
        places = np.arange(first, first + n)
        ids = np.array(given, dtype=object)
        return Decisions(
            contexts=x.copy(),
            actions=np.concatenate([nothing[0], *(batch.actions for batch in batches)]),
            propensities=np.concatenate([nothing[1], *(b.propensities for b in batches)]),
            numbers=places,
            asked=np.full(n, now),
            issuer=record.mark,
            all_actions=names_of_actions(self._ledger.policies, record.problem),
            beside=Beside(allowed),
            ids=default_ids(record.mark, places.tolist()) if given is None else ids,
        )

    def _exploration(self) -> tuple[int, Exploration]:
        """The newest exploration that this process knows of."""
        version, ledger = self.version, self._ledger
        known = ledger.known(version)
        if known is not None:
            return version, known
        with self._storage.reading() as connection:
            _, version = ledger.counters(connection)
            self.version = version
            return version, ledger.exploration(connection, version)

    def _find_kind(self) -> None:
        """Find out what contexts have been, if this process has not asked yet."""
        if self._kind.earlier is not None or not self._ledger.record.keep_contexts:
            return
        with self._storage.reading() as connection:
            last = self._ledger.last(connection)
            if last is not None:
                self._kind.seen(last.contexts)


def _is_everyone(which: Any, policies: AnyPolicies) -> bool:
    """Whether all candidates are asked."""
    return which is None or len(which) == policies.n_policies
