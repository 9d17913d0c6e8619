"""Learners that keep exponential weights over the class and play a function of their marginal."""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ImplicitEvidence, ValueIntervals
from policysieve.evidence.classical import value_intervals
from policysieve.evidence.record import Record
from policysieve.exploration.base import Explorer
from policysieve.exploration.exponential import ImplicitWeights, start_exponential
from policysieve.exploration.ledger import Origin
from policysieve.kernels.subsets import look_up
from policysieve.kernels.weights import draw_actions
from policysieve.log import Log
from policysieve.policies import AnyPolicies, Policies
from policysieve.problem import Problem

__all__ = ["Array", "WeightedExplorer"]

Array = npt.NDArray[np.float64]

_BLOCK = 1 << 22  # probabilities held at once when contexts are not remembered


class WeightedExplorer(Explorer):
    """Weights W over the class; at context x play a distribution made from their marginal there.

    A round without reward moves no weight, so only rewarded rounds touch the class, and what was
    computed for a context is kept until one comes. Within a batch the weights stand still.

    A subclass implements `_solve`, `_steps` and `_largest_gain`, and recommends.
    """

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rounds: int, rng: Any) -> None:
        super().__init__(policies, problem, rng=rng)
        if problem.slate_size != 1:
            raise InvalidArgumentError(
                f"{type(self).__name__} shows one action at a time, got slate_size="
                f"{problem.slate_size}; LowVarianceExploration shows slates"
            )
        self.planned_rounds = integer("rounds", rounds, low=1)
        self._weights = start_exponential(policies)
        self._record: Record | ImplicitEvidence = (
            Record(policies, problem)
            if isinstance(policies, Policies)
            else ImplicitEvidence(policies, problem)
        )
        self._q = np.empty((0, problem.n_actions))
        self._aside = np.empty(0)
        # Of each batch: w_a, what was set aside, and the weights it was asked with.
        self._played: dict[int, tuple[Array, Array, Array | None]] = {}

    @property
    def weights(self) -> Array:
        """Weights of the policies, shape (n_policies,); they sum to one."""
        if isinstance(self._weights, ImplicitWeights):
            raise InvalidArgumentError(
                f"the weights of {type(self.policies).__name__} cannot be listed"
            )
        return self._weights.shares

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done."""
        return self._record.rounds == self.planned_rounds

    @property
    def ask_limit(self) -> int:
        """Planned rounds that are neither done nor under way."""
        return max(0, self.planned_rounds - self._record.rounds - self._ledger.unlearnt)

    def intervals(self) -> ValueIntervals:
        """Importance-weighted estimates with limits that hold at any time.

        These learners adapt their propensities to rewards, so bounds for independent rounds would
        not do (docs/maths.md, "Intervals at any time").
        """
        if isinstance(self._record, ImplicitEvidence):
            return self._record.intervals()
        return value_intervals(self._record, self.problem.delta)

    @abstractmethod
    def _solve(self, w: Array, rows: npt.NDArray[np.intp], q: Array, aside: Array) -> None:
        """Fill q (., K) with what to play at the marginals w (., K), for the given rows.

        One number per row may be set aside, for `_steps`.
        """

    @abstractmethod
    def _steps(self, events: Any, w_a: Array, aside: Array) -> Array:
        """By how much each event adds to the log-weights of the policies that show its action."""

    @property
    @abstractmethod
    def _largest_weight(self) -> float:
        """The largest importance weight 1/q that can occur."""

    def _count(self, aside: Array, shares: Array | None) -> None:
        """Hear of newly counted rounds: what was set aside, the weights they were asked with.

        Weights that cannot be listed are None: those of a class without end, as they stand now.
        """

    @property
    def _draws_per_round(self) -> int:
        return 1

    def _choose(self, contexts: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], Array]:
        n = len(contexts)
        uniforms = self._uniforms(n)[:, 0]
        actions = np.empty((n, 1), dtype=np.int32)
        q_a, w_a, aside = np.empty((n, 1)), np.empty((n, 1)), np.empty(n)
        block = n if self._weights.remembered else max(1, _BLOCK // self.problem.n_actions)
        for start in range(0, n, max(1, block)):
            part = slice(start, start + block)
            w, q, kept, slots = self._distributions(contexts[part])
            draw_actions(q, slots, uniforms[part], actions[part])
            look_up(q, slots, actions[part], q_a[part])
            look_up(w, slots, actions[part], w_a[part])
            aside[part] = kept[slots]
        shares = getattr(self._weights, "shares", None)
        self._played[self._ledger.batches_issued] = (w_a[:, 0], aside, shares)
        return actions, np.minimum(q_a, 1.0)

    def _distributions(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[Array, Array, Array, npt.NDArray[np.intp]]:
        """Marginals, distributions and asides, and the row of each context in them."""
        w, slots, fresh = self._weights.at(contexts)
        if len(self._q) != len(w) or not self._weights.remembered:
            self._q, self._aside = np.empty_like(w), np.empty(len(w))
        self._solve(w, fresh, self._q, self._aside)
        return w, self._q, self._aside, slots

    def _learn(self, rounds: Log, origin: Origin) -> None:
        counted = rounds[: self.planned_rounds - self._record.rounds]
        events: Any = self._record.add(counted, floor=1 / self._largest_weight).events
        w_a, aside = self._recall(origin, events.n_rounds)
        if len(events.rounds):
            steps = self._steps(events, w_a[events.rounds], aside[events.rounds])
            self._weights.add(events, steps)

    def _recall(self, origin: Origin, n: int) -> tuple[Array, Array]:
        """What was kept for the first n of these rounds when they were played."""
        w_a, aside = np.empty(n), np.empty(n)
        for batch in np.unique(origin.batches[:n]).tolist():
            here = np.flatnonzero(origin.batches[:n] == batch)
            rows = origin.rows[here]
            all_w_a, all_aside, shares = self._played[batch]
            w_a[here], aside[here] = all_w_a[rows], all_aside[rows]
            self._count(aside[here], shares)
        for batch in [batch for batch in self._played if batch < self._ledger.oldest_batch]:
            del self._played[batch]
        return w_a, aside
