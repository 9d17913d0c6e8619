"""The paper's Algorithms 2 and 3: low-variance exploration with Hedge."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import (
    Estimates,
    ImplicitEstimates,
    ValueIntervals,
    empirical_bernstein,
    estimates_of,
    rewarded_events,
)
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designing import (
    AnyHedge,
    from_hedge,
    known_log_size,
    rounds_needed,
    start_hedge,
)
from policysieve.exploration.fixed_size import (
    fixed_size_recommendation,
    promise_of_class,
    promise_of_size,
)
from policysieve.exploration.frank_wolfe import FrankWolfe
from policysieve.exploration.ledger import Origin
from policysieve.exploration.mixture import MixedExploration
from policysieve.exploration.slates import uniform_slates
from policysieve.log import Log
from policysieve.planning import plan
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem

__all__ = ["LowVarianceExploration"]


class LowVarianceExploration(Explorer):
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

    Attributes
    ----------
    plan : Plan
        Sizes that guarantee the problem's epsilon and delta.
    design : MixedExploration or None
        What phase 1 found; None until its last reward is in.
    """

    takes_implicit = True

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        explore_rounds: int | None = None,
        estimate_rounds: int | None = None,
        sampled: bool = False,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        if policies.log_size is None and (explore_rounds is None or estimate_rounds is None):
            raise InvalidArgumentError(
                "explore_rounds and estimate_rounds must be given for a class whose size is not "
                "known, or its log_size"
            )
        self.plan = plan(problem, log_n_policies=known_log_size(policies), sampled=sampled)
        self.mixing = self.plan.mixing
        self.learning_rate = self.plan.learning_rate
        self.explore_rounds = (
            self.plan.explore_rounds
            if explore_rounds is None
            else integer("explore_rounds", explore_rounds, low=1)
        )
        self.design: MixedExploration | None = None
        self._estimate_rounds = (
            None if estimate_rounds is None else integer("estimate_rounds", estimate_rounds, low=1)
        )
        self._given = self._estimate_rounds is not None
        if not self._given and problem.sparsity is not None:
            self._estimate_rounds = self.plan.estimate_rounds
        self._hedge: AnyHedge | None = start_hedge(
            policies,
            mixing=self.mixing,
            learning_rate=self.learning_rate,
            horizon=self.explore_rounds,
            rng=self._rng.spawn(1)[0] if sampled else None,
        )
        self._first_designed_batch: int | None = None
        self._explored = estimates_of(policies)
        self._estimated = estimates_of(policies)

    @property
    def estimate_rounds(self) -> int | None:
        """Rounds of phase 2; None while they wait for the variance that phase 1 observes."""
        return self._estimate_rounds

    @property
    def finished(self) -> bool:
        """Whether both phases are done."""
        return self._estimated.rounds == self._estimate_rounds

    @property
    def ask_limit(self) -> int:
        """Rounds of the current phase that are neither done nor under way."""
        if self.design is None:
            left = self.explore_rounds - self._explored.rounds
        else:
            left = (self._estimate_rounds or 0) - self._estimated.rounds
        return max(0, left - self._ledger.unlearnt)

    def recommend(self) -> Recommendation:
        """The policy with the largest estimate; at the end, the one the theorem is about."""
        planned = self.explore_rounds + (self._estimate_rounds or self.plan.estimate_rounds)
        return fixed_size_recommendation(
            self.intervals(),
            self.problem,
            rounds=self.rounds,
            planned=planned,
            complete=self.finished,
            promise=self._contradiction()
            or promise_of_class(self.policies, self.problem)
            or promise_of_size(
                self.problem,
                planned=planned,
                sufficient=self.plan.total_rounds,
                guaranteed=self._guaranteed,
            ),
        )

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, from the phase whose leader is known more precisely.

        Limits hold at the end of phase 2, which is then the phase they come from.
        """
        q = self.problem
        if self.design is None:
            return self._bounded(self._explored, q.n_actions * q.reward_cap / q.slate_size)
        estimated = self._bounded(self._estimated, self.design.largest_gain)
        if self.finished:
            return estimated
        explored = self._bounded(self._explored, q.n_actions * q.reward_cap / q.slate_size)
        return min(estimated, explored, key=_width)

    def _bounded(self, estimates: Estimates | ImplicitEstimates, largest: float) -> ValueIntervals:
        return empirical_bernstein(
            estimates,
            reward_cap=self.problem.reward_cap,
            largest=largest,
            delta=self.problem.delta,
        )

    @property
    def _draws_per_round(self) -> int:
        return self.problem.slate_size + 2

    def _choose(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        uniforms = self._uniforms(len(contexts))
        if self.design is not None:
            return self.design.choose(contexts, uniforms)
        slates = uniform_slates(uniforms[:, 2:], self.problem.n_actions)
        return slates, np.full(slates.shape, self.problem.slate_size / self.problem.n_actions)

    def _learn(self, rounds: Log, origin: Origin) -> None:
        first = self._first_designed_batch
        uniform = len(rounds) if first is None else int(np.searchsorted(origin.batches, first))
        missing = self.explore_rounds - self._explored.rounds
        explored = rewarded_events(rounds[: min(uniform, missing)], self.policies)
        missing = (self._estimate_rounds or 0) - self._estimated.rounds
        estimated = rewarded_events(rounds[uniform : uniform + missing], self.policies)
        if self._hedge is not None:
            self._explore(self._hedge, explored)
        self._explored.add(explored)
        self._estimated.add(estimated)

    def _explore(self, hedge: AnyHedge, explored: Any) -> None:
        last = self._explored.rounds + explored.n_rounds == self.explore_rounds
        if last and isinstance(hedge, FrankWolfe):
            hedge = hedge.copy()  # its fits may fail, and then nothing has changed
        hedge.add(explored)
        if last:
            self._finish_phase_one(hedge)

    def _finish_phase_one(self, hedge: AnyHedge) -> None:
        largest = self.problem.reward_cap * self.problem.n_actions
        largest /= self.mixing * self.problem.slate_size
        self.design = from_hedge(
            hedge,
            self.policies,
            self.problem,
            largest=largest,
            expected=self.plan.variance_bound,
            rng=self._rng,
        )
        self._hedge = None  # its state is as large as the class
        self._first_designed_batch = self._ledger.batches_issued
        if self._estimate_rounds is None:
            self._estimate_rounds = rounds_needed(self.design, self.policies)

    @property
    def _guaranteed(self) -> bool:
        """Whether the phases are large enough for epsilon and delta to hold in advance."""
        if self._given:
            known = self.problem.sparsity is not None
            return (
                known
                and self.explore_rounds >= self.plan.explore_rounds
                and (self._estimate_rounds or 0) >= self.plan.estimate_rounds
            )
        return self.problem.sparsity is None or self.explore_rounds >= self.plan.explore_rounds


def _width(intervals: ValueIntervals) -> float:
    leader = intervals.leader
    return float(intervals.upper[leader] - intervals.lower[leader])
