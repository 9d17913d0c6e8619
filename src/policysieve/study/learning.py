"""The learner of a study: a fold over the settled rounds of its database."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, insert, select, update

from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.settled import Part
from policysieve.exploration.status import Look, Status, status_of
from policysieve.log import Log
from policysieve.policies import Answers
from policysieve.study.ledger import DISCARDED, Front, SqlLedger
from policysieve.study.packing import Batch
from policysieve.study.schema import counters, explorations

__all__ = ["Learning"]

_TOGETHER = 4000  # rounds that are folded at once, where that changes no bit
_STRETCH, _MOST = 1, 128  # batches read at once
_GATHERED = 512  # rounds that may wait to be folded together

Unit = tuple[Batch, Any, Any]
"""A batch, how its rounds were settled, and their rewards."""

_PUBLISHED = (
    select(explorations.c.version, explorations.c.learnt)
    .where(explorations.c.study == bindparam("number"), explorations.c.version > bindparam("known"))
    .order_by(explorations.c.version)
)


class Learning:
    """What is known after the first rounds of a study. A value but for its memory of batches.

    Rounds that were asked for together are folded together, once all of them are settled. So what
    is known is a function of the database, whoever folds and whenever.

    Attributes
    ----------
    learner : Explorer
        Without a ledger of its own.
    learnt : int
        Places that it has passed: all rounds before it are settled.
    version : int
        The newest exploration that it knows to be published.
    """

    def __init__(
        self, ledger: SqlLedger, learner: Explorer, learnt: int = 0, version: int = 0
    ) -> None:
        self._ledger = ledger
        self.learner, self.learnt, self.version = learner, learnt, version
        self._published = learner.exploration if version else None
        self._status: Status | None = None  # as far as somebody has asked

    @classmethod
    def first(cls, ledger: SqlLedger) -> "Learning":
        """Before any round."""
        learner = ledger.record.new_learner(ledger.policies)._twin()
        learner._keeps_log = False
        return cls(ledger, learner)

    def copied(self) -> "Learning":
        """The same, to go on from without changing this one."""
        twin = copy(self)
        twin.learner = object.__new__(type(self.learner))
        twin.learner.__dict__.update(self.learner.__dict__)
        return twin

    def at(self, learnt: int, version: int) -> "Learning":
        """The same learner, which knows so many rounds and plays what was published last."""
        self._ledger.remember(version, self.learner.exploration)
        return Learning(self._ledger, self.learner, learnt, version)

    def advanced(
        self, connection: Connection, *, until: int | None = None, alone: bool = False
    ) -> "Learning":
        """What is known after all rounds that are settled; this one stays.

        Parameters
        ----------
        connection : Connection
        until : int, optional
            The place up to which to fold, if there is more. If no batch ends there, it is the next
            such.
        alone : bool
            Whether nobody else has published an exploration since. What other processes have
            issued meanwhile may be left for the next time then.
        """
        then, published = self.copied(), []
        if not alone:
            known = {"number": self._ledger.record.study, "known": then.version}
            published = [(row.version, row.learnt) for row in connection.execute(_PUBLISHED, known)]
        then._meet(connection, published)
        units: list[Unit] = []
        enough = self._ledger.issued if alone else None
        for unit in _complete(self._ledger, connection, then.learnt, enough):
            if units and not then._together(units, unit):
                then._fold(connection, units)
                units = []
            units.append(unit)
            end = unit[0].end
            last = until is not None and end >= until
            if last or (published and published[0][1] == end):
                then._fold(connection, units)
                units = []
                then._meet(connection, published)
            if last:
                break
        if units:
            then._fold(connection, units)
        return then

    def _together(self, units: "list[Unit]", unit: "Unit") -> bool:
        """Whether a batch may be folded in one go with those before it."""
        first, last, batch = units[0][0], units[-1][0], unit[0]
        return (
            self.learner.splits_freely
            and last.exploration == batch.exploration
            and (last.available is None) == (batch.available is None)
            and batch.end - first.first <= _TOGETHER
        )

    def _meet(self, connection: Connection, published: list[tuple[int, int]]) -> None:
        """Pass the explorations that were published up to here; the last may be its own."""
        while published and published[0][1] <= self.learnt:
            self.version, learnt = published.pop(0)
            self._published, mine = None, self.learner.exploration
            if learnt == self.learnt and mine.same_as(
                self._ledger.exploration(connection, self.version)
            ):
                self._published = mine
                self._ledger.remember(self.version, mine)

    def may_wait(self, connection: Connection, now: float) -> bool:
        """Whether folding what has been told since would change nothing that is played.

        That is so if what should be played is published, and too few rounds were issued for the
        next look at the evidence. Rounds gather then, which cost less when they are folded
        together. Some are folded nevertheless, so that nobody has to fold many at once.
        """
        learner, waiting = self.learner, self._ledger.issued - self.learnt
        wanted = learner._wanted
        return (
            learner.splits_freely
            and self._published is learner.exploration
            and waiting < _GATHERED
            and (wanted is None or waiting < wanted)
            and not self.is_overdue(connection, now)
        )

    def is_overdue(self, connection: Connection, now: float) -> bool:
        """Whether the first round that waits has waited past its deadline, or is of the future."""
        deadline = self._ledger.record.deadline
        if deadline is None:
            return False
        front = self._ledger.front(connection, self.learnt)
        return front is not None and not now - deadline < front.asked <= now

    def is_published(self, connection: Connection) -> bool:
        """Whether the newest exploration is what should be played now."""
        mine = self.learner.exploration
        if self._published is None and self.version:
            published = self._ledger.exploration(connection, self.version)
            self._published = mine if mine.same_as(published) else published
        return self._published is mine

    def _fold(self, connection: Connection, units: list[Unit]) -> None:
        """Take in settled batches that one exploration has decided."""
        batches = [batch for batch, _, _ in units]
        told = np.concatenate([states for _, states, _ in units]) != DISCARDED
        rewards = np.concatenate([rewards for _, _, rewards in units])
        actions = np.concatenate([batch.actions for batch in batches])
        propensities = np.concatenate([batch.propensities for batch in batches])
        answers = self._answers(batches)
        if not told.all():
            actions, propensities, rewards = actions[told], propensities[told], rewards[told]
            answers = answers.take(np.flatnonzero(told))
        if len(actions):
            # Contexts are not looked at again: what the candidates said there is kept.
            nowhere = np.zeros(len(actions), np.uint8)
            rounds = Log.trusted(nowhere, actions, propensities, rewards)
            exploration = self._ledger.exploration(connection, batches[0].exploration)
            self.learner._fold(Part(rounds, exploration, answers))
        self.learnt, self._status = batches[-1].end, None

    def _answers(self, batches: list[Batch]) -> Answers:
        policies = self._ledger.policies
        parts: list[Answers]
        if self._ledger.reads_contexts:
            parts = [
                policies.answers_at(policies.check_contexts(b.contexts), None, b.available)
                for b in batches
            ]
        else:
            parts = [batch.answers for batch in batches if batch.answers is not None]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.plus(part)
        return whole

    def status(self) -> Status:
        """How things stand with the learner; worked out once, by a pass over all rounds."""
        if self._status is None:
            self._status = status_of(Look(self.learner, pending=0))
        return self._status

    def recommendation(self) -> Recommendation:
        """The policy to deploy now."""
        return self.learner.recommend() if self._status is None else self._status.recommendation

    def content(self) -> bytes:
        """The file of the exploration, which takes a while to make."""
        return ExplorationFile.of(self.learner.exploration).to_bytes()

    def publish(self, connection: Connection, content: bytes, fence: int, now: float) -> None:
        """Publish the exploration, whose file this is; who calls holds the lease of this fence."""
        study = self._ledger.record.study
        self.version, self._published = self.version + 1, self.learner.exploration
        row = {
            "study": study,
            "version": self.version,
            "learnt": self.learnt,
            "fence": fence,
            "content": content,
            "published": now,
        }
        connection.execute(insert(explorations), row)
        connection.execute(
            update(counters).where(counters.c.study == study).values(exploration=self.version)
        )


def _complete(
    ledger: SqlLedger, connection: Connection, low: int, enough: int | None
) -> Iterator[Unit]:
    """Batches from a place on of which all rounds are settled, up to the first that is not.

    Nobody looks whether there are more where it is `enough`, if that is said.
    """
    front = ledger.front(connection, low)
    if front is None:
        return
    settled = ledger.settled(connection, low, low + front.size)
    if len(settled[0]) < front.size:
        return  # as most often: nothing else was read
    most = _STRETCH
    while found := ledger.batches(connection, low, contexts=False, most=most):
        if found[-1].end > low + front.size:
            settled = ledger.settled(connection, low, found[-1].end)
        places, states, told = settled
        for batch in found:
            start, end = np.searchsorted(places, (batch.first, batch.end))
            if end - start < len(batch):
                return
            yield batch, states[start:end], told[start:end]
        low, most, front = found[-1].end, min(2 * most, _MOST), Front(0, 0.0)
        if low == enough:
            return
