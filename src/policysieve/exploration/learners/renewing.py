"""Learners whose rounds fall into periods: candidates join them, and they can begin anew."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np

from policysieve.checks import flag
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Evidence
from policysieve.exploration.asking import changing
from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.designs.today import TodayExploration
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.learners.joining import Joining
from policysieve.log import Log
from policysieve.policies import Policies

__all__ = ["RenewingExplorer"]


class RenewingExplorer(Explorer):
    """A learner on evidence that lets candidates in on the way, and can begin anew.

    Both begin a period. An exploration knows its own, so a round that was decided earlier and told
    later counts for those who could be shown then (docs/maths.md, "Candidates that join").

    A subclass makes its evidence in `_begin_evidence`, and explores anew in `_look`.

    Attributes
    ----------
    evidence : Evidence
        With all candidates of today.
    """

    exploration: NeedExploration
    evidence: Evidence
    _learnt: Evidence  # the same, without those who joined after what was learnt,
    _waiting: tuple[Joining, ...]  # and these
    _learnt_period: int

    @abstractmethod
    def _begin_evidence(self, *, issued: int) -> None:
        """Begin with what is decided from now on; so many rounds were issued before."""

    @abstractmethod
    def _look(self) -> None:
        """Draw conclusions from a look of the evidence, and explore anew."""

    def _begin_period(self, *, issued: int) -> None:
        """Let none of the rounds count that were issued so far."""
        self._waiting = ()
        self._learnt_period = self._period
        self._since, self._begun = self._logged, issued
        self._left_out = Columns(np.empty(0, np.int64))

    def add(self, policies: Policies, *, unseen: bool = False) -> None:
        """Let more candidates in; their numbers go on behind those of the others.

        They are shown from the next decision on. Only rounds that are decided from now on count for
        them, because they may have been fitted on the earlier ones, or been chosen by them. What is
        recommended and proved is from now on about the larger class. That is a look at the
        evidence, and costs what `additions` has set aside (docs/new-candidates.md).

        Parameters
        ----------
        policies : Policies
            For the same actions, slates and contexts, with new names if the others have names.
        unseen : bool
            Whether these candidates were neither fitted on the rounds so far nor chosen by them, as
            a model from elsewhere. Then they are asked about all earlier contexts, and these rounds
            count for estimates and certificates. If that is not so, the guarantees do not hold.

        Raises
        ------
        InvalidArgumentError
            If they do not fit the others, or may not join, as `additions` says, or if rounds
            should count that were forgotten. Nothing is changed then.
        PolicyFailureError
            If one cannot answer; nothing is changed.
        BusyError
            Within another call of the same thread; nothing is changed.
        """
        unseen, admitted = flag("unseen", unseen), False
        while not admitted:
            now = self._snapshot()
            now.evidence.check_joins(policies, unseen=unseen)
            now._check_unseen(unseen)
            joining = Joining.of(policies, now.policies, now._period + 1, unseen=unseen)
            admitted = self._admit(joining.after(now._later_log))  # no lock: they may be slow

    def _check_unseen(self, unseen: bool) -> None:
        """Raise if candidates should be judged by rounds of which some are no evidence."""
        counted = self._later_log
        if unseen and counted is not None and len(counted) != self._learnt.rounds:
            raise InvalidArgumentError(
                f"unseen needs all rounds so far to be evidence, got {len(counted):,} rounds of "
                f"which {self._learnt.rounds:,} are: the others showed what the policy that runs "
                "today would, or were of units that had come before; leave unseen out"
            )

    @changing
    def _admit(self, joining: Joining) -> bool:
        """Let candidates in, unless others came in meanwhile."""
        if joining.period != self._period + 1:
            return False
        earlier, asked = self._earlier(), joining.rounds
        if earlier is not None:
            joining.new.check_contexts(earlier[:1])
        counted = self._later_log
        joining = joining.after(None if counted is None else counted[asked:])
        self._change(partial(type(self)._let_in, joining=joining))
        return True

    def _let_in(self, joining: Joining) -> None:
        self.policies, self._period = joining.policies, joining.period
        self._waiting = (*self._waiting, joining)
        self.evidence = joining.joined(self.evidence)
        self._look()

    @property
    def _later_log(self) -> Log | None:
        """The rounds since it began; None if there are none yet."""
        return None if self._log is None else self._log[self._since :]

    @changing
    def restart(self) -> None:
        """Begin anew: only rounds that are decided from now on count.

        For a world that has changed, but any reason will do: what is said afterwards holds with
        probability 1 - delta, whenever and for whatever reason it was called. Everyone who was
        eliminated is back, exploration begins as it did at first, `rounds` are counted anew, and
        candidates may join as often as before. `log` keeps all rounds, and `since` says from where
        on they count; rounds that were decided before and are told later do not.

        Raises
        ------
        BusyError
            Within another call of the same thread; nothing is changed.
        """
        self._change(partial(type(self)._begin_anew, issued=self._ledger.issued))

    def _begin_anew(self, *, issued: int) -> None:
        self._period += 1
        if self._late is not None:
            self._log = None if self._log is None else self._late.in_log(self._log)
            self._late = self._late.anew(issued)
        self._begin_evidence(issued=issued)

    @property
    def since(self) -> int:
        """The first round of `log` that counts: 0, or the first one decided after `restart`."""
        return self._snapshot()._since

    def _class_of(self, exploration: Any) -> Any:
        """The class without those who joined after the exploration was published."""
        if isinstance(exploration, TodayExploration) or exploration.period == self._period:
            return self.policies
        return self._classes.get(exploration.period, exploration.policies)

    @property
    def _classes(self) -> dict[int, Policies]:
        """The classes of the periods whose rounds may come next."""
        later = {joining.period: joining.policies for joining in self._waiting}
        return {self._learnt_period: self._learnt.policies, **later}

    def _takes(self, exploration: Any) -> bool:
        if type(exploration) is not type(self.exploration) or exploration.problem != self.problem:
            return False
        mine, theirs = self._classes.get(exploration.period), exploration.policies
        return mine is not None and (
            theirs is mine or bool(theirs.fingerprint() == mine.fingerprint())
        )

    def _check_turn(self, exploration: Any) -> None:
        if isinstance(exploration, TodayExploration):
            return
        waits = self._ledger.next_exploration(self._frontier)
        if isinstance(waits, NeedExploration) and waits.period < exploration.period:
            raise InvalidArgumentError(
                "rounds must be learnt from in the order of their decisions: some that were asked "
                "for before candidates joined, or before it began anew, are still open; tell, "
                "expire or discard these first"
            )
        if exploration.period < self._learnt_period:
            raise InvalidArgumentError(
                "rounds must be learnt from in the order of their decisions: these were decided "
                "before candidates joined, or before it began anew, and later ones are learnt from"
            )
