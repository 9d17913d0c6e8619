"""A study: ask, tell and learn through a database, from any number of processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update

from policysieve.arrays import shown
from policysieve.checks import flag
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.decisions import Decisions
from policysieve.policies import AnyPolicies, check_class
from policysieve.problem import Problem
from policysieve.study.deciding import Ask, Asked, Decider
from policysieve.study.durations import seconds
from policysieve.study.forgetting import forget
from policysieve.study.identity import check_identity, identity_of
from policysieve.study.ids import as_ids
from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.looks import StudyLooks
from policysieve.study.probes import PROBES, check_probes, n_probes
from policysieve.study.record import StudyRecord
from policysieve.study.results import Told
from policysieve.study.schema import studies
from policysieve.study.storage import Storage
from policysieve.study.teller import Teller

__all__ = ["Study"]


class Study(StudyLooks):
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
        self,
        storage: Storage,
        record: StudyRecord,
        policies: AnyPolicies,
        *,
        learns: bool,
        probed: int = 0,
    ) -> None:
        super().__init__(storage, record, policies)
        ledger, worker = self._ledger, self._worker
        self._decider = Decider(storage, ledger, keeps=learns, probed=probed)
        self._teller = Teller(storage, ledger, worker, self._decider, learns=learns)

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
            first.publish(connection, first.content(), fence=0, now=now)
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
        probed = PROBES  # what is not compared is not added to, either
        if flag("probe", probe):
            probed = n_probes(probes)
            check_probes(probes, policies)
        return cls(storage, record, policies, learns=learns, probed=probed)

    def ask(self, contexts: Any, *, ids: Any = None, available: Any = None) -> Decisions:
        """Decide what to show at one context or many; the decisions are on disk when it returns.

        Parameters
        ----------
        contexts : array, data frame, list or sparse matrix
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
        calls again. That holds within one call, too.

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
            audit table, or if the call has two different rewards for it; nothing else is changed.
        InvalidArgumentError, StorageError
            Nothing is changed.
        """
        return self._teller.tell(ids, rewards)

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
        return self._teller.tell_together(tells)

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
        return self._teller.expire(age)

    def discard(self, ids: Any, *, reason: str) -> list[str]:
        """Give up on decisions whose rewards will never be known; return their ids.

        Only for reasons that have nothing to do with the rewards, such as a crash; otherwise
        estimates are biased. For answers that are late there is the deadline. A decision whose
        deadline has passed by the clock of the database has expired, and is not given up any more.

        Parameters
        ----------
        ids : str or sequence of str
        reason : str
            Kept in the audit table.

        Raises
        ------
        DecisionsError
            If an id is not known, or its decision is settled or has expired; nothing is changed.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidArgumentError(f"reason must be a text, got {shown(reason)}")
        names = as_ids(ids)
        if names:
            self._teller.discard(names, reason)
        return names

    def learn(self) -> int:
        """Learn from what is settled and publish what to play next, if no other process does.

        That is what a worker does again and again, or a thread of a process that tells with
        ``learn=False``: who tells does not wait for it. A process that has not given up learning
        does it with every `tell`.

        Returns
        -------
        int
            Rounds that were learnt from.
        """
        self._check_active()
        self._decider.keeps = True  # what is decided here will be learnt from here
        learnt = self._worker.learn()
        self._decider.version = self._worker.ready().version
        return learnt

    def release(self) -> None:
        """Give the lease up, so that another process may learn at once."""
        self._worker.release()

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
            forget(self._ledger, connection, self._ledger.places(connection, names))
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

    def close(self) -> None:
        """Let others learn at once, and close all connections."""
        self.release()
        self._storage.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_active(self) -> None:
        with self._storage.reading() as connection:
            self._record.check_active(connection)
