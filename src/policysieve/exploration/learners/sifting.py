"""Learners that let go of policies on the way: epochs, looks at the evidence, elimination."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.evidence import Certificate, Evidence, ValueIntervals
from policysieve.evidence.kinds import capped_evidence
from policysieve.evidence.verdicts import open_in_words
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.forecast import (
    Forecast,
    forecast_of_proof,
    no_forecast,
    planned_forecast,
)
from policysieve.exploration.learners.joining import Joining
from policysieve.exploration.learners.promises import certificate_recommendation
from policysieve.exploration.learners.renewing import RenewingExplorer
from policysieve.exploration.looking import BATCH
from policysieve.log import Log
from policysieve.policies import Answers, Policies
from policysieve.problem import Problem

__all__ = ["SiftingExplorer"]

Array = npt.NDArray[np.float64]

_BATCHES = 10  # a batch may be this part of the rounds so far


class SiftingExplorer(RenewingExplorer):
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
    additions : int
        How often candidates may join, by `add`.
    """

    takes_guardrails = True
    splits_freely = True  # the evidence looks at rounds of its own choice

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None,
        mixing: float,
        memory_limit: int,
        additions: int,
        rng: Any,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        self.max_rounds = None if rounds is None else integer("rounds", rounds, low=1)
        self.mixing = mixing
        self.additions = additions
        self.memory_limit = memory_limit
        self._begin_evidence(issued=0)

    def _begin_evidence(self, *, issued: int) -> None:
        """Begin with what is decided from now on; so many rounds were issued before."""
        self.evidence = self._learnt = capped_evidence(
            self.policies,
            self.problem,
            memory_limit=self.memory_limit,
            additions=self.additions,
        )
        self._begin_period(issued=issued)
        self._ended: Evidence | None = None  # at the latest look that proved what is asked for
        self.exploration = self._explore_next()

    def _let_in(self, joining: Joining) -> None:
        self._ended = None  # what was proved was about the others
        super()._let_in(joining)

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
        return self._proves(certificate) and bool(certificate.cleared)

    def _answer(self, evidence: Evidence) -> Evidence:
        """The evidence, led by the policy to recommend."""
        return evidence

    @property
    def _used_up(self) -> bool:
        return self.max_rounds is not None and self.evidence.rounds >= self.max_rounds

    @property
    def _late_rounds(self) -> int:
        """Rounds that wait for answers and will not count."""
        return max(0, self._begun - self._frontier.learnt)

    def _batch(self, most: int | None, waiting: int) -> int:
        """Up to the last look within so many rounds, so that what is found there is what is known.

        Looks that a batch passes over cost few rounds, while it is a small part of them.
        """
        waiting = max(0, waiting - self._late_rounds)
        most = max(BATCH, self.evidence.rounds // _BATCHES) if most is None else most
        size = self.evidence.up_to_look(most, waiting)
        left = size if self.max_rounds is None else self.max_rounds - self.evidence.rounds - waiting
        return min(size, left)

    @property
    def _wanted(self) -> int | None:
        """Rounds up to the next look at the evidence, which wants their answers, or to the end."""
        wanted = self.evidence.next_look - self.evidence.rounds
        if self.max_rounds is not None:
            wanted = min(wanted, self.max_rounds - self.evidence.rounds)
        return wanted + self._late_rounds

    def _consults(self, exploration: Any) -> npt.NDArray[np.integer] | None:
        """The survivors: whoever is eliminated stays so, and later rounds say nothing of it."""
        if self.policies.looked_up:
            return None
        survivors: npt.NDArray[np.integer] = exploration.survivors
        if exploration is not self.exploration:  # or a later one, which has none but these
            left = self.evidence.survivors
            left = left[left < self._class_of(exploration).n_policies]
            survivors = np.union1d(survivors, left)
        return survivors

    def _answers_at(self, contexts: Any, exploration: Any, available: Any) -> Answers:
        """What the survivors say, which may be kept with the evidence."""
        if self.policies.holders is None or not isinstance(exploration, NeedExploration):
            return super()._answers_at(contexts, exploration, available)
        # What will be drawn, unless another thread asks meanwhile: then it is fetched again.
        uniforms = deepcopy(self._rng).random((len(contexts), exploration.draws_per_round))
        found = self.evidence.answers_at(contexts, exploration, available, uniforms)
        return super()._answers_at(contexts, exploration, available) if found is None else found

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        before, waiting = self._learnt, self._waiting
        while waiting and waiting[0].period <= exploration.period:
            before, self._learnt_period = waiting[0].joined(before), waiting[0].period
            waiting = waiting[1:]
        evidence = self._informed(before)
        evidence.take(rounds, answers, lambda rows: exploration.propensities(answers.take(rows)))
        looked = evidence.next_look > before.next_look or before is not self._learnt
        self._learnt = self.evidence = evidence
        self._waiting = tuple(joining.after(rounds) for joining in waiting)
        for joining in self._waiting:
            self.evidence = joining.joined(self.evidence)
        if looked:
            self._look()

    def _look(self) -> None:
        """End if the evidence has proved what is asked for, and explore anew."""
        answer = self._answer(self.evidence.at_look)
        if self._ends(answer.certificate()):
            self._ended = answer
        self.exploration = self._explore_next()

    def _informed(self, evidence: Evidence) -> Evidence:
        """A copy of evidence that has what is known of outcomes."""
        informed = copy(evidence)
        informed.outcomes = None if self._late is None else self._late.counted
        return informed

    def _weigh(self) -> None:
        """End if late outcomes prove what was missing; take an end back if they bar who won."""
        before = self.evidence.outcomes
        self.evidence = self._learnt = self._informed(self.evidence)
        guarded, now = self.problem.guardrails or {}, self.evidence.outcomes
        if before is not None and now is not None:
            counts = [(len(before.known(name)), len(now.known(name))) for name in guarded]
            if all(then == more for then, more in counts):
                return  # nothing new is known
        if self._ended is not None:
            barred = self.evidence.certificate().barred
            if barred is not None and self._ended.certificate().leader in barred:
                self._ended = None
        if self._ended is None and guarded:
            answer = self._answer(self.evidence)
            if self._ends(answer.certificate()):
                self._ended = answer

    def _places_for(self, policies: Sequence[int] | None) -> npt.NDArray[np.int64]:
        """Places of the rounds since all of them had joined."""
        cohorts = self.evidence.standing.cohorts
        shown = np.arange(cohorts.n_policies) if policies is None else np.array(policies)
        return self._counted_places[int(cohorts.since(shown).max()) :]

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
            period=self._period,
        )

    @abstractmethod
    def _needs(self) -> Array:
        """How much it matters to see what each survivor would show."""

    def _recommend(self) -> Recommendation:
        """The surviving policy with the largest estimate, and the latest certificate about it."""
        found = certificate_recommendation(self._shown(), rounds=self.evidence.rounds)
        if not self._since or not found.rounds:
            return found
        counts = f"That counts rounds from {self._since:,} on."
        return replace(found, guarantee=f"{found.guarantee} {counts}")

    def _forecast(self) -> Forecast:
        """A forecast of the proof, from how the evidence has grown so far."""
        rounds, evidence = self.evidence.rounds, self.evidence
        if self._finished:
            return planned_forecast(0, rounds=rounds)
        if evidence.forgets:
            forgot = "early rounds were forgotten, for which the memory limit is too small."
            return no_forecast(forgot, rounds=rounds, limit=self.max_rounds)
        evidence = evidence.now()
        if self.problem.guardrails is not None:
            answer = self._answer(evidence)
            if not answer.certificate().cleared:
                return no_forecast(self._unproved(answer), rounds=rounds, limit=self.max_rounds)
        return forecast_of_proof(
            self._times_to_proof(evidence),
            rounds=rounds,
            next_look=evidence.next_look,
            limit=self.max_rounds,
        )

    def _unproved(self, evidence: Evidence) -> str:
        """What guardrails wait for, in words."""
        names = ", ".join(self.problem.guardrails or {})
        waits = open_in_words(evidence.guardrails(), self.open_outcomes if self._late else {})
        found = waits or f"nothing is known yet of {names}."
        return f"{found[0].lower()}{found[1:]} How long that takes is not known."

    def _times_to_proof(self, evidence: Evidence) -> float | None:
        """How many times the rounds so far it takes to prove what is asked for, if known."""
        return evidence.times_to_proof()

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
