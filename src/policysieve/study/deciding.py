"""Deciding: the newest exploration, the candidates' answers, and one transaction."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select, update

from policysieve.availability import Available
from policysieve.errors import DecisionsError
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
from policysieve.study.repeating import decided_before
from policysieve.study.schema import studies
from policysieve.study.storage import Storage

__all__ = ["Ask", "Asked", "Decider"]

_RETRIES = 3  # asks with an exploration that is not the newest any more


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What somebody wants to be decided.

    Attributes
    ----------
    contexts : array, data frame, list or sparse matrix
    ids : sequence of str, or None
    available : bool array, sequence of lists, or None
        As `Study.ask` takes them.
    again : bool
        Whether ids that were decided before, at the same contexts, get what was decided then.
    """

    contexts: Any
    ids: Any = None
    available: Any = None
    again: bool = False


@dataclass(kw_only=True)
class Asked:
    """What somebody wants to be decided, after a look, and what the candidates said to it."""

    x: Any
    allowed: Available | None
    given: list[str] | None
    again: bool = False
    said: tuple[int, Answers] | None = None  # and the exploration that had to know it


class _SupersededError(Exception):
    """A newer exploration was published while candidates were asked."""


class _RefusedError(Exception):
    """One of several cannot be decided; nothing was written for the others either."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__(number)
        self.number, self.error = number, error


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
        self._storage, self._ledger, self.keeps = storage, ledger, keeps
        can_probe = ledger.policies.called and ledger.record.keep_contexts
        self._probed = probed if can_probe else PROBES  # none are kept any more
        self._draws = Draws(ledger.record.seed)
        self._kind = ContextKind()
        self._lock = threading.Lock()
        self.version = 0  # of the exploration that the next ask uses, if it is known

    def ask(self, contexts: Any, ids: Any, available: Any = None) -> Decisions:
        """Decide at contexts, and write the decisions down."""
        asked = self._checked(Ask(contexts=contexts, ids=ids, available=available))
        try:
            return self._ask({0: asked})[0]
        except _RefusedError as refused:
            error = refused.error
        raise error  # with its own cause

    def consulted(self, ask: Ask) -> Asked:
        """What is asked for after a look, with what the candidates say to it, or raise.

        They may take their time here, while others decide.
        """
        asked = self._checked(ask)
        try:
            self._answers(0, asked, *self._exploration())
        except _RefusedError as refused:
            error = refused.error
        else:
            return asked
        raise error  # with its own cause

    def ask_together(self, asks: Sequence[Ask | Asked]) -> list[Decisions | Exception]:
        """Decide for several in one transaction: what was decided for each, or why not.

        Each has batches of its own, so that no late answer holds up the rounds of others.
        """
        found: dict[int, Decisions | Exception] = {}
        waiting: dict[int, Asked] = {}
        for number, ask in enumerate(asks):
            try:
                waiting[number] = ask if isinstance(ask, Asked) else self._checked(ask)
            except Exception as error:  # whatever it is, it is of this one
                found[number] = error
                continue
            if self._kind.earlier is None:  # the first says what contexts are
                self._ask_some({number: waiting.pop(number)}, found)
        self._ask_some(waiting, found)
        return [found[number] for number in range(len(asks))]

    def _ask_some(self, waiting: dict[int, Asked], found: dict[int, Decisions | Exception]) -> None:
        """Decide for all who can be decided for, and find out why the others cannot."""
        while waiting:
            try:
                found |= self._ask(waiting)
                return
            except _RefusedError as refused:
                found[refused.number] = self._instead(waiting.pop(refused.number), refused.error)

    def _checked(self, ask: Ask) -> Asked:
        """What is asked for, or raise."""
        policies = self._ledger.policies
        with self._lock:
            self._find_kind()
            arranged = self._kind.arranged(ask.contexts)
        x = policies.check_contexts(arranged)
        with self._lock:
            self._kind.check(x)
        names = names_of_actions(policies, self._ledger.record.problem)
        allowed = policies.check_available(ask.available, len(x), names)
        given = None if ask.ids is None else as_ids(ask.ids, len(x))
        return Asked(x=x, allowed=allowed, given=given, again=ask.again)

    def _instead(self, asked: Asked, error: Exception) -> Decisions | Exception:
        """What was decided before where ids come again, or why not."""
        if not (asked.again and isinstance(error, DecisionsError) and asked.given):
            return error
        with self._storage.reading() as connection:
            return decided_before(
                self._ledger, connection, asked.given, asked.x, asked.allowed, error
            )

    def _ask(self, asked: dict[int, Asked]) -> dict[int, Decisions]:
        for attempt in range(_RETRIES + 1):
            try:
                return self._decide(asked, final=attempt == _RETRIES)
            except _SupersededError:
                continue
        raise AssertionError("the last attempt is final")

    def _decide(self, asked: dict[int, Asked], *, final: bool) -> dict[int, Decisions]:
        """Decide with the exploration at hand; raise if there is a newer one, unless it is final.

        One that is not the newest any more is as valid as any: its propensities are its own.
        """
        version, exploration = self._exploration()
        ledger, record = self._ledger, self._ledger.record
        answers = {
            number: self._answers(number, one, version, exploration)
            for number, one in asked.items()
        }
        made: dict[int, tuple[int, list[Batch]]] = {}
        with self._storage.deciding() as (connection, now):
            n = sum(len(one.x) for one in asked.values())
            start, newest = ledger.take_places(connection, n)
            if newest != version and not final:
                self.version = newest
                raise _SupersededError
            first, probed = start, self._probed
            everyone = _is_everyone(exploration.consulted, ledger.policies)
            for number, one in asked.items():
                said, size = answers[number], len(one.x)
                if one.given is not None:
                    try:
                        insert_ids(connection, record.study, record.mark, one.given, first)
                    except DecisionsError as error:
                        raise _RefusedError(number, error) from error
                batches = [
                    self._issue(connection, first + low, version, exploration, one, said, low, now)
                    for low in range(0, size, LARGEST)
                ]
                if probed < PROBES and one.allowed is None and everyone:
                    probed = self._probe(connection, one.x, said, first)
                made[number] = first, batches
                first += size
        with self._lock:
            self._probed = probed
            ledger.issued = max(ledger.issued, start + n)
            for number, (_, batches) in made.items():
                self._kind.seen(asked[number].x)
                for batch in batches if self.keeps else ():
                    ledger.keep(batch)
        return {
            number: self._decisions(asked[number], batches, first, now)
            for number, (first, batches) in made.items()
        }

    def _answers(
        self, number: int, asked: Asked, version: int, exploration: Exploration
    ) -> Answers:
        """What the candidates say that an exploration consults; they are called once for it."""
        if asked.said is None or asked.said[0] != version:
            policies = self._ledger.policies
            which = None if policies.looked_up else exploration.consulted
            try:
                asked.said = version, policies.answers_at(asked.x, which, asked.allowed)
            except Exception as error:
                raise _RefusedError(number, error) from error
        return asked.said[1]

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
        asked: Asked,
        answers: Answers,
        start: int,
        now: float,
    ) -> Batch:
        """Decide and write down rounds from `start` on, as many as a batch may have."""
        ledger, rows = self._ledger, slice(start, start + LARGEST)
        x, allowed = asked.x, asked.allowed
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

    def _decisions(self, asked: Asked, batches: list[Batch], first: int, now: float) -> Decisions:
        x, given = asked.x, asked.given
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
            beside=Beside(asked.allowed),
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
