"""What evidence says when it is asked: certificates, limits and comparisons."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.certificate import Certificate, Proof
from policysieve.evidence.comparing import (
    Comparison,
    capped_difference,
    chosen_among,
    compared,
    gain_over,
    times_to_gain,
)
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.guardrails import Guards
from policysieve.evidence.incumbents import Incumbent
from policysieve.evidence.outcomes import Outcomes
from policysieve.evidence.past import Past
from policysieve.evidence.retrospect import Retrospect, proof_in_retrospect
from policysieve.evidence.standing import Standing
from policysieve.evidence.values import policy_interval, policy_intervals
from policysieve.evidence.verdicts import Guardrail
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Proving"]


class Proving(ABC):
    """What can be asked of evidence on capped scores. Questions change nothing.

    A subclass takes rounds in, and says by `_now` how things stand after them.

    Attributes
    ----------
    policies : Policies
    problem : Problem
    rounds : int
        Rounds taken in.
    standing : Standing
        When it last looked.
    outcomes : Outcomes or None
        Of these rounds, or of more if somebody gives them.
    """

    policies: Policies
    problem: Problem
    rounds: int
    standing: Standing
    outcomes: Outcomes | None
    _guards: Guards | None
    _past: Past
    _retrospect: Retrospect
    _incumbent: Incumbent | None

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that were not eliminated when it last looked."""
        return self.standing.survivors

    @abstractmethod
    def _now(self, own: bool = False) -> tuple[Standing, Incumbent | None, Guards | None]:
        """How things stand after all rounds, as a look would find them.

        If it is the caller's `own`, the standing before is used up.
        """

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        standing, incumbent, guards = self._now()
        q, past, policies, leader = self.problem.unit, self._past, self.policies, standing.leader
        if incumbent is None:
            certified = self._holds_in_retrospect(standing)
            threshold = standing.cohorts.log_retrospect(leader)
        else:
            proof = incumbent.proof(policies)
            certified, threshold = proof.holds(q.epsilon), proof.log_threshold
        certified = certified or q.epsilon >= q.reward_cap
        low, high = (0.0, min(q.epsilon, q.reward_cap)) if certified else (q.epsilon, q.reward_cap)

        def find_bound() -> float:
            if incumbent is not None:
                return incumbent.smallest_epsilon(policies)
            return self._proof_in_retrospect(past, standing).smallest_epsilon(low, high)

        against = policies.against(q)
        least = self._least_difference(standing)
        eliminated = np.ones(self.policies.n_policies, dtype=np.bool_)
        eliminated[standing.survivors] = False
        return Certificate(
            leader=leader,
            certified=certified,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=threshold,
            method="capped",
            find_bound=find_bound,
            name=None if policies.names is None else policies.names[leader],
            against=None if against is None else policies.name_of(against),
            find_gain=partial(
                gain_over, policies, q, leader, least, standing.cohorts.leaders(leader)
            ),
            barred=None if guards is None else guards.out,
            cleared=guards is None or guards.clears(standing.leader, policies.n_policies),
        ).in_units(self.problem.scale)

    def proof(self) -> Proof:
        """The bets behind the certificate: those on the leader against each rival.

        Their epsilons are those of rewards in [0, 1].
        """
        standing, incumbent, _ = self._now()
        if incumbent is not None:
            return incumbent.proof(self.policies)
        return self._proof_in_retrospect(self._past, standing)

    def _holds_in_retrospect(self, standing: Standing) -> bool:
        """Whether all rounds prove the problem's epsilon of the leader of a standing."""
        return self._retrospect.after(self._past, standing, self.policies).holds

    def _proof_in_retrospect(self, past: Past, standing: Standing) -> Proof:
        """The bets on the leader of a standing in all rounds."""
        return proof_in_retrospect(past, standing, self.policies)

    def _least_difference(self, standing: Standing) -> Callable[[int, int, float], float]:
        """How lower limits on differences are found, from two policies and a level."""
        return partial(capped_difference, standing, self._past, self.survivors)

    def times_to_proof(self) -> float | None:
        """How many times the rounds so far it takes to certify the leader at the problem's epsilon.

        If bets go on as they did; a forecast, and nothing that is guaranteed. None if it takes more
        than a hundred times, or if rounds were forgotten.
        """
        standing, incumbent, _ = self._now()
        if incumbent is not None:
            return None
        return self._retrospect.times_to_proof(self._past, standing, self.policies)

    def times_to_gain(self) -> float | None:
        """The same to prove that the leader is better than the policy that runs today.

        None, too, if that one leads, or the problem names none.
        """
        standing, incumbent, _ = self._now()
        today = self.policies.against(self.problem)
        if incumbent is not None or today is None or today == standing.leader:
            return None
        return times_to_gain(standing, self._past, standing.leader, today)

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Those of eliminated policies are as they were then.
        """
        found = policy_intervals(self._now()[0], self._past)
        return replace(found, names=self.policies.names).in_units(self.problem.scale)

    def interval(self, policy: int | str) -> tuple[float, float, float]:
        """Estimate and limits of one policy, by number or name; the data may have chosen it.

        Those that `intervals` has for the survivors of the largest estimates.
        """
        number, scale = self.policies.number_of(policy), self.problem.scale
        value, lower, upper = policy_interval(self._now()[0], self._past, number)
        return scale.value(value), *scale.limits(lower, upper)

    def compare(
        self, first: int | str, second: int | str, *, named_beforehand: bool = False
    ) -> Comparison:
        """How much better one policy is than another, both by number or name, at any time.

        By bets on the difference, if both are in the race and no rounds were forgotten. Of an
        eliminated policy later rounds say nothing, so it is compared by limits on the two values,
        which are much wider (docs/maths.md, "Differences"); `keep` those that you will ask about.

        Parameters
        ----------
        first, second : int or str
        named_beforehand : bool
            Whether this pair was chosen before the rounds were seen, and is the only one: then the
            interval is narrower. By default all pairs hold at once, so the data may have chosen.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, or both are the same.
        """
        return self.compare_among(first, second, chosen_among(self.policies, named_beforehand))

    def compare_among(self, first: int | str, second: int | str, among: int) -> Comparison:
        """`compare` for a pair that the data may have chosen among so many policies."""
        standing = self._now()[0]
        cohorts, pairs = standing.cohorts, None
        if cohorts.additions and among > 2:
            numbers = (self.policies.number_of(policy) for policy in (first, second))
            pairs = cohorts.pairs(*numbers)
        return compared(
            self.policies,
            self.problem,
            first,
            second,
            estimate_of=lambda policy: standing.of_one(policy)[0],
            least=self._least_difference(standing),
            rounds=self.rounds,
            among=among,
            when="whenever you look",
            pairs=pairs,
        )

    def guardrails(self) -> tuple[Guardrail, ...]:
        """What is proved of the leader and each guardrail, whenever you look.

        Empty if there are none, or no outcome was told.
        """
        standing, _, guards = self._now()
        if guards is None or self.outcomes is None:
            return ()
        return guards.about(standing.leader, self._past, self.rounds, self.outcomes)

    def now(self) -> Self:
        """The same with all rounds looked at, for several questions."""
        then = copy(self)
        then.standing, then._incumbent, then._guards = self._now()
        return then

    def led_by(self, policy: int | str) -> Self:
        """The same with all rounds looked at, as if a survivor led them.

        Certificates in retrospect hold for every leader at once, so this one may be chosen, too. If
        rounds were forgotten there are none, and the leader stays who it is.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, or it was eliminated.
        """
        policy, then = self.policies.number_of(policy), self.now()
        if policy not in then.survivors:
            raise InvalidArgumentError(
                f"policy must be in the race to be said to lead, got {policy}, which was "
                "eliminated; keep it when the evidence is made"
            )
        if then._incumbent is None:
            then.standing = replace(then.standing, leader=policy)
        return then
