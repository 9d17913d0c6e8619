"""Uniform exploration: the baseline that needs no assumption and no cleverness."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import (
    ValueIntervals,
    empirical_bernstein,
    estimates_of,
    rewarded_events,
)
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designing import known_log_size
from policysieve.exploration.fixed_size import (
    fixed_size_recommendation,
    promise_of_class,
    promise_of_size,
)
from policysieve.exploration.ledger import Origin
from policysieve.exploration.slates import uniform_slates
from policysieve.log import Log
from policysieve.planning import uniform_rounds
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem

__all__ = ["Uniform"]


class Uniform(Explorer):
    """Show uniformly random slates, then take the policy with the best estimate.

    Every item is shown with propensity m/K, so an estimate can be as large as K mu / m and about
    (K/eps^2) ln|Pi| rounds are needed (docs/maths.md, "Explicit sizes"). Rounds beyond the planned
    ones are logged but change nothing any more, so that what was proved stays proved.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; a class without end may be given too.
    rounds : int, optional
        Rounds to play. By default as many as guarantee the problem's epsilon and delta.
    """

    takes_implicit = True

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        rounds: int | None = None,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        if policies.log_size is None and rounds is None:
            raise InvalidArgumentError(
                "rounds must be given for a class whose size is not known, or its log_size"
            )
        self.needed_rounds = uniform_rounds(problem, known_log_size(policies))
        self.planned_rounds = (
            self.needed_rounds if rounds is None else integer("rounds", rounds, low=1)
        )
        self._estimates = estimates_of(policies)

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done."""
        return self.rounds >= self.planned_rounds

    @property
    def ask_limit(self) -> int:
        """Planned rounds that are neither done nor under way."""
        return max(0, self.planned_rounds - self.rounds - self._ledger.unlearnt)

    def recommend(self) -> Recommendation:
        """The policy with the largest importance-weighted estimate."""
        return fixed_size_recommendation(
            self.intervals(),
            self.problem,
            rounds=self.rounds,
            planned=self.planned_rounds,
            complete=self.finished,
            promise=promise_of_class(self.policies, self.problem)
            or promise_of_size(
                self.problem,
                planned=self.planned_rounds,
                sufficient=self.needed_rounds,
                guaranteed=self.planned_rounds >= self.needed_rounds,
            ),
        )

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies with limits that hold at the planned number of rounds."""
        return empirical_bernstein(
            self._estimates,
            reward_cap=self.problem.reward_cap,
            largest=self.problem.n_actions * self.problem.reward_cap / self.problem.slate_size,
            delta=self.problem.delta,
        )

    @property
    def _draws_per_round(self) -> int:
        return self.problem.slate_size

    def _choose(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        slates = uniform_slates(self._uniforms(len(contexts)), self.problem.n_actions)
        share = self.problem.slate_size / self.problem.n_actions
        return slates, np.full(slates.shape, share)

    def _learn(self, rounds: Log, origin: Origin) -> None:
        wanted = rounds[: self.planned_rounds - self._estimates.rounds]
        self._estimates.add(rewarded_events(wanted, self.policies))
