"""Looking at a study, which changes nothing."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.log import Log, LogFile
from policysieve.policies import AnyPolicies
from policysieve.study.durations import seconds
from policysieve.study.exporting import log_of, write_log
from policysieve.study.history import History, history_of
from policysieve.study.ids import as_ids
from policysieve.study.ledger import SqlLedger
from policysieve.study.looking import decided, open_places, pulse_of, status_of
from policysieve.study.record import StudyRecord
from policysieve.study.results import Pulse, StudyStatus, Verification
from policysieve.study.storage import Storage
from policysieve.study.traffic import MOST, Traffic, traffic_of
from policysieve.study.verifying import verified
from policysieve.study.worker import Worker

__all__ = ["StudyLooks"]


class StudyLooks:
    """What a study says when it is asked.

    Attributes
    ----------
    name : str
    policies : PolicyClass
    problem : Problem
    """

    def __init__(self, storage: Storage, record: StudyRecord, policies: AnyPolicies) -> None:
        self._storage, self._record = storage, record
        self.name, self.policies, self.problem = record.name, policies, record.problem
        self._ledger = SqlLedger(record, policies)
        self._worker = Worker(storage, self._ledger)
        self._traffic: Traffic | None = None  # that was counted last

    def decisions(self, ids: Any) -> Decisions:
        """What was decided for some ids, as `ask` returned it."""
        names = as_ids(ids)
        with self._storage.reading() as connection:
            return decided(self._ledger, connection, self._ledger.places(connection, names))

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

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""
        return self._worker.caught_up().learner.finished

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        found = self._worker.caught_up().recommendation()
        return found if found.rounds else self.status().recommendation  # which says what waits

    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""
        return self._worker.caught_up().learner.intervals()

    def status(self) -> StudyStatus:
        """Where the study stands: what is open, settled, learnt, late and refused."""
        learning = self._worker.caught_up()
        with self._storage.reading() as connection:
            return status_of(self._ledger, connection, learning, self._storage.now(connection))

    def pulse(self) -> Pulse:
        """What changes when something happens: a cheap look, for those who ask again and again."""
        learnt = self._worker.caught_up().learnt
        with self._storage.reading() as connection:
            return pulse_of(self._ledger, connection, learnt)

    def survivors(self) -> npt.NDArray[np.intp] | None:
        """Numbers of the policies that can still be the best; None if none are eliminated."""
        evidence = getattr(self._worker.caught_up().learner, "evidence", None)
        return None if evidence is None else evidence.survivors

    def history(self) -> History:
        """How the study got to where it stands: what was known now and then, since it began."""
        with self._storage.reading() as connection:
            return history_of(self._ledger, connection)

    def traffic(self, *, every: Any = "1h", count: int = 48) -> Traffic:
        """How many rounds were decided and rewards told in each of the last hours.

        Parameters
        ----------
        every : duration
            Length of a stretch of time, such as ``"1h"`` or ``"1d"``.
        count : int
            How many stretches, the current one included.
        """
        length = seconds("every", every)
        if length < 1:
            raise InvalidArgumentError(f"every must be at least a second, got {shown(every)}")
        count = integer("count", count, low=1, high=MOST)
        with self._storage.reading() as connection:
            now = self._storage.now(connection)
            found = traffic_of(self._ledger, connection, now, length, count, self._traffic)
        self._traffic = found
        return found

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
        if path is not None and not learnt:
            why = self.status().held_up or "No round was told yet."
            raise InvalidArgumentError(f"study {self.name!r} has no rounds to write. {why}")
        with self._storage.reading() as connection:
            if path is None:
                return log_of(self._ledger, connection, learnt)
            write_log(self._ledger, connection, learnt, path, format, overwrite=overwrite)
        return LogFile(path, format, reward_range=self.problem.reward_range)

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

    def verify(self) -> Verification:
        """Fold all rounds again from the beginning, and compare with what is kept, bit by bit."""
        known = self._worker.caught_up()
        with self._storage.reading() as connection:
            return verified(self._ledger, connection, known)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._record.learner}, {self._storage.where})"
