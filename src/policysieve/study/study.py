"""A study: ask, tell and learn through a database, from any number of processes."""

import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from policysieve.checks import as_rewards, flag
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.log import Log
from policysieve.policies import AnyPolicies, check_class
from policysieve.policies.base import names_of_actions
from policysieve.problem import Problem
from policysieve.study import settling
from policysieve.study.drawing import Draws
from policysieve.study.durations import seconds
from policysieve.study.identity import check_identity, check_probes, identity_of, packed_probes
from policysieve.study.ids import as_ids, default_ids, ids_at, insert_ids, places_of
from policysieve.study.kinds import ContextKind
from policysieve.study.learning import Learning
from policysieve.study.lease import TTL, Lease
from policysieve.study.ledger import LARGEST, SqlLedger
from policysieve.study.looking import decided, open_places, status_of
from policysieve.study.packing import Batch
from policysieve.study.record import StudyRecord
from policysieve.study.results import StudyStatus, StudySummary, Told, Verification
from policysieve.study.schema import counters, rewards, studies
from policysieve.study.snapshots import Snapshots
from policysieve.study.storage import Storage
from policysieve.study.telling import as_told

__all__ = ["Study"]

_RETRIES = 3  # asks with an exploration that is not the newest any more
_AT_ONCE = 50_000  # rounds that a worker learns from before it publishes

Places = npt.NDArray[np.int64]


class _Superseded(Exception):
    """A newer exploration was published while candidates were asked."""


