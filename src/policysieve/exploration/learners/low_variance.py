"""The paper's Algorithms 2 and 3: low-variance exploration with Hedge."""

from copy import deepcopy
from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Estimates, Events, ImplicitEstimates, ValueIntervals, estimates_of
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.designing import (
    AnyHedge,
    found_by,
    known_log_size,
    rounds_needed,
    start_hedge,
)
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.exploration.learners.promises import (
    fixed_size_recommendation,
    promise_of_class,
    promise_of_size,
)
from policysieve.exploration.learners.two_phase import Stop, TwoPhaseExplorer
from policysieve.planning import plan
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem

__all__ = ["LowVarianceExploration"]


class LowVarianceExploration(TwoPhaseExplorer):
    """Explore uniformly to find a design of low variance, then estimate every policy with it.

    Phase 1 shows uniform slates for `explore_rounds` rounds, while Hedge looks for a distribution
    p_hat over policies under which no policy is estimated with a large variance. Phase 2 shows, for
    `estimate_rounds` rounds, a uniform slate with probability `mixing` and otherwise the slate of a
    policy drawn from p_hat. The policy with the largest importance-weighted estimate of phase 2 is
    within epsilon of the best with probability 1 - delta, after about (s/eps^2 + K/eps) ln|Pi|
    rounds (docs/maths.md, "Low-variance exploration"). One algorithm for all slate sizes.

    Phase 1 does not depend on the rewards, so they may come as late as they like; rounds asked for
    between the end of phase 1 and its last reward are uniform and count in neither phase. Rounds
    after the planned ones are logged but change nothing any more.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; a class without end may be given too, for single actions. With
        ``problem.sparsity=None`` phase 2 is sized at the end of phase 1,
        from the variance that was observed.
    explore_rounds, estimate_rounds : int, optional
        Sizes of the phases. By default those of `plan`, which guarantee epsilon and delta.
    sampled : bool
        Draw one policy in each round of phase 1, as in the paper, instead of averaging over the
        draw, which is never worse.
    stop : {"planned", "certified"}
        End after the planned rounds, or as soon as the rounds of both phases certify epsilon, a
        certificate that holds whenever you look; the guarantee of the planned sizes, which is
        another event, does not count then. Every round then takes time in
        proportion to the class, not only a rewarded one, and at least two policies are needed.

    Attributes
    ----------
    plan : Plan
        Sizes that guarantee the problem's epsilon and delta.
    design : MixedExploration or None
        What phase 1 found; None until its last reward is in.
    """

    takes_implicit = True
    takes_traffic = False

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        explore_rounds: int | None = None,
        estimate_rounds: int | None = None,
        sampled: bool = False,
        stop: Stop = "planned",
        rng: Any = None,
    ) -> None:
        self._check_problem(policies, problem)
        if policies.log_size is None and (explore_rounds is None or estimate_rounds is None):
            raise InvalidArgumentError(
                "explore_rounds and estimate_rounds must be given for a class whose size is not "
                "known, or its log_size"
            )
        self.plan = plan(problem, log_n_policies=known_log_size(policies), sampled=sampled)
        super().__init__(
            policies,
            problem,
            sizes=self.plan,
            explore_rounds=explore_rounds,
            estimate_rounds=estimate_rounds,
            stop=stop,
            rng=rng,
        )
        self.mixing = self.plan.mixing
        self.learning_rate = self.plan.learning_rate
        self._given = estimate_rounds is not None
        if not self._given and problem.sparsity is None:
            self.estimate_rounds = None  # until phase 1 has observed the variance
        self._draws = self._rng.spawn(1)[0] if sampled else None
        self._start_hedge()  # raises for a class that cannot be drawn from
        self._explored = estimates_of(policies)
        self._designed = estimates_of(policies)

    def _count(self, events: Events, exploration: Any, *, phase: int) -> None:
        if phase == 1:
            self._explored = self._explored.plus(events)
        elif phase == 2:
            self._designed = self._designed.plus(events)

    def _start_hedge(self) -> AnyHedge:
        return start_hedge(
            self.policies,
            self.problem,
            mixing=self.mixing,
            learning_rate=self.learning_rate,
            horizon=self.explore_rounds,
            rng=deepcopy(self._draws),
        )

    def _find_design(self, events: Events) -> MixedExploration:
        hedge = self._start_hedge()
        hedge.add(events)
        largest = self.problem.unit.reward_cap * self.problem.n_actions
        largest /= self.mixing * self.problem.slate_size
        design = found_by(
            hedge,
            self.policies,
            self.problem,
            largest=largest,
            expected=self.plan.variance_bound,
        )
        if self.estimate_rounds is None:
            self.estimate_rounds = rounds_needed(design, self.policies)
        return design

    def _planned_recommendation(self) -> Recommendation:
        """The policy with the largest estimate; at the end, the one the theorem is about."""
        planned = self.explore_rounds + (self.estimate_rounds or self.plan.estimate_rounds)
        contradiction = self._contradiction()
        return fixed_size_recommendation(
            self._planned_intervals(),
            self.problem,
            rounds=self._rounds,
            planned=planned,
            complete=self._finished,
            promise=contradiction
            or promise_of_class(self.policies, self.problem)
            or promise_of_size(
                self.problem,
                planned=planned,
                sufficient=self.plan.total_rounds,
                guaranteed=self._guaranteed,
            ),
            against=None if contradiction else self.policies.against(self.problem),
        )

    @property
    def _limits_hold(self) -> bool:
        known = promise_of_class(self.policies, self.problem) is None
        planned = self._finished and known and self._contradiction() is None
        return self.evidence is not None or planned

    def _planned_intervals(self) -> ValueIntervals:
        """Estimates of all policies, from the phase whose leader is known more precisely.

        Limits hold at the end of phase 2, which is then the phase they come from.
        """
        q = self.problem.unit
        uniform = q.n_actions * q.reward_cap / q.slate_size
        if not self._designed.rounds:
            return self._bounded(self._explored, uniform)
        estimated = self._bounded(self._designed, self.design.largest_gain)
        if self._finished:
            return estimated
        return min(estimated, self._bounded(self._explored, uniform), key=_width)

    def _bounded(self, estimates: Estimates | ImplicitEstimates, largest: float) -> ValueIntervals:
        return estimates.fixed_size_intervals(
            reward_cap=self.problem.unit.reward_cap, largest=largest, delta=self.problem.delta
        )

    @property
    def _guaranteed(self) -> bool:
        """Whether the phases are large enough for epsilon and delta to hold in advance."""
        if self._given:
            known = self.problem.sparsity is not None
            return (
                known
                and self.explore_rounds >= self.plan.explore_rounds
                and (self.estimate_rounds or 0) >= self.plan.estimate_rounds
            )
        return self.problem.sparsity is None or self.explore_rounds >= self.plan.explore_rounds


def _width(intervals: ValueIntervals) -> float:
    leader = intervals.leader
    return float(intervals.upper[leader] - intervals.lower[leader])
