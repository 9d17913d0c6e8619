"""Learners in two phases: uniform rounds find a design, the design estimates every policy."""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number
from policysieve.evidence import Events, ValueIntervals, rewarded_events
from policysieve.evidence.classical import value_intervals
from policysieve.evidence.record import Block, Record, merge_blocks
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.fixed_size import fixed_size_recommendation
from policysieve.exploration.ledger import Origin
from policysieve.exploration.mixture import MixedExploration
from policysieve.exploration.slates import uniform_slates
from policysieve.log import Log
from policysieve.planning import plan
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["TwoPhaseExplorer"]


class TwoPhaseExplorer(Explorer):
    """Show uniform slates, make a design of what was rewarded, then explore with the design.

    All rounds count in the estimates, each with the propensity that it was played with: m/K for a
    uniform one, which is worth less than a designed one and weighs less (docs/maths.md, "Two
    phases"). Rounds asked for between the end of phase 1 and its last reward are uniform; they do
    not enter the design. Rounds after the planned ones are logged but change nothing any more.

    A subclass implements `_find_design` and `_expected_variance`. Its parameters `explore_rounds`
    and `estimate_rounds` (the sizes of the phases) and `mixing` (the share of uniform exploration
    in phase 2) are by default those of `plan`, which guarantee epsilon and delta for
    LowVarianceExploration.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        explore_rounds: int | None,
        estimate_rounds: int | None,
        mixing: float | None,
        rng: Any,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        sizes = plan(problem, policies.n_policies)
        self.explore_rounds = (
            sizes.explore_rounds
            if explore_rounds is None
            else integer("explore_rounds", explore_rounds, low=1)
        )
        self.estimate_rounds = (
            sizes.estimate_rounds
            if estimate_rounds is None
            else integer("estimate_rounds", estimate_rounds, low=1)
        )
        self.mixing = sizes.mixing if mixing is None else number("mixing", mixing, above=0, below=1)
        self.design: MixedExploration | None = None
        self._first_designed_batch: int | None = None
        self._record = Record(policies, problem)
        self._estimated = 0

    @property
    def finished(self) -> bool:
        """Whether both phases are done."""
        return self._estimated == self.estimate_rounds

    @property
    def ask_limit(self) -> int:
        """Rounds of the current phase that are neither done nor under way."""
        if self.design is None:
            left = self.explore_rounds - self._record.rounds
        else:
            left = self.estimate_rounds - self._estimated
        return max(0, left - self._ledger.unlearnt)

    def recommend(self) -> Recommendation:
        """The policy with the largest importance-weighted estimate."""
        return fixed_size_recommendation(
            self.intervals(),
            self.problem,
            rounds=self.rounds,
            planned=self.explore_rounds + self.estimate_rounds,
            complete=True,  # these limits hold at any time
            promise=f"All intervals hold with probability at least {1 - self.problem.delta:g}; "
            "these sizes of the phases guarantee no epsilon in advance.",
        )

    def intervals(self) -> ValueIntervals:
        """Importance-weighted estimates with limits that hold at any time.

        (docs/maths.md, "Intervals at any time".)
        """
        return value_intervals(self._record, self.problem.delta)

    @abstractmethod
    def _find_design(self, events: Events) -> MixedExploration:
        """What phase 2 plays, from the rewarded rounds among the `explore_rounds` of phase 1.

        Called once, or again with the same events if a policy failed; it changes nothing.
        """

    @property
    @abstractmethod
    def _expected_variance(self) -> float:
        """Variance term that the design is meant to have, for a policy that is always rewarded."""

    @property
    def _draws_per_round(self) -> int:
        return self.problem.slate_size + 2

    @property
    def _uniform_share(self) -> float:
        """Propensity m/K of every item in a uniform slate; K/m is its variance term."""
        return self.problem.slate_size / self.problem.n_actions

    @property
    def _designed_floor(self) -> float:
        return self.mixing * self._uniform_share

    @property
    def _uniform_floor(self) -> float:
        """Lower than it need be, because intervals weigh rounds by their floors."""
        return self._designed_floor * min(1.0, self._expected_variance * self._uniform_share)

    def _choose(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        uniforms = self._uniforms(len(contexts))
        if self.design is not None:
            return self.design.choose(contexts, uniforms)
        slates = uniform_slates(uniforms[:, 2:], self.problem.n_actions)
        return slates, np.full(slates.shape, self._uniform_share)

    def _learn(self, rounds: Log, origin: Origin) -> None:
        first = self._first_designed_batch
        cut = len(rounds) if first is None else int(np.searchsorted(origin.batches, first))
        uniform = rounds[:cut]
        designed = rounds[cut : cut + self.estimate_rounds - self._estimated]
        design = self.design
        if design is None and self._record.rounds + len(uniform) >= self.explore_rounds:
            design = self._find_design(self._phase_one(uniform))
        if len(uniform) and len(designed):
            rewarded_events(designed, self.policies)  # who fails must do so before any part
        if len(uniform):
            self._record.add(uniform, floor=self._uniform_floor)
        if len(designed):
            self._record.add(designed, floor=self._designed_floor)
        self._estimated += len(designed)
        if design is not self.design:
            self.design = design
            self._first_designed_batch = self._ledger.batches_issued

    def _phase_one(self, last: Log) -> Events:
        """Events of the rounds of phase 1, the last of which are new."""
        missing = self.explore_rounds - self._record.rounds
        events = rewarded_events(last[:missing], self.policies)
        largest = self.problem.reward_cap / self._uniform_floor
        (block,) = merge_blocks([*self._record.blocks, Block(events, largest)])
        return block.events
