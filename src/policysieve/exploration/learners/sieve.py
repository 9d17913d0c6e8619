"""The Sieve: one loop that explores, eliminates, certifies and stops."""

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Certificate, Evidence
from policysieve.evidence.evidence import MEMORY_LIMIT
from policysieve.evidence.voting import LEAST_WEIGHT
from policysieve.exploration.forecast import Forecast, no_forecast, planned_forecast
from policysieve.exploration.learners.sifting import SiftingExplorer
from policysieve.policies import Policies, VotePolicies
from policysieve.problem import Problem, check_problem

__all__ = ["Sieve"]

Goal = Literal["certify", "best", "beat"]

_MIXING: dict[str, float] = {"certify": 0.75, "best": 0.5, "beat": 0.75}


class Sieve(SiftingExplorer):
    """Show what close rivals need and what good ones would show; let go of what is not the best.

    The exploration stays fixed until the evidence looks at itself. With some probability, the
    mixing, it shows an action that a surviving policy would show at the context, by need: the
    closer a policy seems to the leader, the more often what it would show. Else it follows a
    survivor drawn by vote: the better it seems, the more often. Then policies are eliminated, and
    needs and votes are made anew from estimates and their errors (docs/maths.md, "The Sieve").
    Exploration is always fixed before the contexts it is used on, so certificates are valid at any
    time.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    goal : {"certify", "best", "beat"}
        Fewest rounds to a certificate, or the best policy for a given number of rounds. Without
        `rounds`, a Sieve for the best never stops by itself. To beat the policy that runs today,
        the problem's `against`: it stops when another one is proved to be better, and recommends
        that, or when none is proved to be better by more than epsilon, and recommends to stay.
    rounds : int, optional
        Rounds after which to stop, certified or not.
    mixing : float, optional
        Share of exploration by need. By default 0.75 to certify or to beat, and 0.5 for the best.
    memory_limit : int
        Bytes of rounds that the evidence may keep. Beyond, a leader is certified by the rounds
        since it leads, which takes more of them.
    additions : int
        How often candidates may join while it runs, by `add`. Delta is split for so many times,
        whether or not it comes to that (docs/new-candidates.md).
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        goal: Goal = "certify",
        rounds: int | None = None,
        mixing: float | None = None,
        memory_limit: int = MEMORY_LIMIT,
        additions: int = 0,
        rng: Any = None,
    ) -> None:
        one_of("goal", goal, get_args(Goal))
        check_problem(problem)
        if goal == "beat" and problem.against is None:
            raise InvalidArgumentError(
                'goal="beat" needs the policy that runs today: give its name or number as '
                "Problem(against=...)"
            )
        self.goal = goal
        share = _MIXING[goal] if mixing is None else mixing
        super().__init__(
            policies,
            problem,
            rounds=rounds,
            mixing=number("mixing", share, above=0, below=1, closed=True),
            memory_limit=memory_limit,
            additions=additions,
            rng=rng,
        )

    def vote(self) -> VotePolicies:
        """The vote of the policies that are left, weighted by how good each seems now.

        Where a vote may be deployed, this one is good early, and nothing is proved about it: its
        weights come from all rounds so far. Only later ones may judge it, which is what
        ``learner.add(learner.vote())`` does (docs/votes.md).

        Returns
        -------
        VotePolicies
            One vote. Who would count less than a thousandth of the best is left out.
        """
        now = self._snapshot()
        played = now.exploration
        weights = np.zeros(now.policies.n_policies)
        weights[played.survivors] = np.where(
            played.votes >= LEAST_WEIGHT * played.votes.max(), played.votes, 0.0
        )
        names = None
        if now.policies.names is not None:
            names = [f"vote of {np.count_nonzero(weights):,} after {now.rounds:,} rounds"]
        return VotePolicies(now.policies, weights, fitted_on=now.rounds, names=names)

    @property
    def _to_beat(self) -> int | None:
        """The policy that is to be beaten, if that is the goal."""
        today: int | None = self.policies.against(self.problem) if self.goal == "beat" else None
        return today

    def _proves(self, certificate: Certificate) -> bool:
        """Whether it proves epsilon, or who is to be beaten is or cannot be; never for the best."""
        if self.goal == "beat":
            stays = certificate.certified and certificate.leader == self._to_beat
            return stays or (certificate.gain or 0.0) > 0
        return self.goal == "certify" and certificate.certified

    def _answer(self, evidence: Evidence) -> Evidence:
        """Led by the policy that runs today if none is proved better, nor could be by epsilon."""
        if self._to_beat is None or self._proves(evidence.certificate()):
            return evidence
        stay = evidence.led_by(self._to_beat)
        return stay if self._proves(stay.certificate()) else evidence

    def _forecast(self) -> Forecast:
        """A forecast of the proof, or of the rounds that are left if the goal is the best."""
        if self.goal != "best":
            return super()._forecast()
        if self.max_rounds is None:
            endless = (
                'a Sieve for the best never stops by itself; give it rounds, or goal="certify".'
            )
            return no_forecast(endless, rounds=self.evidence.rounds)
        rounds = self.evidence.rounds
        return planned_forecast(max(self.max_rounds - rounds, 0), rounds=rounds)

    def _times_to_proof(self, evidence: Evidence) -> float | None:
        """Until epsilon is proved, or whichever comes first: that another is better, or none."""
        if self._to_beat is None:
            return evidence.times_to_proof()
        both = (evidence.times_to_gain(), evidence.led_by(self._to_beat).times_to_proof())
        return min((times for times in both if times is not None), default=None)

    def _needs(self) -> npt.NDArray[np.float64]:
        """The survivors' eps/(eps + gap): about 1/W/(eps + gap) rounds are needed for each.

        The gap to the leader is taken to be a standard error smaller than its estimate. The policy
        that is to be beaten, or that guardrails compare with, has the leader's need.
        """
        standing, epsilon = self.evidence.standing, self.problem.unit.epsilon
        need = standing.gaps
        need -= standing.errors
        np.maximum(need, 0.0, out=need)
        need += epsilon
        np.divide(epsilon, need, out=need)
        if self._to_beat is not None or self.problem.guardrails is not None:
            today = self.policies.against(self.problem)
            need[standing.survivors.searchsorted(today)] = 1.0
        return need
