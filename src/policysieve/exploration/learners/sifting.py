"""Learners that let go of policies on the way: epochs, looks at the evidence, elimination."""

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.evidence import Certificate, Evidence, ValueIntervals
from policysieve.evidence.evidence import MEMORY_LIMIT
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.explorer import BATCH, Explorer
from policysieve.exploration.learners.promises import certificate_recommendation
from policysieve.log import Log
from policysieve.policies import Answers, Policies, Slates
from policysieve.problem import Problem

__all__ = ["MEMORY_LIMIT", "Array", "SiftingExplorer"]

Array = npt.NDArray[np.float64]

_BATCHES = 10  # a batch may be this part of the rounds so far


class SiftingExplorer(Explorer):
    """Play a fixed exploration until the evidence looks, eliminates, and then explore anew.

    Evidence of capped scores eliminates policies that are not the best, and exploration keeps to
    what the others would show (docs/maths.md, "Elimination without the union"). Explorations are
    fixed before the contexts they are used on, so certificates are valid at any time. The evidence
    looks when its rounds have grown by a factor; others may look whenever they like, which changes
    nothing.

    A subclass implements `_needs`.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    rounds : int or None
        Rounds after which to stop, certified or not.
    mixing : float
        Share of exploration by need; the rest follows survivors by their votes.
    memory_limit : int
        Bytes of rounds that the evidence may keep.
    """

    takes_guardrails = True
    exploration: NeedExploration

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None,
        mixing: float,
        memory_limit: int,
        rng: Any,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        self.max_rounds = None if rounds is None else integer("rounds", rounds, low=1)
        self.mixing = mixing
        self.evidence = Evidence(policies, problem, memory_limit=memory_limit)
        self._ended: Evidence | None = None  # at the latest look that proved what is asked for
        self.exploration = self._explore_next()

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that can still be the best."""
        return self._snapshot().evidence.survivors

    @property
    def _finished(self) -> bool:
        """Whether epsilon is certified, or the rounds are used up."""
        return self._proved or self._used_up

    @property
    def _proved(self) -> bool:
        """Whether a look has proved what is asked for, so that nothing is left to do."""
        return self._ended is not None

    def _proves(self, certificate: Certificate) -> bool:
        """Whether a certificate proves what is asked for."""
        return certificate.certified

    def _ends(self, certificate: Certificate) -> bool:
        """Whether nothing is left to do: it also proves that its leader keeps all guardrails."""
        return self._proves(certificate) and certificate.cleared

    def _answer(self, evidence: Evidence) -> Evidence:
        """The evidence, led by the policy to recommend."""
        return evidence

    @property
    def _used_up(self) -> bool:
        return self.max_rounds is not None and self._rounds >= self.max_rounds

    def _batch(self, most: int | None, waiting: int) -> int:
        """Up to the last look within so many rounds, so that what is found there is what is known.

        Looks that a batch passes over cost few rounds, while it is a small part of them.
        """
        most = max(BATCH, self._rounds // _BATCHES) if most is None else most
        size = self.evidence.up_to_look(most, waiting)
        left = size if self.max_rounds is None else self.max_rounds - self._rounds - waiting
        return min(size, left)

    @property
    def _wanted(self) -> int | None:
        """Rounds up to the next look at the evidence, which wants their answers, or to the end."""
        end = self.evidence.next_look
        return (end if self.max_rounds is None else min(end, self.max_rounds)) - self._rounds

    def _consults(self, exploration: Any) -> npt.NDArray[np.integer] | None:
        """The survivors: whoever is eliminated stays so, and later rounds say nothing of it."""
        if self.policies.looked_up:
            return None
        survivors: npt.NDArray[np.integer] = exploration.survivors
        if exploration is not self.exploration:  # or a later one, which has none but these
            survivors = np.union1d(survivors, self.evidence.survivors)
        return survivors

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        assert isinstance(answers, Slates)
        evidence = self._informed()
        evidence.take(rounds, answers, lambda rows: exploration.propensities(answers.take(rows)))
        looked = evidence.next_look > self.evidence.next_look
        self.evidence = evidence
        if looked:
            answer = self._answer(evidence.at_look)
            if self._ends(answer.certificate()):
                self._ended = answer
            self.exploration = self._explore_next()

    def _informed(self) -> Evidence:
        """A copy of the evidence that has what is known of outcomes."""
        evidence = copy(self.evidence)
        evidence.outcomes = None if self._late is None else self._late.counted
        return evidence

    def _weigh(self) -> None:
        """Take back an end that a policy has brought about which late outcomes bar."""
        self.evidence = self._informed()
        if self._ended is not None:
            barred = self.evidence.certificate().barred
            if barred is not None and self._ended.certificate().leader in barred:
                self._ended = None

    @property
    def _asked_of(self) -> npt.NDArray[np.integer] | None:
        """The survivors."""
        return None if self.policies.looked_up else self.evidence.survivors

    def _explore_next(self) -> NeedExploration:
        """What to play from now on, from everything that the evidence has looked at."""
        standing = self.evidence.standing
        survivors, need = standing.survivors.astype(np.int32), self._needs()
        for array in (survivors, need):
            array.flags.writeable = False  # then it is not copied
        return NeedExploration(
            self.policies,
            self.problem,
            survivors=survivors,
            need=need,
            votes=standing.model.votes,
            mixing=self.mixing,
        )

    @abstractmethod
    def _needs(self) -> Array:
        """How much it matters to see what each survivor would show."""

    def _recommend(self) -> Recommendation:
        """The surviving policy with the largest estimate, and the latest certificate about it."""
        return certificate_recommendation(self._shown(), rounds=self._rounds)

    def _intervals(self) -> ValueIntervals:
        """Estimates and limits that hold at any time; of eliminated policies as they were then."""
        return self._shown().intervals()

    def _shown(self) -> Evidence:
        """All evidence; or that of the look that has ended it, if later rounds prove less.

        Rounds behind that look may have been asked for already. They take back no proof:
        certificates hold at all times at once.
        """
        answer = self._answer(self.evidence)
        if self._ended is None or self._ends(answer.certificate()):
            return answer
        return self._ended
