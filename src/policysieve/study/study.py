"""A study: ask, tell and learn through a database, from any number of processes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import IntegrityError

from policysieve.arrays import shown
from policysieve.checks import as_rewards, flag
from policysieve.errors import (
    DecisionsError,
    InvalidArgumentError,
    StorageError,
)
from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.log import Log, LogFile
from policysieve.policies import AnyPolicies, check_class
from policysieve.problem import Problem
from policysieve.study import settling
from policysieve.study.deciding import Ask, Asked, Decider
from policysieve.study.durations import seconds
from policysieve.study.exporting import log_of, write_log
from policysieve.study.forgetting import forget
from policysieve.study.identity import check_identity, check_probes, identity_of
from policysieve.study.ids import as_ids, ids_at, places_of
from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.looking import decided, open_places, status_of
from policysieve.study.record import StudyRecord
from policysieve.study.results import StudyStatus, Told, Verification
from policysieve.study.schema import studies
from policysieve.study.storage import Storage
from policysieve.study.telling import as_told
from policysieve.study.verifying import verified
from policysieve.study.worker import Worker

__all__ = ["Study"]

_ATTEMPTS = 5  # to tell rewards that others tell as well

Places = npt.NDArray[np.int64]
_Rewards = tuple[list[str], npt.NDArray[np.float64]]  # ids, and what was told for each


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
        self._decider = Decider(storage, self._ledger, keeps=learns)
        self._worker = Worker(storage, self._ledger)

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
            reward 0, or the problem's `no_answer`.
        keep_contexts : bool
            Whether contexts are kept, or only a hash of each.
        version : str, optional
            What you call the policies; another version is another class.
        learn : bool
            Whether this process learns from rewards as they are told to it.

        Raises
        ------
        InvalidArgumentError
            If there is a study of this name, or an argument breaks a rule. Outcomes, guardrails,
            `max_loss` and `additions` are not kept yet.
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
            keep_contexts=keep_contexts,
        )
        learns = flag("learn", learn)
        draft = SqlLedger(record, policies)
        if not record.keep_contexts and draft.reads_contexts:
            raise InvalidArgumentError(
                f"keep_contexts must be True for {type(policies).__name__}, whose answers are "
                "found again from the contexts"
            )
        if not policies.exact and learner != "Uniform":
            raise InvalidArgumentError(
                f"learner must be Uniform for {type(policies).__name__}, got {learner}: it would "
                "explore with policies that are fitted on the way, which cannot be kept"
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
        return cls.open_in(Storage(url), name, policies, version=version, learn=learn, probe=probe)

    @classmethod
    def open_in(
        cls,
        storage: Storage,
        name: str,
        policies: AnyPolicies,
        *,
        version: str | None = None,
        learn: bool = True,
        probe: bool = True,
    ) -> "Study":
        """`open` in a database that is open, and that several studies share."""
        check_class(policies)
        learns = flag("learn", learn)
        with storage.reading() as connection:
            record = StudyRecord.read(connection, name, storage.where)
            probes = connection.execute(
                select(studies.c.probes).where(studies.c.study == record.study)
            ).scalar_one()
        check_identity(record.identity, policies, version)
        if flag("probe", probe) and probes is not None:
            check_probes(probes, policies)
        return cls(storage, record, policies, learns=learns)

    def ask(self, contexts: Any, *, ids: Any = None, available: Any = None) -> Decisions:
        """Decide what to show at one context or many; the decisions are on disk when it returns.

        Parameters
        ----------
        contexts
            Of the kind that the policies take.
        ids : sequence of str, optional
            Your names of the rounds, which no other round of the study has. By default they are
            named for you.
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context, as a mask or as lists of numbers or names. Nothing
            else is shown.

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
        return self._decider.ask(contexts, ids, available)

    def consulted(self, ask: Ask) -> Asked:
        """What is asked for, checked, and what the candidates say to it; nothing is decided yet.

        Candidates that take their time do so here, and `ask_together` calls them no more, unless
        what it decides with has changed.
        """
        return self._decider.consulted(ask)

    def ask_together(self, asks: Sequence[Ask | Asked]) -> list[Decisions | Exception]:
        """Decide for several who ask at once, in one transaction: what each gets, or why not.

        Parameters
        ----------
        asks : sequence of Ask or Asked
            Each is its own batch of rounds, and none is refused because another is.

        Raises
        ------
        InvalidArgumentError
            If the study is archived.
        StorageError
            Nothing is changed.
        """
        return self._decider.ask_together(asks)

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
            Rewards of the shown items, in [0, 1] or in the problem's range; None with a frame.

        Raises
        ------
        DecisionsError
            If an id is not known, or was settled with another reward, which is written down in the
            audit table; nothing else is changed.
        InvalidArgumentError, StorageError
            Nothing is changed.
        """
        checked = self._checked(ids, rewards)
        if not checked[0]:
            return Told(counted=0, again=0, late=())
        (found,) = self._tell_all([checked])
        if isinstance(found, DecisionsError):
            raise found
        return found

    def tell_together(self, tells: Sequence[tuple[Any, Any]]) -> list[Told | Exception]:
        """Report what several have to tell in one transaction: what became of each, or why not.

        Parameters
        ----------
        tells : sequence of pairs
            Of ids and rewards, as `tell` takes them.

        Raises
        ------
        StorageError
            Nothing is changed.
        """
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

    def _checked(self, ids: Any, rewards: Any) -> _Rewards:
        """Ids and their rewards, or raise."""
        names, given = as_told(ids, rewards, self.problem.slate_size)
        q = self.problem
        told = as_rewards(given, len(names), q.slate_size, q.sparsity, q.reward_range)
        self._worker.start.learner._check_told(q.scale.inside(told))
        return names, told

    def _tell_all(self, tells: list[_Rewards]) -> list[Told | DecisionsError]:
        """Tell in one transaction what was checked: what became of each, or why it was refused."""
        for attempt in range(_ATTEMPTS):
            try:
                with self._settling() as (connection, now):
                    return [
                        self._tell(connection, names, told, now, new=attempt == 0)
                        for names, told in tells
                    ]
            except IntegrityError:  # some were told before, or by another process at this moment
                continue
        raise StorageError(f"{self._storage.where} has too many who tell the same; tell it again")

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
            places = self._places(connection, names)
            return settling.tell(ledger, connection, places, told, now, new=new)
        except settling.RefusedRewardsError as error:
            return settling.refuse(ledger, connection, error, now)
        except DecisionsError as error:
            return error

    @contextmanager
    def _settling(self) -> Iterator[tuple[Connection, float]]:
        """A transaction that settles rounds, and learns what is ready then."""
        storage, worker = self._storage, self._worker
        with worker.lock:
            if self._learns:
                worker.warm()
            with storage.writing() as connection:
                self._record.check_active(connection)
                now = storage.now(connection)
                yield connection, now
                then = worker.advanced(connection, now) if self._learns else None
            worker.take(then)
            if then is not None:
                self._decider.version = then.version

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
        learnt = self._worker.caught_up().learnt
        with self._storage.reading() as connection:
            places = open_places(self._ledger, connection, learnt)
            if older_than is not None and len(places):
                age = seconds("older_than", older_than)
                asked = self._ledger.asked(connection, places)
                places = places[asked <= self._storage.now(connection) - age]
            return decided(self._ledger, connection, places)

    def expire(self, *, older_than: Any = None) -> list[str]:
        """Settle decisions that have waited too long with reward 0, and return their ids.

        Or with the problem's `no_answer`. A study with a deadline does that by itself as it learns.

        Parameters
        ----------
        older_than : duration, optional
            How long a decision may wait; by default the deadline.
        """
        if older_than is None and self._record.deadline is None:
            raise InvalidArgumentError("older_than must be given, as the study has no deadline")
        age = self._record.deadline if older_than is None else seconds("older_than", older_than)
        assert age is not None
        learnt = self._worker.ready().learnt
        with self._settling() as (connection, now):
            places = settling.expire(self._ledger, connection, learnt, now - age, now)
            return self._ids(connection, places)

    def discard(self, ids: Any, *, reason: str) -> list[str]:
        """Give up on decisions whose rewards will never be known; return their ids.

        Only for reasons that have nothing to do with the rewards, such as a crash; otherwise
        estimates are biased. For answers that are late there is the deadline.

        Parameters
        ----------
        ids : str or sequence of str
        reason : str
            Kept in the audit table.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidArgumentError(f"reason must be a text, got {shown(reason)}")
        names = as_ids(ids)
        if not names:
            return names
        with self._settling() as (connection, now):
            places = self._places(connection, names)
            settling.discard(self._ledger, connection, places, reason, now)
        return names

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
        learnt = self._worker.learn()
        self._decider.version = self._worker.ready().version
        return learnt

    def release(self) -> None:
        """Give the lease up, so that another process may learn at once."""
        self._worker.release()

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""
        return self._worker.caught_up().learner.finished

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        return self._worker.caught_up().learner.recommend()

    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""
        return self._worker.caught_up().learner.intervals()

    def status(self) -> StudyStatus:
        """Where the study stands: what is open, settled, learnt, late and refused."""
        learning = self._worker.caught_up()
        with self._storage.reading() as connection:
            return status_of(self._ledger, connection, learning, self._storage.now(connection))

    def report(
        self, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None
    ) -> None:
        """Write one self-contained HTML page about where the study stands."""
        self.status().report(path, title=title, command=command)

    def log(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        format: str | None = None,
        overwrite: bool = False,
    ) -> Log | LogFile:
        """The rounds that were learnt from, in the order of their decisions.

        Rounds that were given up, and those whose contexts were erased, are left out. Where
        contexts are not kept, their hashes stand for them.

        Parameters
        ----------
        path : path, optional
            Write them there, with ids and times, as they are read: any number of rounds takes
            little memory. By default they are returned.
        format : str, optional
            By default what the name of the file says.
        overwrite : bool
            Whether a file that exists is replaced; otherwise it is an error.

        Returns
        -------
        Log or LogFile
        """
        learnt = self._worker.caught_up().learnt
        with self._storage.reading() as connection:
            if path is None:
                return log_of(self._ledger, connection, learnt)
            write_log(self._ledger, connection, learnt, path, format, overwrite=overwrite)
        return LogFile(path, format, reward_range=self.problem.reward_range)

    def forget(self, ids: Any) -> None:
        """Erase the contexts of some rounds; decisions, answers and rewards are kept.

        Parameters
        ----------
        ids : str or sequence of str

        Raises
        ------
        InvalidArgumentError
            If the policies' answers are found from the contexts, as those of a table are.
        """
        names = as_ids(ids)
        if not names:
            return
        with self._storage.writing() as connection:
            self._storage.erase_for_good(connection)
            forget(self._ledger, connection, self._places(connection, names))
        self._storage.after_erasing()

    def archive(self) -> None:
        """End the study: from now on it can be looked at, and takes nothing any more."""
        with self._storage.writing() as connection:
            now = self._storage.now(connection)
            connection.execute(
                update(studies)
                .where(studies.c.study == self._record.study, studies.c.archived.is_(None))
                .values(archived=now)
            )
            self._record = StudyRecord.read(connection, self.name, self._storage.where)
            self._ledger.record = self._record

    def verify(self) -> Verification:
        """Fold all rounds again from the beginning, and compare with what is kept, bit by bit."""
        known = self._worker.caught_up()
        with self._storage.reading() as connection:
            return verified(self._ledger, connection, known)

    @property
    def exploration(self) -> Exploration:
        """What is played now: the newest that was published."""
        with self._storage.reading() as connection:
            _, version = self._ledger.counters(connection)
            return self._ledger.exploration(connection, version)

    def published(self) -> tuple[int, bytes]:
        """The version of what is played now, and the file that it is, for other processes."""
        with self._storage.reading() as connection:
            _, version = self._ledger.counters(connection)
            return version, self._ledger.content(connection, version)

    def close(self) -> None:
        """Let others learn at once, and close all connections."""
        self.release()
        self._storage.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._record.learner}, {self._storage.where})"

    def _check_active(self) -> None:
        with self._storage.reading() as connection:
            self._record.check_active(connection)

    def _places(self, connection: Connection, names: list[str]) -> Places:
        record, ledger = self._record, self._ledger
        try:
            return places_of(connection, record.study, record.mark, names, ledger.issued)
        except DecisionsError:  # or another process has issued them
            rounds, _ = ledger.counters(connection)
            return places_of(connection, record.study, record.mark, names, rounds)

    def _ids(self, connection: Connection, places: Places) -> list[str]:
        record = self._record
        found: list[str] = ids_at(connection, record.study, record.mark, places).tolist()
        return found