class Study:
    """Durable ask and tell: decisions and rewards are in a database before you hear of them.

    Any number of processes may ask and tell; whoever holds the lease learns. A process that is
    killed loses nothing that was acknowledged, and a study that is opened again goes on with the
    same bits as one that was never closed. All methods may be called from many threads.

    Made with `Study.create` or `Study.open`.

    Attributes
    ----------
    name : str
    policies : PolicyClass
    problem : Problem
    """

    def __init__(
        self, storage: Storage, record: StudyRecord, policies: AnyPolicies, *, learns: bool
    ) -> None:
        self._storage, self._record, self._learns = storage, record, learns
        self.name, self.policies, self.problem = record.name, policies, record.problem
        self._ledger = SqlLedger(record, policies)
        self._draws = Draws(record.seed)
        self._lease = Lease(record.study)
        self._start = Learning.first(self._ledger)  # raises if the settings are not the learner's
        self._learning: Learning | None = None
        self._snapshots = Snapshots(self._ledger)
        self._lock = threading.RLock()
        self._kind = ContextKind()
        self._version = 0  # of the exploration that the next ask uses
        self._issued = 0  # rounds that are known to have been issued
        self._all_actions = names_of_actions(policies, record.problem)

    @classmethod
    def create(
        cls,
        url: str,
        name: str,
        policies: AnyPolicies,
        problem: Problem,
        *,
        learner: str = "Sieve",
        settings: Mapping[str, Any] | None = None,
        seed: int | None = None,
        deadline: Any = None,
        default_reward: float = 0.0,
        keep_contexts: bool = True,
        version: str | None = None,
        learn: bool = True,
    ) -> "Study":
        """Create a study.

        Parameters
        ----------
        url : str
            ``sqlite:///shop.db``, a file that is made if it is not there, or
            ``postgresql://user@host/database``.
        name : str
            Of the study; a database holds many.
        policies : PolicyClass
        problem : Problem
        learner : str
            Such as ``"Sieve"``.
        settings : mapping, optional
            Other arguments of the learner, such as ``{"goal": "best"}``.
        seed : int, optional
            The same seed and the same calls give the same bits; by default a random one, which is
            kept.
        deadline : duration, optional
            How long a reward may take, such as ``"2h"``. A round without an answer by then has the
            default reward.
        default_reward : float
            In [0, 1].
        keep_contexts : bool
            Whether contexts are kept, or only a hash of each.
        version : str, optional
            What you call the policies; another version is another class.
        learn : bool
            Whether this process learns from rewards as they are told to it.

        Raises
        ------
        InvalidArgumentError
            If there is a study of this name, or an argument breaks a rule.
        """
        check_class(policies)
        record = StudyRecord.checked(
            name,
            problem,
            learner=learner,
            settings=settings,
            seed=seed,
            identity=identity_of(policies, version),
            deadline=deadline,
            default_reward=default_reward,
            keep_contexts=keep_contexts,
        )
        learns = flag("learn", learn)
        draft = SqlLedger(record, policies)
        if not record.keep_contexts and draft.reads_contexts:
            raise InvalidArgumentError(
                f"keep_contexts must be True for {type(policies).__name__}, whose answers are "
                "found again from the contexts"
            )
        Learning.first(draft)
        storage = Storage(url, create=True)
        with storage.writing() as connection:
            now = storage.now(connection)
            record.insert(connection, now)
            record = StudyRecord.read(connection, name, storage.where)
            first = Learning.first(SqlLedger(record, policies))
            first.publish(connection, fence=0, now=now)
        return cls(storage, record, policies, learns=learns)

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        policies: AnyPolicies,
        *,
        version: str | None = None,
        learn: bool = True,
        probe: bool = True,
    ) -> "Study":
        """Open a study with the policies that it was created with.

        Parameters
        ----------
        url, name, policies, version
            As they were created.
        learn : bool
            Whether this process learns from rewards as they are told to it, if no other does.
        probe : bool
            Whether functions and models are asked again at the first contexts of the study.

        Raises
        ------
        InvalidArgumentError
            If the policies are others; the message says what differs.
        FileNotFoundError
            If there is no such file.
        """
        check_class(policies)
        learns, storage = flag("learn", learn), Storage(url)
        with storage.reading() as connection:
            record = StudyRecord.read(connection, name, storage.where)
            probes = connection.execute(
                select(studies.c.probes).where(studies.c.study == record.study)
            ).scalar_one()
        check_identity(record.identity, policies, version)
        if flag("probe", probe) and probes is not None:
            check_probes(probes, policies)
        return cls(storage, record, policies, learns=learns)

    @staticmethod
    def list(url: str) -> "list[StudySummary]":
        """The studies of a database, by name."""
        storage = Storage(url)
        settled = (
            select(func.count()).where(rewards.c.study == studies.c.study).scalar_subquery()
        )
        with storage.reading() as connection:
            rows = connection.execute(
                select(studies, counters.c.rounds, settled.label("settled"))
                .join(counters, counters.c.study == studies.c.study)
                .order_by(studies.c.name)
            ).all()
        storage.close()
        return [
            StudySummary(
                name=row.name,
                learner=row.learner,
                rounds=row.rounds,
                settled=row.settled,
                created=row.created,
                archived=row.archived is not None,
            )
            for row in rows
        ]

    def ask(self, contexts: Any, *, ids: Any = None) -> Decisions:
        """Decide what to show at one context or many; the decisions are on disk when it returns.

        Parameters
        ----------
        contexts
            Of the kind that the policies take.
        ids : sequence of str, optional
            Your names of the rounds, which no other round of the study has. By default they are
            named for you.

        Returns
        -------
        Decisions
            With ``ids``, by which any process may tell their rewards.

        Raises
        ------
        InvalidArgumentError, PolicyFailureError, DecisionsError
            Nothing is changed.
        StorageError
            If the database cannot be reached, or is full.
        """
        self._check_active()
        with self._lock:
            kind = self._known_kind()
        x = self.policies.check_contexts(kind.arranged(contexts))
        kind.check(x)
        given = None if ids is None else as_ids(ids, len(x))
        attempt = 0
        while True:
            try:
                return self._ask(x, given, final=attempt == _RETRIES)
            except _Superseded:
                attempt += 1

    def _ask(self, x: Any, given: "list[str] | None", *, final: bool) -> Decisions:
        """Decide with the exploration at hand; raise if there is a newer one, unless it is final.

        An exploration that is not the newest any more is as valid as any: its propensities are its
        own.
        """
        version, exploration = self._exploration()
        which = None if self.policies.looked_up else exploration.consulted
        answers = self.policies.answers_at(x, which)
        n, record, ledger = len(x), self._record, self._ledger
        batches: list[Batch] = []
        with self._storage.writing() as connection:
            now = self._storage.now(connection)
            first, newest = ledger.take_places(connection, n)
            if newest != version and not final:
                self._version = newest
                raise _Superseded
            if given is not None:
                insert_ids(connection, record.study, record.mark, given, first)
            for start in range(0, n, LARGEST):
                part = slice(start, start + LARGEST)
                some, said = x[part], answers.take(part) if n > LARGEST else answers
                uniforms = self._draws.at(
                    first + start, len(some), exploration.draws_per_round
                )
                actions, propensities = ledger.issue(
                    connection, first + start, version, exploration, some, said, uniforms, now
                )
                batches.append(
                    Batch(
                        first=first + start,
                        exploration=version,
                        asked=now,
                        actions=actions,
                        propensities=propensities,
                        contexts=some.copy(),
                        answers=None if ledger.reads_contexts else said,
                    )
                )
            if first == 0 and n and record.keep_contexts:
                probes = packed_probes(self.policies, x, answers)
                connection.execute(
                    update(studies).where(studies.c.study == record.study).values(probes=probes)
                )
        with self._lock:
            self._kind.seen(x)
            self._issued = max(self._issued, first + n)
            if self._learns:
                for batch in batches:
                    ledger.keep(batch)
        places = np.arange(first, first + n)
        m = self.policies.slate_size
        nothing = (np.empty((0, m), np.int32), np.empty((0, m)))
        actions, propensities = (
            (np.concatenate([b.actions for b in batches]),
             np.concatenate([b.propensities for b in batches]))
            if batches else nothing
        )  # fmt: skip
        return Decisions(
            contexts=x.copy(),
            actions=actions,
            propensities=propensities,
            numbers=places,
            asked=np.full(n, now),
            issuer=record.mark,
            all_actions=self._all_actions,
            ids=default_ids(record.mark, places.tolist())
            if given is None
            else np.array(given, dtype=object),
        )

    def tell(self, ids: Any, rewards: Any = None) -> Told:
        """Report the rewards of what was shown; they are on disk when it returns.

        Telling the same again changes nothing, so whoever does not know whether a call came through
        calls again.

        Parameters
        ----------
        ids : str, sequence of str, Decisions, or a frame
            Of decisions, in any order. A frame has the columns ``id`` and ``reward``, of slates
            ``reward_0``, ``reward_1``, ....
        rewards : array of shape (n, m), or (n,) when m = 1
            Rewards in [0, 1] of the shown items; None with a frame.

        Raises
        ------
        DecisionsError
            If an id is not known, or was settled with another reward, which is written down in the
            audit table; nothing else is changed.
        InvalidArgumentError, StorageError
            Nothing is changed.
        """
        self._check_active()
        names, given = as_told(ids, rewards, self.problem.slate_size)
        told = as_rewards(given, len(names), self.problem.slate_size, self.problem.sparsity)
        self._start.learner._check_told(told)
        if not names:
            return Told(counted=0, again=0, late=())
        try:
            return self._tell(names, told)
        except IntegrityError:  # another process told some of them at the same time
            return self._tell(names, told)

    def _tell(self, names: "list[str]", told: npt.NDArray[np.float64]) -> Told:
        ledger = self._ledger
        with self._lock:
            before = self._ready() if self._learns else None
            try:
                with self._storage.writing() as connection:
                    now = self._storage.now(connection)
                    places = self._places(connection, names)
                    done = settling.tell(ledger, connection, places, told, now)
                    then = None if before is None else self._advance(connection, before, now)
            except settling.RefusedRewards as error:
                with self._storage.writing() as connection:
                    now = self._storage.now(connection)
                    raise_this = settling.refuse(ledger, connection, error, now)
                raise raise_this from None
            self._take(then)
        return done

    def decisions(self, ids: Any) -> Decisions:
        """What was decided for some ids, as `ask` returned it."""
        names = as_ids(ids)
        with self._storage.reading() as connection:
            return decided(self._ledger, connection, self._places(connection, names))

    def open_decisions(self, *, older_than: Any = None) -> Decisions:
        """Decisions that wait for their rewards, in order; ``.ages`` says for how long.

        Parameters
        ----------
        older_than : duration, optional
            Only those that have waited for at least so long, such as ``"1h"``.
        """
        learnt = self._caught_up().learnt
        with self._storage.reading() as connection:
            places = open_places(self._ledger, connection, learnt)
            if older_than is not None and len(places):
                age = seconds("older_than", older_than)
                asked = self._ledger.asked(connection, places)
                places = places[asked <= self._storage.now(connection) - age]
            return decided(self._ledger, connection, places)

    def expire(self, *, older_than: Any = None) -> "list[str]":
        """Settle decisions that have waited too long with the default reward; return their ids.

        A study with a deadline does that by itself as it learns.

        Parameters
        ----------
        older_than : duration, optional
            How long a decision may wait; by default the deadline.
        """
        self._check_active()
        if older_than is None and self._record.deadline is None:
            raise InvalidArgumentError("older_than must be given, as the study has no deadline")
        age = self._record.deadline if older_than is None else seconds("older_than", older_than)
        assert age is not None
        return self._settle(
            lambda connection, now, low: settling.expire(
                self._ledger, connection, low, now - age, now
            )
        )

    def discard(self, ids: Any, *, reason: str) -> "list[str]":
        """Give up on decisions whose rewards will never be known; return their ids.

        Only for reasons that have nothing to do with the rewards, such as a crash; otherwise
        estimates are biased. For answers that are late there is the deadline.

        Parameters
        ----------
        ids : str or sequence of str
        reason : str
            Kept in the audit table.
        """
        self._check_active()
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidArgumentError(f"reason must be a text, got {reason!r}")
        names = as_ids(ids)

        def settle(connection: Connection, now: float, _: int) -> Places:
            places = self._places(connection, names)
            settling.discard(self._ledger, connection, places, reason, now)
            return places

        return self._settle(settle)

    def _settle(self, settle: Any) -> "list[str]":
        """Settle rounds in a transaction, and learn what is ready."""
        record = self._record
        with self._lock:
            before = self._ready()
            with self._storage.writing() as connection:
                now = self._storage.now(connection)
                places = settle(connection, now, before.learnt)
                names = ids_at(connection, record.study, record.mark, places)
                then = self._advance(connection, before, now) if self._learns else None
            self._take(then)
        found: list[str] = names.tolist()
        return found

    def learn(self) -> int:
        """Learn from what is settled and publish what to play next, if no other process does.

        That is what a worker does again and again. A process that has not given up learning does it
        with every `tell`.

        Returns
        -------
        int
            Rounds that were learnt from.
        """
        self._check_active()
        with self._lock:
            start = self._ready().learnt
            while True:
                before = self._ready()
                with self._storage.writing() as connection:
                    now = self._storage.now(connection)
                    if not self._lease.hold(connection, now):
                        break
                    self._expire_due(connection, before, now)
                with self._storage.reading() as connection:
                    then = before.advanced(connection, until=before.learnt + _AT_ONCE)
                    settled = then.learnt == before.learnt and then.is_published(connection)
                if settled:
                    break
                with self._storage.writing() as connection:
                    if not self._publish(connection, then, self._storage.now(connection)):
                        break
                self._take(then)
            return self._ready().learnt - start

    def release(self) -> None:
        """Give the lease up, so that another process may learn at once."""
        with self._lock, self._storage.writing() as connection:
            self._lease.release(connection)

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""
        return self._caught_up().learner.finished

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        return self._caught_up().learner.recommend()

    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""
        return self._caught_up().learner.intervals()

    def status(self) -> StudyStatus:
        """Where the study stands: what is open, settled, learnt, late and refused."""
        with self._lock:
            learning = self._caught_up()
        with self._storage.reading() as connection:
            return status_of(self._ledger, connection, learning, self._storage.now(connection))

    def report(
        self, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None
    ) -> None:
        """Write one self-contained HTML page about where the study stands."""
        self.status().report(path, title=title, command=command)

    @property
    def exploration(self) -> Exploration:
        """What is played now: the newest that was published."""
        with self._storage.reading() as connection:
            _, version = self._ledger.counters(connection)
            return self._ledger.exploration(connection, version)

    def close(self) -> None:
        """Let others learn at once, and close all connections."""
        if self._lease.fence is not None:
            self.release()
        self._storage.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._record.learner}, {self._storage.where})"

    def _check_active(self) -> None:
        if self._record.archived is not None:
            raise InvalidArgumentError(
                f"study {self.name!r} is archived, and takes no decisions or rewards any more"
            )

    def _known_kind(self) -> ContextKind:
        """What contexts have been, from the database if this process has not asked yet."""
        if self._kind.earlier is None and self._record.keep_contexts:
            with self._storage.reading() as connection:
                rounds, _ = self._ledger.counters(connection)
                if rounds:
                    last = self._ledger.holding(connection, rounds - 1)
                    if len(last.contexts):
                        self._kind.seen(last.contexts)
        return self._kind

    def _exploration(self) -> tuple[int, Exploration]:
        """The newest exploration that this process knows of."""
        if self._version:
            known = self._ledger.known(self._version)
            if known is not None:
                return self._version, known
        with self._storage.reading() as connection:
            _, self._version = self._ledger.counters(connection)
            return self._version, self._ledger.exploration(connection, self._version)

    def _places(self, connection: Connection, names: "list[str]") -> Places:
        record = self._record
        try:
            return places_of(connection, record.study, record.mark, names, self._issued)
        except ValueError:  # or another process has issued them
            self._issued, _ = self._ledger.counters(connection)
            return places_of(connection, record.study, record.mark, names, self._issued)

    def _ready(self) -> Learning:
        """What this process has learnt, from the beginning or a snapshot if it has not yet."""
        if self._learning is None:
            with self._storage.reading() as connection:
                latest = self._snapshots.latest(connection, self._start)
                self._learning = latest.advanced(connection)
        return self._learning

    def _caught_up(self) -> Learning:
        """What is known after all that is settled; nothing is published."""
        with self._lock:
            before = self._ready()
            with self._storage.reading() as connection:
                self._learning = before.advanced(connection)
            return self._learning

    def _advance(self, connection: Connection, before: Learning, now: float) -> Learning | None:
        """What is known then, published if that is to be; None if another process learns."""
        alone = self._lease.seems_held
        if not alone and not self._lease.hold(connection, now):
            return None
        self._expire_due(connection, before, now)
        then = before.advanced(connection, alone=alone)
        if then.is_published(connection) or self._publish(connection, then, now):
            return then
        return None

    def _publish(self, connection: Connection, then: Learning, now: float) -> bool:
        """Publish what should be played now, if the lease is still ours and it is new."""
        if not self._lease.still_held(connection):
            self._lease.fence = None
            return False
        if not then.is_published(connection):
            assert self._lease.fence is not None
            then.publish(connection, self._lease.fence, now)
        return True

    def _expire_due(self, connection: Connection, before: Learning, now: float) -> None:
        deadline = self._record.deadline
        if deadline is not None:
            settling.expire(self._ledger, connection, before.learnt, now - deadline, now)

    def _take(self, then: Learning | None) -> None:
        """Take over what was learnt, once it is committed."""
        if then is not None:
            self._learning = then
            self._ledger.remember(then.version, then.learner.exploration)
            self._version = max(self._version, then.version)
            if self._snapshots.due(then):
                with self._storage.writing() as connection:
                    if self._lease.still_held(connection):
                        self._snapshots.write(connection, then, self._storage.now(connection))
